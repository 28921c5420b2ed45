package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/internal/requestlog"
)

// activeRequest is one request in progress: the HTTP request, the operation that it requests, and the
// response.
type activeRequest struct {
	srv *Server
	incomingRequest
	r      *http.Request  // nil for a request that net/http has not read
	w      *echo.Response // nil in direct mode
	reply  directModeReply
	target targetResource
	in     reqHeaders
	*operationExchange

	began time.Time     // by the wall clock
	took  time.Duration // time until the head of the response; 0 until it is known
	fault string        // id of the fault rule that the request matched
	// headerErr is the first error in the request headers. It is returned only after the request has been
	// authorized.
	headerErr error
	reading   bool   // the server has started to read the body
	bodyHeld  int64  // bytes of memory reserved for the body
	body      []byte // the body or its beginning, for the request log

	conn   *sniffConn // nil: none, as in tests
	mapped bool       // the response headers are in w.Header(), not in exchange.head and exchange.known
}

// ctx returns the context of the request. It ends when the client disconnects, or when Shutdown cancels the
// request.
func (c *activeRequest) ctx() context.Context { return c.context }

// isFrame reports whether the request has come in direct mode.
func (c *activeRequest) isFrame() bool { return c.reply.w != nil }

// committed reports whether the head of the response has been sent.
func (c *activeRequest) committed() bool {
	if c.isFrame() {
		return c.reply.status != 0
	}
	return c.w.Committed
}

// outcome returns the status and the size in bytes of the body of the response that has been sent. The
// status is 0 if none has been sent.
func (c *activeRequest) outcome() (status int, size int64) {
	switch {
	case !c.committed():
		return 0, 0
	case c.isFrame():
		return c.reply.status, c.reply.size
	}
	return c.w.Status, c.w.Size
}

// set sets a response header. name is sent as given. It must be in lower case, as in Cosmos DB, because
// clients compare header names bytewise. Only Content-Length, Content-Type and Connection are in Go's
// canonical form, which net/http requires.
func (c *activeRequest) set(name, value string) {
	switch {
	case c.mapped:
		c.w.Header()[name] = []string{value}
	case name[0] < 'a' && c.r != nil:
		c.known = append(c.known, requestlog.HeaderField{Name: name, Value: value})
	default:
		c.head = appendHeader(c.head, name, value)
	}
}

// setBytes sets a response header to a copy of value. name must be in lower case, except for Content-Length,
// Content-Type and Connection, which net/http requires in its canonical form.
func (c *activeRequest) setBytes(name string, value []byte) {
	if c.mapped || name[0] < 'a' && c.r != nil {
		c.set(name, string(value))
		return
	}
	c.head = appendHeader(c.head, name, value)
}

// operationExchange is an operation and its response. Exchanges are pooled, because they have many fields, of
// which few are set.
type operationExchange struct {
	req  cosmos.Request
	ans  cosmos.Response
	sent []requestlog.HeaderField // request headers; equal names follow each other
	head []byte                   // response headers as lines, unless call.mapped is set
	// known are the response headers that net/http itself must see, such as Content-Length; the others are
	// in head. It is empty if all headers are in net/http's own map, or if net/http does not send the
	// response.
	known []requestlog.HeaderField
}

// maxKeptHead is the largest header buffer, in bytes, with which an operationExchange is returned to the
// pool.
const maxKeptHead = 16 << 10

// exchanges is a pool of operationExchange values, all of them empty.
var exchanges = sync.Pool{New: func() any { return new(operationExchange) }}

// release frees the memory of the request and its response, and returns its operationExchange to the pool.
func (c *activeRequest) release() {
	c.ans.Release()
	c.srv.ops.ReleaseBody(c.bodyHeld)
	clear(c.sent) // drop the references to header values
	clear(c.known)
	*c.operationExchange = operationExchange{sent: c.sent[:0], head: c.head[:0], known: c.known[:0]}
	if cap(c.head) <= maxKeptHead {
		exchanges.Put(c.operationExchange)
	}
}

// setTarget sets the resource that the request addresses, and the operation that it requests on it.
func (c *activeRequest) setTarget(t targetResource) {
	c.target = t
	c.req.Kind, c.req.Feed, c.req.Address = t.kind, t.feed, t.ResourceAddress
	c.req.Operation = c.operation()
}

// The maximum number of bytes that are read from the body of a refused request.
const (
	maxDrain  = 16 << 20  // before the answer
	maxLinger = 256 << 20 // after the answer
)

// readBody reads the body of a request that may have one. A DELETE may have a body only under Mayfly's own
// paths.
func (c *activeRequest) readBody() error {
	if c.payload == nil && c.source == nil || c.length == 0 || c.method == http.MethodGet ||
		c.method == http.MethodHead || c.target.kind != cosmos.KindNone && !c.req.Operation.HasBody() {
		return nil
	}
	limit := int64(c.target.kind.MaxBody())
	if c.target.labRoute == "_mayfly/seed" {
		limit = route.LargeBody
	}
	if c.length > limit {
		return cosmos.TooLarge()
	}
	most := c.length
	if most < 0 {
		most = limit
	}
	var err error
	if c.bodyHeld, err = c.srv.ops.HoldBody(c.ctx(), most); err != nil {
		c.ans.RetryAfter = cosmos.MemoryRetry
		return err
	}
	c.reading = true
	if c.payload != nil {
		c.req.Body = c.payload
		c.recordBody()
		return nil
	}
	if c.length > 0 {
		c.req.Body = make([]byte, c.length)
		if _, err := io.ReadFull(c.source, c.req.Body); err != nil {
			return cosmos.BadRequest("The request's body ended early.")
		}
		c.recordBody()
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(c.source, limit+1))
	if err != nil {
		return cosmos.BadRequest("The request's body ended early.")
	}
	if int64(len(body)) > limit {
		return cosmos.TooLarge()
	}
	if rest := c.bodyHeld - int64(cap(body)); rest > 0 {
		c.srv.ops.ReleaseBody(rest)
		c.bodyHeld -= rest
	}
	if len(body) > 0 {
		c.req.Body = body
	}
	c.recordBody()
	return nil
}

// recordBody copies the body for the log of requests, because the operation does not keep it. It copies
// only the beginning of a large body, so that the rest can be freed.
func (c *activeRequest) recordBody() {
	if c.srv.opt.Requests == nil {
		return
	}
	c.body = c.req.Body
	if len(c.body) > requestlog.MaxBody && c.target.kind != cosmos.KindNone {
		c.body = bytes.Clone(c.body[:requestlog.MaxBody+1])
	}
}

// takeBody reads the rest of the body of a refused request. Most clients read the response only after they
// have sent the whole request, and treat a connection that is closed earlier as a transient fault. If more
// than maxDrain bytes remain, takeBody returns true: the caller must then send the response and call linger,
// which reads the rest. The usual time limits of bodies apply. If the client waits for permission to send
// (Expect: 100-continue), takeBody reads nothing.
func (c *activeRequest) takeBody() (more bool) {
	if c.source == nil || c.length == 0 || !c.reading && c.header("Expect") != "" {
		return false
	}
	if c.length <= maxDrain {
		if _, err := io.CopyN(io.Discard, c.source, maxDrain); err != nil {
			return false // the body has ended, or the client has disconnected
		}
	}
	if !c.http1 { // others can end the body of a request and keep the connection
		return false
	}
	if err := http.NewResponseController(c.w.Writer).EnableFullDuplex(); err != nil {
		return false // there is no connection, as in a test
	}
	c.set("Connection", "close") // in the canonical form that net/http requires
	return true
}

// linger sends the response and continues to read the body, so that a client that is still sending receives
// the response.
func (c *activeRequest) linger() {
	if err := http.NewResponseController(c.w.Writer).Flush(); err == nil {
		// Errors and the number of bytes are not relevant here.
		_, _ = io.CopyN(io.Discard, c.source, maxLinger)
	}
}
