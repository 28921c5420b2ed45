package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/ttl"
)

// For each request, net/http does more work than the read of an item takes: it starts a goroutine that
// watches the connection, sets six deadlines and makes two maps. Therefore a connection serves queries and
// requests for single items itself, when net/http calls sniffConn.Read for the first bytes of the next
// request. It serves a query, read, create, upsert, replace, patch or delete only if the request has arrived
// completely, nothing follows it, and it has a strict form (shortcut_parse.go). All other bytes are passed to
// net/http. For net/http the connection is idle during a request that the connection serves itself.
//
// Such a request passes the same chain as any other. A query is canceled when its client disconnects
// (disconnect_watch.go). A request for a single item is not, since it never waits for long; therefore writes
// with triggers are not among them.

// States of a connection between two requests of net/http (sniffConn.between). Between two requests,
// net/http reports that the connection is idle, sets the deadline for the next request, and reads the first
// bytes of that request.
const (
	notBetween  = iota
	deadlineSet // net/http has set the deadline
	becameIdle
)

// States of a connection that serves a request itself, without net/http (sniffConn.serving).
const (
	notServing = iota
	servingNow
	servingLast // the connection is closed after the response
)

// fastPathConfig holds what the connections of a server need to serve requests without net/http.
type fastPathConfig struct {
	serve   func(*fastPathConn)
	base    context.Context
	log     *slog.Logger
	running *shutdownWaitGroup
	date    atomic.Pointer[dateHeader]
}

// dateHeader is the value of the header Date for one second.
type dateHeader struct {
	second int64
	text   string
}

// dateAt returns the value of the header Date.
func (s *fastPathConfig) dateAt(now time.Time) string {
	if d := s.date.Load(); d != nil && d.second == now.Unix() {
		return d.text
	}
	d := &dateHeader{now.Unix(), now.UTC().Format(http.TimeFormat)}
	s.date.Store(d)
	return d.text
}

// fastPathConn serves queries and requests for single items on one connection, one at a time, without
// net/http. Its memory is reused for each of them.
type fastPathConn struct {
	c       *sniffConn
	base    context.Context // parent of the contexts of the requests
	context context.Context // of the request
	remote  string          // address of the client

	method, path, host string
	fields             []requestlog.HeaderField // headers except Host, in Go's canonical form
	length             int                      // of the body in bytes; -1: no header contains it
	body               []byte                   // nil: none
	query              bool                     // the request may be a query
	watch              disconnectWatch

	// answer holds the part of the response that has not been sent yet: status line, headers and body. It is
	// nil until there is a status line.
	answer     *headerBuffer
	w          *echo.Response
	from       int // start of the status line in answer
	status     int
	mapped     http.Header // for headers that the handler sets one by one
	err        error       // of the connection
	now        time.Time   // when the request arrived
	readUntil  time.Time   // deadline of reads
	writeUntil time.Time   // deadline of writes
}

func newShortcut(c *sniffConn) *fastPathConn {
	ctx := context.WithValue(context.WithValue(c.shortcuts.base, connContextKey{}, c),
		http.LocalAddrContextKey,
		c.LocalAddr())
	return &fastPathConn{c: c, base: ctx, remote: c.RemoteAddr().String(), mapped: http.Header{},
		watch: disconnectWatch{conn: c}}
}

// take answers the request in p without net/http if it is a complete request for a single item, or a query,
// in the strict form of shortcut_parse.go. It reports whether it did; if not, net/http reads the bytes.
func (c *sniffConn) take(p []byte) bool {
	if c.between.Load() != deadlineSet || c.shortcuts == nil || !c.http1.Load() || !maybeShortcut(p) {
		return false
	}
	if c.short == nil {
		c.short = newShortcut(c)
	}
	s := c.short
	if !s.parse(p) || !c.shortcuts.running.begin() {
		return false
	}
	defer c.shortcuts.running.work.Done()
	c.serving.Store(servingNow)
	whole := s.serve()
	c.conns.becameIdle(c)
	if !c.serving.CompareAndSwap(servingNow, notServing) || !whole {
		_ = c.end()
		return true
	}
	s.limitRead()
	return true
}

// serve runs the request and sends the response. It returns false if the response is missing or incomplete.
func (s *fastPathConn) serve() (whole bool) {
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler {
				s.c.shortcuts.log.Error("panic", "panic", p, "stack", string(debug.Stack()))
			}
			whole = false
		}
		s.drop()
	}()
	s.now = ttl.SystemClock{}.Now()
	clear(s.mapped)
	s.err, s.status = nil, 0
	if s.context = s.base; s.query {
		s.context = s.watch.begin(s.base)
		defer func() {
			if s.watch.end() {
				s.readUntil = time.Time{} // so that limitRead sets it
			}
		}()
	}
	s.c.shortcuts.serve(s)
	s.flush()
	return s.status != 0 && s.err == nil
}

// limitRead sets the deadline for the next request. It does so only if the deadline would move by some
// seconds, because setting it is expensive.
func (s *fastPathConn) limitRead() {
	if want := s.now.Add(idleTimeout); want.Sub(s.readUntil) > 5*time.Second {
		if s.c.Conn.SetReadDeadline(want) == nil { // otherwise the next read fails
			s.readUntil = want
		}
	}
}

// limitWrite sets the deadline for sending the response, unless the present one is at most some seconds
// earlier, because setting it is expensive.
func (s *fastPathConn) limitWrite() {
	if want := s.now.Add(writeTimeout); want.Sub(s.writeUntil) > 5*time.Second {
		if s.c.Conn.SetWriteDeadline(want) == nil {
			s.writeUntil = want
		}
	}
}
