package httpapi

import (
	"context"
	"io"
	"net/http"
	"slices"

	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/internal/rntbd"
)

// incomingRequest is a request in the form that is common to all protocols. Its headers are in
// operationExchange.sent.
type incomingRequest struct {
	context     context.Context // ends when the client disconnects, or when Shutdown cancels the request
	method      string
	uri         string // as received
	path, query string // as received, still escaped
	host        string // empty in direct mode
	http1       bool   // the protocol is HTTP/1.1
	remote      string // address of the client
	local       string // address of the server; empty: it is in the context

	// payload is the body, if it arrived with the request. Other bodies are in source.
	payload []byte
	source  io.Reader // nil: the request has no body, or it is in payload
	length  int64     // of the body in bytes; -1: unknown
}

// fromHTTP fills in the request from net/http's request.
func (c *activeRequest) fromHTTP(r *http.Request) {
	c.incomingRequest = incomingRequest{context: r.Context(), method: r.Method, uri: r.RequestURI,
		host:   r.Host,
		remote: r.RemoteAddr, length: r.ContentLength, http1: r.ProtoMajor == 1}
	c.path, c.query = requestPath(r)
	if r.Body != nil && r.Body != http.NoBody {
		c.source = r.Body
	}
	for name, values := range r.Header {
		for _, value := range values {
			c.sent = append(c.sent, requestlog.HeaderField{Name: name, Value: value})
		}
	}
}

// fromShortcut fills in the request from s, a connection that has parsed the HTTP/1.1 request itself instead
// of by net/http.
func (c *activeRequest) fromShortcut(s *fastPathConn) {
	c.incomingRequest = incomingRequest{context: s.context, method: s.method, uri: s.path, path: s.path,
		host:   s.host,
		remote: s.remote, payload: s.body, length: int64(len(s.body)), http1: true}
	c.sent = append(c.sent, s.fields...)
}

// fromFrame fills in the request from a frame of direct mode. local is the server's address.
func (c *activeRequest) fromFrame(ctx context.Context, r *rntbd.Request, local string) {
	c.req.Replica, c.req.Headers.CachedRID, c.req.Headers.Within = true, r.CachedContainer, directPage
	c.incomingRequest = incomingRequest{context: ctx, method: r.Method, uri: r.Path, path: r.Path,
		local:   local,
		remote:  r.Remote,
		payload: r.Payload, source: r.Body, length: r.Length}
	for _, f := range r.Fields {
		c.sent = append(c.sent, requestlog.HeaderField(f))
	}
}

// header returns the first value of a request header, or "" if there is none. name must be in Go's canonical
// form.
func (c *activeRequest) header(name string) string {
	for i := range c.sent {
		if c.sent[i].Name == name {
			return c.sent[i].Value
		}
	}
	return ""
}

// has reports whether a request header is set.
func (c *activeRequest) has(name string) bool {
	return slices.ContainsFunc(c.sent, func(f requestlog.HeaderField) bool { return f.Name == name })
}

// headerMap returns the request headers as a map.
func (c *activeRequest) headerMap() http.Header {
	h := make(http.Header, len(c.sent))
	for _, f := range c.sent {
		h[f.Name] = append(h[f.Name], f.Value)
	}
	return h
}
