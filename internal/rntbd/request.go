package rntbd

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Errors of frames that cannot be translated.
var (
	errNoSuchOperation = errors.New("there is no such operation on this kind of resource in direct mode")
	errNoAddress       = errors.New("the frame does not say which resource it is about")
)

// lengths holds the lengths, in bytes, of the rids at the first four levels of a path: for example database,
// container, document and attachment. Other resources in a database, such as users, have rids of 8 bytes as
// well.
var lengths = [...]int{4, 8, 16, 20}

// Request is the request in a frame, in the terms of HTTP. A handler must not keep it or Fields after it has
// returned, but may keep their strings.
type Request struct {
	Method string
	Path   string            // escaped
	Fields []HTTPHeaderField // headers, each once
	Remote string            // address of the client

	// Payload is the body, if it arrived with the frame. It belongs to the handler. Other bodies are in Body.
	Payload []byte
	Body    io.Reader // nil: the request has no body, or it is in Payload
	Length  int64     // of the body in bytes

	// CachedContainer is the rid that the client has cached for the name of the container. If another
	// container now has that name, the response must make the client refresh its cache. It is empty if the
	// frame contains no such rid.
	CachedContainer string
}

// HTTPHeaderField is a header of a request in its HTTP form. The name has Go's canonical form.
type HTTPHeaderField struct{ Name, Value string }

// translate fills in the Request of a frame. version is the x-ms-version if the frame has no token for it.
func (f *frame) translate(version string) error {
	op, places := f.operationForm(), []resourcePathLevel(nil)
	if int(f.resource) < len(resources) {
		places = resources[f.resource]
	}
	if op.method == "" || places == nil {
		return errNoSuchOperation
	}
	// The path and the activity id are the only texts that every request needs and no token contains.
	room := [256]byte{}
	b, err := f.appendPath(room[:0], places, op.feed)
	if err != nil {
		return err
	}
	end := len(b)
	both := string(appendGUID(b, f.activity[:]))
	r := &f.request
	r.Method, r.Path = op.method, both[:end]
	r.CachedContainer = f.cachedContainer()
	f.addFields(&op, both[end:], version)
	switch {
	case f.payload == nil:
	case f.payload.taken != nil:
		r.Payload, r.Length = f.payload.taken, int64(len(f.payload.taken))
	default:
		r.Body, r.Length = f.payload, f.payload.left
	}
	return nil
}

// operationForm returns the HTTP method and headers that correspond to the frame's operation.
func (f *frame) operationForm() operationMapping {
	n := int(f.operation)
	if n == opReadFeed && f.payload != nil { // a change feed with a query is signed like a query
		n = opQuery
	}
	if n >= len(operations) {
		return operationMapping{}
	}
	return operations[n]
}

// addFields translates the tokens of a frame to the headers of its Request. activity is the activity id,
// which no token contains; version is the x-ms-version if no token contains one.
func (f *frame) addFields(op *operationMapping, activity, version string) {
	f.addField("X-Ms-Activity-Id", activity)
	if op.header != "" {
		f.addField(op.header, "True")
	}
	if op.media != "" {
		f.addField("Content-Type", op.media)
	}
	versioned, seen := false, tokenIDSet{}
	for i := range f.tokens {
		t := &f.tokens[i]
		name, value := f.field(op, t)
		switch {
		case value == "":
			continue
		case seen.add(t.id):
			f.addField(name, value)
		default:
			f.replaceField(name, value)
		}
		versioned = versioned || t.id == tokenVersion
	}
	if !versioned {
		f.addField("X-Ms-Version", version)
	}
}

// field translates a token to an HTTP header. If the value is empty, there is no such header.
func (f *frame) field(op *operationMapping, t *token) (name, value string) {
	switch {
	case t.id == tokenMatch && (op.method == http.MethodGet || f.operation == opReadFeed):
		return "If-None-Match", t.value
	case t.id == tokenMatch:
		return "If-Match", t.value
	case t.id == tokenVersion:
		return "X-Ms-Version", t.value
	case t.id == tokenStartEPK:
		return "X-Ms-Start-Epk", epk(t.value, f.tokens.number(tokenReadFeedKey))
	case t.id == tokenEndEPK:
		return "X-Ms-End-Epk", epk(t.value, f.tokens.number(tokenReadFeedKey))
	case int(t.id) < len(headers) && headers[t.id].name != "":
		return headers[t.id].name, headers[t.id].spell(t.value)
	}
	return "", ""
}

func (f *frame) addField(name, value string) {
	f.request.Fields = append(f.request.Fields, HTTPHeaderField{name, value})
}

// replaceField overwrites the value of a header that is already in the request. It is called if two tokens of
// a frame have the same id: the later one counts.
func (f *frame) replaceField(name, value string) {
	for i := range f.request.Fields {
		if f.request.Fields[i].Name == name {
			f.request.Fields[i].Value = value
		}
	}
}

// tokenIDSet is the set of the ids of those tokens that have already been translated to headers.
type tokenIDSet [4]uint64

// add adds the id of a token to the set. It reports whether the id was not in the set before.
func (s *tokenIDSet) add(id uint16) bool {
	word, bit := &s[id>>6%uint16(len(s))], uint64(1)<<(id&63)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// appendPath appends the path of the addressed resource, such as /dbs/shop/colls/trials. It consists of names
// if the frame has names, otherwise of rids. feed says that the path ends with a keyword such as /docs,
// without an id.
func (f *frame) appendPath(b []byte, places []resourcePathLevel, feed bool) ([]byte, error) {
	_, byName := f.tokens.find(tokenDatabase)
	rid := f.tokens.text(tokenResourceID)
	for i, p := range places {
		b = append(append(b, '/'), p.keyword...)
		if feed && i == len(places)-1 {
			break
		}
		id := ""
		if byName {
			id = f.tokens.text(p.id)
		} else {
			id = ridOf(rid, i, len(places))
		}
		if id == "" {
			return nil, errNoAddress
		}
		b = append(append(b, '/'), url.PathEscape(id)...)
	}
	return b, nil
}

// ridOf returns the rid of the ancestor at a level of a path (0: the database) from the rid of a nested
// resource, which begins with it. It returns "" if rid is too short. If the path has one level only, as for
// an offer, it may return a rid that is shorter than that of a database.
func ridOf(rid string, level, depth int) string {
	if depth == 1 && len(rid) > 0 && len(rid) < lengths[0] {
		return ridText(rid) // the rid of an offer has 3 bytes
	}
	if len(rid) < lengths[level] {
		return ""
	}
	return ridText(rid[:lengths[level]])
}

func ridText(rid string) string {
	return strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(rid)), "/", "-")
}

// cachedContainer returns the rid that the client has cached for the container's name, or "" if the frame
// contains none.
func (f *frame) cachedContainer() string {
	if rid := f.tokens.text(tokenCachedContainer); rid != "" {
		return rid
	}
	if rid := f.tokens.text(tokenResourceID); len(rid) == 8 {
		if _, named := f.tokens.find(tokenContainer); named {
			return ridText(rid)
		}
	}
	return ""
}
