package httpapi

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// openConns is the set of a server's open connections. Their number is limited to less than the process's
// file descriptors, so that idle clients cannot use up those that the storage needs. When the limit is
// reached, the connection that has been idle for longest is closed for a new one; the client of the closed
// connection only has to reconnect. If no connection is idle, new connections wait.
type openConns struct {
	mu     sync.Mutex
	room   *sync.Cond // signalled when a connection ends
	open   map[*sniffConn]struct{}
	gone   map[*sniffConn]struct{} // connections that were closed while a request was in progress
	most   int                     // limit; 0: none
	closed bool
	turn   atomic.Int64 // counts ended requests; it orders connections by how long they have been idle
	// waiting is the number of new connections that wait until they may be opened.
	waiting atomic.Int64
}

func newConns(most int) *openConns {
	s := &openConns{open: map[*sniffConn]struct{}{}, gone: map[*sniffConn]struct{}{}, most: most}
	s.room = sync.NewCond(&s.mu)
	return s
}

// add adds a connection. At the limit it first closes an idle connection or waits until one ends.
func (s *openConns) add(c *sniffConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting.Add(1) // set first, so that connections that become idle now signal room
	for s.most > 0 && len(s.open) >= s.most && !s.closed {
		if !s.dropIdle() {
			s.room.Wait()
		}
	}
	s.waiting.Add(-1)
	if s.closed {
		_ = c.Conn.Close()
		return
	}
	c.since.Store(s.turn.Add(1))
	s.open[c] = struct{}{}
}

func (s *openConns) remove(c *sniffConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.closed.Store(true)
	if _, open := s.open[c]; open && c.busy.Load() > 0 {
		s.gone[c] = struct{}{}
	}
	delete(s.open, c)
	s.room.Signal()
}

// crowded closes an idle connection, after Accept has failed because there are no free file descriptors.
// http.Server calls Accept again by itself.
func (s *openConns) crowded(err error) {
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropIdle()
}

// dropIdle closes the connection that has been idle for longest, and reports whether there was one.
func (s *openConns) dropIdle() bool {
	var oldest *sniffConn
	for c := range s.open {
		if c.busy.Load() == 0 && !c.answering.Load() &&
			(oldest == nil || c.since.Load() < oldest.since.Load()) {
			oldest = c
		}
	}
	if oldest == nil {
		return false
	}
	delete(s.open, oldest)
	_ = oldest.Conn.Close() // without a close_notify of TLS, since writing it may block
	return true
}

// begin records the start of a request on a connection.
func (s *openConns) begin(c *sniffConn, r *incomingRequest) {
	if c == nil {
		return
	}
	if r.http1 {
		c.answering.Store(true)
	}
	c.busy.Add(1)
	c.input.Establish()
	c.request.Store(r)
	if c.http1.Load() != r.http1 {
		c.http1.Store(r.http1)
	}
}

// state is the ConnState hook of http.Server. It records that an HTTP/1.1 connection has become idle, so that
// it may be closed for a new one. That is when the last byte of a response has been sent, later than the end
// of the request's handler.
func (s *openConns) state(conn net.Conn, now http.ConnState) {
	c, ok := conn.(*sniffConn)
	if !ok || now != http.StateIdle {
		return
	}
	if c.short != nil { // net/http has set other deadlines
		c.short.readUntil, c.short.writeUntil = time.Time{}, time.Time{}
	}
	c.between.Store(becameIdle)
	s.becameIdle(c)
}

// becameIdle records that a response has been sent. If new connections are waiting, it signals them.
func (s *openConns) becameIdle(c *sniffConn) {
	if c.answering.Store(false); s.waiting.Load() > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.room.Signal()
	}
}

// end records the end of a request on a connection. If new connections are waiting and c is now idle, it
// signals them.
func (s *openConns) end(c *sniffConn) {
	if c == nil {
		return
	}
	c.since.Store(s.turn.Add(1))
	if c.busy.Add(-1) > 0 {
		return
	}
	if c.request.Store(nil); s.waiting.Load() > 0 || c.closed.Load() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.gone, c)
		s.room.Signal()
	}
}

// activeRequests returns the method and path of the requests in progress, sorted: of each connection the
// latest, although a connection over HTTP/2 can have several.
func (s *openConns) activeRequests() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, some := range []map[*sniffConn]struct{}{s.open, s.gone} {
		for c := range some {
			if r := c.request.Load(); r != nil {
				list = append(list, r.method+" "+r.path)
			}
		}
	}
	slices.Sort(list)
	return list
}

// closeSilent closes the connections on which the client has not sent anything yet; connections that are
// accepted later are closed at once. It is called at shutdown, since net/http would wait five seconds for
// each such connection, and the connection pools of SDKs open many. No request is lost by that.
func (s *openConns) closeSilent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.room.Broadcast()
	for c := range s.open {
		if !c.gotByte.Load() {
			_ = c.Conn.Close()
			delete(s.open, c)
		}
	}
}
