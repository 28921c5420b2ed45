package rntbd

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Refusals of a frame that says too little, or too much.
var (
	errNoSuchOperation = errors.New("there is no such operation on this kind of resource in direct mode")
	errNoAddress       = errors.New("the frame does not say which resource it is about")
)

// lengths are how many bytes the rids of the levels of a path have. Below a database and a user there are
// rids of 8 bytes, too.
var lengths = [...]int{4, 8, 16, 20}

// request makes a request of HTTP of a frame: all but the connection that it comes from.
func (f *frame) request(ctx context.Context, version string) (*http.Request, error) {
	op, known := operations[f.operation]
	if f.operation == opReadFeed && f.payload != nil { // a change feed with a query is signed as that
		op = operations[opQuery]
	}
	places := resources[f.resource]
	if !known || places == nil {
		return nil, errNoSuchOperation
	}
	path, err := f.path(places, op.feed)
	if err != nil {
		return nil, err
	}
	h := f.header(op)
	if h["X-Ms-Version"] == nil {
		h["X-Ms-Version"] = []string{version}
	}
	r := &http.Request{Method: op.method, URL: &url.URL{Path: path}, RequestURI: path, Header: h,
		// Requests share a connection, as those of HTTP/2 do: no answer depends on its being read to an end.
		Proto: "HTTP/2.0", ProtoMajor: 2, Body: http.NoBody}
	if f.payload != nil {
		r.Body, r.ContentLength = f.payload, f.payload.left
	}
	return r.WithContext(context.WithValue(ctx, cachedKey{}, f.cachedContainer())), nil
}

// header translates the tokens.
func (f *frame) header(op operation) http.Header {
	h := make(http.Header, len(f.tokens)+4)
	h["X-Ms-Activity-Id"] = []string{guid(f.activity[:])}
	if op.header != "" {
		h[op.header] = []string{"True"}
	}
	if op.media != "" {
		h["Content-Type"] = []string{op.media}
	}
	for i := range f.tokens {
		t := &f.tokens[i]
		name, value := "", ""
		switch {
		case t.id == tokenMatch && (op.method == http.MethodGet || f.operation == opReadFeed):
			name, value = "If-None-Match", string(t.value)
		case t.id == tokenMatch:
			name, value = "If-Match", string(t.value)
		case t.id == tokenVersion:
			name, value = "X-Ms-Version", string(t.value)
		case epks[t.id] != "":
			name, value = epks[t.id], epk(t.value, f.tokens.number(tokenReadFeedKey))
		default:
			if known, ok := headers[t.id]; ok {
				name, value = known.name, known.spell(t.value)
			}
		}
		if value != "" {
			h[name] = []string{value}
		}
	}
	return h
}

// path is the address as HTTP has it: by names where the frame has them, else by rids.
func (f *frame) path(places []place, feed bool) (string, error) {
	var b strings.Builder
	byName := f.tokens.find(tokenDatabase) != nil
	rid := f.tokens.find(tokenResourceID)
	for i, p := range places {
		b.WriteString("/" + p.keyword)
		if feed && i == len(places)-1 {
			return b.String(), nil
		}
		id := f.tokens.text(p.id)
		if !byName {
			id = ridOf(rid, i, len(places))
		}
		if id == "" {
			return "", errNoAddress
		}
		b.WriteString("/" + url.PathEscape(id))
	}
	return b.String(), nil
}

// ridOf is the rid at a level of a path in the rid of what lies deeper; empty where it is too short. A
// resource that lies in nothing has the whole.
func ridOf(rid []byte, level, depth int) string {
	if depth == 1 && len(rid) > 0 && len(rid) < lengths[0] {
		return ridText(rid) // an offer's has 3 bytes
	}
	if len(rid) < lengths[level] {
		return ""
	}
	return ridText(rid[:lengths[level]])
}

func ridText(rid []byte) string {
	return strings.ReplaceAll(base64.StdEncoding.EncodeToString(rid), "/", "-")
}

// cachedKey is where a request's context holds the rid of the container that its client knows.
type cachedKey struct{}

// cachedContainer is the rid of the container that the client took the request's for when it looked its name
// up; empty where it does not say.
func (f *frame) cachedContainer() string {
	if rid := f.tokens.text(tokenCachedContainer); rid != "" {
		return rid
	}
	if rid := f.tokens.find(tokenResourceID); f.tokens.find(tokenContainer) != nil && len(rid) == 8 {
		return ridText(rid)
	}
	return ""
}

// CachedContainer is the rid of the container that the client of a request has in its cache under the name
// that the request has: where that is another one now, it is to be told so. It is empty where the request did
// not come by a frame, or its client does not say.
func CachedContainer(ctx context.Context) string {
	rid, _ := ctx.Value(cachedKey{}).(string)
	return rid
}
