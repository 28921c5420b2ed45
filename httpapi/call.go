package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/internal/requests"
)

// call is one request in progress: the HTTP request, the operation that it requests, and the response.
type call struct {
	srv    *Server
	r      *http.Request
	w      *echo.Response
	target target
	in     reqHeaders
	*exchange

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
	mapped bool       // the response headers are in w.Header(), not in exchange.head
	texts  texts
}

// texts holds the header values that are built for a response, all in one allocation.
type texts struct{ b strings.Builder }

// textRoom is a size in bytes that suffices for the header values of most responses.
const textRoom = 256

// keep returns value as a string whose memory belongs to t.
func (t *texts) keep(value []byte) string {
	if t.b.Cap()-t.b.Len() < len(value) { // strings that were made before keep using the old buffer
		t.b = strings.Builder{}
		t.b.Grow(max(textRoom, len(value)))
	}
	at := t.b.Len()
	t.b.Write(value)
	return t.b.String()[at:]
}

// ctx returns the context of the request. It ends when the client disconnects, or when Shutdown cancels the
// request.
func (c *call) ctx() context.Context { return c.r.Context() }

// set sets a response header. name is sent as given. It must be in lower case, as in Cosmos DB, because
// clients compare header names bytewise. Only Content-Length, Content-Type and Connection are in Go's
// canonical form, which net/http requires.
func (c *call) set(name, value string) {
	if c.mapped {
		c.w.Header()[name] = []string{value}
		return
	}
	c.head = append(c.head, requests.Field{Name: name, Value: value})
}

// exchange is an operation and its response. Exchanges are pooled, because they have many fields, of which
// few are set.
type exchange struct {
	req  cosmos.Request
	ans  cosmos.Answer
	sent []requests.Field // request headers for the log of requests; empty if there is no log
	head []requests.Field // response headers, unless call.mapped is set
}

// exchanges is the pool of exchanges. All exchanges in it are empty.
var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// release frees the memory of the request and its response.
func (c *call) release() {
	c.ans.Release()
	c.srv.ops.ReleaseBody(c.bodyHeld)
	clear(c.sent) // drop the references to header values
	clear(c.head)
	*c.exchange = exchange{sent: c.sent[:0], head: c.head[:0]}
	exchanges.Put(c.exchange)
}

// setTarget sets the target, the address and the operation of the request.
func (c *call) setTarget(t target) {
	c.target = t
	c.req.Kind, c.req.Feed, c.req.Address = t.kind, t.feed, t.Address
	c.req.Operation = c.operation()
}

// The maximum number of bytes that are read from the body of a refused request.
const (
	maxDrain  = 16 << 20  // before the answer
	maxLinger = 256 << 20 // after the answer
)

// readBody reads the body of a request that may have one. A DELETE may have a body only under Mayfly's own
// paths.
func (c *call) readBody() error {
	r := c.r
	if r.Body == nil || r.ContentLength == 0 || r.Method == http.MethodGet || r.Method == http.MethodHead ||
		c.target.kind != cosmos.KindNone && !c.req.Operation.HasBody() {
		return nil
	}
	limit := int64(c.target.kind.MaxBody())
	if c.target.labRoute == "_mayfly/seed" {
		limit = route.LargeBody
	}
	if r.ContentLength > limit {
		return cosmos.TooLarge()
	}
	most := r.ContentLength
	if most < 0 {
		most = limit
	}
	var err error
	if c.bodyHeld, err = c.srv.ops.HoldBody(c.ctx(), most); err != nil {
		c.ans.RetryAfter = cosmos.MemoryRetry
		return err
	}
	c.reading = true
	if r.ContentLength > 0 {
		c.req.Body = make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, c.req.Body); err != nil {
			return cosmos.BadRequest("The request's body ended early.")
		}
		c.recordBody()
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
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

// recordBody keeps the body for the log of requests, because the operation does not keep it. It keeps only
// the beginning of a large body, so that the rest can be freed.
func (c *call) recordBody() {
	if c.srv.opt.Requests == nil {
		return
	}
	c.body = c.req.Body
	if len(c.body) > requests.MaxBody && c.target.kind != cosmos.KindNone {
		c.body = bytes.Clone(c.body[:requests.MaxBody+1])
	}
}

// takeBody reads the rest of the body of a refused request. Most clients read the response only after they
// have sent the whole request, and treat a connection that is closed earlier as a transient fault. more
// reports whether more than maxDrain bytes remain: the response must then be sent first, and linger reads
// the rest. The usual time limits of bodies apply. If the client waits for permission to send (Expect:
// 100-continue), takeBody reads nothing.
func (c *call) takeBody() (more bool) {
	r := c.r
	if r.Body == nil || r.ContentLength == 0 || !c.reading && r.Header.Get("Expect") != "" {
		return false
	}
	if r.ContentLength <= maxDrain {
		if _, err := io.CopyN(io.Discard, r.Body, maxDrain); err != nil {
			return false // the body has ended, or the client has disconnected
		}
	}
	if r.ProtoMajor != 1 { // HTTP/2 can end the body of a request and keep the connection open
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
func (c *call) linger() {
	if err := http.NewResponseController(c.w.Writer).Flush(); err == nil {
		// Errors and the number of bytes are not relevant here.
		_, _ = io.CopyN(io.Discard, c.r.Body, maxLinger)
	}
}
