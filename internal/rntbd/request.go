package rntbd

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Errors of frames that cannot be translated.
var (
	errNoSuchOperation = errors.New("there is no such operation on this kind of resource in direct mode")
	errNoAddress       = errors.New("the frame does not say which resource it is about")
)

// lengths holds the lengths, in bytes, of the rids at each level of a path. Below a database and a user
// there are rids of 8 bytes as well.
var lengths = [...]int{4, 8, 16, 20}

// request translates a frame to an HTTP request. The caller sets what depends on the connection.
func (f *frame) request(ctx context.Context, version string) (*http.Request, error) {
	op, known := operations[f.operation]
	if f.operation == opReadFeed && f.payload != nil { // a change feed with a query is signed like a query
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
		// Like HTTP/2 requests, these requests share a connection: a response can be sent before the body
		// has been read to its end.
		Proto: "HTTP/2.0", ProtoMajor: 2, Body: http.NoBody}
	if f.payload != nil {
		r.Body, r.ContentLength = f.payload, f.payload.left
	}
	return r.WithContext(context.WithValue(ctx, cachedKey{}, f.cachedContainer())), nil
}

// header translates the tokens to headers.
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

// path returns the address as a path, by names if the frame has them, otherwise by rids. feed says that the
// last place is a feed, which has no id.
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

// ridOf returns the rid at a level of a path. It is a prefix of the rid of a nested resource. ridOf returns
// "" if the rid is too short. For a top-level resource with a shorter rid it returns the whole rid.
func ridOf(rid []byte, level, depth int) string {
	if depth == 1 && len(rid) > 0 && len(rid) < lengths[0] {
		return ridText(rid) // the rid of an offer has 3 bytes
	}
	if len(rid) < lengths[level] {
		return ""
	}
	return ridText(rid[:lengths[level]])
}

func ridText(rid []byte) string {
	return strings.ReplaceAll(base64.StdEncoding.EncodeToString(rid), "/", "-")
}

// cachedKey is the context key of the rid of the client's cached container.
type cachedKey struct{}

// cachedContainer returns the rid that the client has cached for the container's name, or "" if the frame
// contains none.
func (f *frame) cachedContainer() string {
	if rid := f.tokens.text(tokenCachedContainer); rid != "" {
		return rid
	}
	if rid := f.tokens.find(tokenResourceID); f.tokens.find(tokenContainer) != nil && len(rid) == 8 {
		return ridText(rid)
	}
	return ""
}

// CachedContainer returns the rid that the client has cached for the name of the container in its request.
// If another container now has that name, the response must make the client refresh its cache.
// CachedContainer returns "" if the request did not arrive as a frame, or if the frame contains no such rid.
func CachedContainer(ctx context.Context) string {
	rid, _ := ctx.Value(cachedKey{}).(string)
	return rid
}
