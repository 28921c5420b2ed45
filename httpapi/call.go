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

// call is one request on its way through the server: what came by HTTP, the operation that it asks for, and
// what that answers.
type call struct {
	srv    *Server
	r      *http.Request
	w      *echo.Response
	target target
	in     reqHeaders
	*exchange

	began time.Time     // by the wall's clock
	took  time.Duration // until the head of the answer; 0: it is not known yet
	fault string        // the rule of the fault on demand that the request met
	// what was wrong with the headers; it waits until the request is known to be authentic
	headerErr error
	reading   bool   // of the body: the client has leave to send it
	bodyHeld  int64  // bytes of memory that the body has
	body      []byte // for the log of requests

	// One-element slices of values are the header values set below: one allocation for all of them.
	values [20]string
	used   int
	texts  texts
}

// texts keeps the header values that are made for a request: one allocation for all of them, too.
type texts struct{ b strings.Builder }

// textRoom is how many bytes the values of most answers take.
const textRoom = 256

// keep is string(value).
func (t *texts) keep(value []byte) string {
	if t.b.Cap()-t.b.Len() < len(value) { // what was kept so far goes on in the memory that it has
		t.b = strings.Builder{}
		t.b.Grow(max(textRoom, len(value)))
	}
	at := t.b.Len()
	t.b.Write(value)
	return t.b.String()[at:]
}

// ctx is the context of the request: it ends when the client goes away or the server is shut down by force.
func (c *call) ctx() context.Context { return c.r.Context() }

// set sets a response header. name is written as it is: in lower case, as the service does, because clients
// look names up by their bytes. Content-Length and Content-Type alone are in Go's canonical form, by which
// net/http finds them.
func (c *call) set(name, value string) {
	c.setValues(name, c.one(value))
}

// setValues is set with a value as maps of headers hold it.
func (c *call) setValues(name string, value []string) {
	c.w.Header()[name] = value
	if c.srv.opt.Requests != nil {
		c.answered = append(c.answered, requests.Field{Name: name, Value: value[0]})
	}
}

// one is a header's value as maps of headers hold it.
func (c *call) one(value string) []string {
	if c.used == len(c.values) {
		return []string{value}
	}
	c.values[c.used] = value
	c.used++
	return c.values[c.used-1 : c.used : c.used]
}

// exchange is an operation and what it answers. It is borrowed: a request's headers are many, and few are
// set.
type exchange struct {
	req cosmos.Request
	ans cosmos.Answer
	// sent and answered are the headers of the request and of its answer, for the log of requests; empty
	// where there is none.
	sent, answered []requests.Field
}

// exchanges lends them. It holds no state: what comes back is empty.
var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// release lets the answer's memory go.
func (c *call) release() {
	c.ans.Release()
	c.srv.ops.GiveBody(c.bodyHeld)
	clear(c.sent) // what they point to need not live on
	clear(c.answered)
	*c.exchange = exchange{sent: c.sent[:0], answered: c.answered[:0]}
	exchanges.Put(c.exchange)
}

// aim sets what the request is about, from its path and its headers.
func (c *call) aim(t target) {
	c.target = t
	c.req.Kind, c.req.Feed, c.req.Address = t.kind, t.feed, t.Address
	c.req.Operation = c.operation()
}

// Limits of what is read of a body that is refused, in bytes.
const (
	maxDrain  = 16 << 20  // before the answer
	maxLinger = 256 << 20 // after it
)

// readBody reads the body of a request that may have one. Those of Mayfly's own requests are the only ones
// that a DELETE has.
func (c *call) readBody() error {
	r := c.r
	if r.Body == nil || r.ContentLength == 0 || r.Method == http.MethodGet || r.Method == http.MethodHead ||
		c.target.kind != cosmos.KindNone && !c.req.Operation.HasBody() {
		return nil
	}
	limit := int64(c.target.kind.MaxBody())
	if c.target.own == "_mayfly/seed" {
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
		c.noteBody()
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
		c.srv.ops.GiveBody(rest)
		c.bodyHeld -= rest
	}
	if len(body) > 0 {
		c.req.Body = body
	}
	c.noteBody()
	return nil
}

// noteBody keeps the body for the log of requests: an operation drops it as soon as it is read. Of a large
// one its beginning is kept, so that the rest does not live on.
func (c *call) noteBody() {
	if c.srv.opt.Requests == nil {
		return
	}
	c.body = c.req.Body
	if len(c.body) > requests.MaxBody && c.target.kind != cosmos.KindNone {
		c.body = bytes.Clone(c.body[:requests.MaxBody+1])
	}
}

// takeBody reads what the client is still sending of a request that is refused: most clients look for the
// answer when they have sent all, and take a connection that is closed before for a fault that passes. more
// says that there is more than that: then the answer goes out first, and linger reads on. Time limits are
// those of any body. A client that waits for leave to send (Expect: 100-continue) is answered at once.
func (c *call) takeBody() (more bool) {
	r := c.r
	if r.Body == nil || r.ContentLength == 0 || !c.reading && r.Header.Get("Expect") != "" {
		return false
	}
	if r.ContentLength <= maxDrain {
		if _, err := io.CopyN(io.Discard, r.Body, maxDrain); err != nil {
			return false // it is at its end, or the client is gone
		}
	}
	if r.ProtoMajor != 1 { // HTTP/2 can end a request's body without the connection
		return false
	}
	if err := http.NewResponseController(c.w.Writer).EnableFullDuplex(); err != nil {
		return false // there is no connection: a test's
	}
	c.set("Connection", "close") // in the form by which net/http finds it
	return true
}

// linger sends the answer and goes on reading, so that it reaches a client that is still sending.
func (c *call) linger() {
	if err := http.NewResponseController(c.w.Writer).Flush(); err == nil {
		// How much arrives, and whether, changes nothing.
		_, _ = io.CopyN(io.Discard, c.r.Body, maxLinger)
	}
}
