package httpapi

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// conns are the open connections of a server. There are no more than a limit, which lies below the file
// descriptors of the process: idle clients must not take those that the data needs. Where there is no room
// for a new connection, the one that has been idle for longest is closed for it, which costs a client no more
// than to connect again. Where none is idle, new clients wait.
type conns struct {
	mu     sync.Mutex
	room   *sync.Cond // signalled when a connection ends
	open   map[*sniffConn]struct{}
	gone   map[*sniffConn]struct{} // closed, while a request was under way
	most   int                     // 0: any number
	closed bool
	turn   atomic.Int64 // grows with each request that ends
	// waiting is how many new connections wait for room.
	waiting atomic.Int64
}

func newConns(most int) *conns {
	s := &conns{open: map[*sniffConn]struct{}{}, gone: map[*sniffConn]struct{}{}, most: most}
	s.room = sync.NewCond(&s.mu)
	return s
}

// add takes a connection in. Where there are too many it first makes room, or waits for it.
func (s *conns) add(c *sniffConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting.Add(1) // before it is looked for idle ones: who becomes idle meanwhile tells of it
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

func (s *conns) remove(c *sniffConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.closed.Store(true)
	if _, open := s.open[c]; open && c.busy.Load() > 0 {
		s.gone[c] = struct{}{}
	}
	delete(s.open, c)
	s.room.Signal()
}

// crowded makes room after an Accept that has failed because there is no descriptor left. The http.Server
// tries again by itself.
func (s *conns) crowded(err error) {
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropIdle()
}

// dropIdle closes the connection on which nothing has been under way for longest; false where there is none.
func (s *conns) dropIdle() bool {
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
	_ = oldest.Conn.Close() // without TLS's goodbye, which may have to wait for the client
	return true
}

// begin notes that a request is under way on a connection, which it returns; nil: there is none.
func (s *conns) begin(r *http.Request) *sniffConn {
	c, _ := r.Context().Value(connKey{}).(*sniffConn)
	if c != nil {
		c.answering.Store(r.ProtoMajor == 1)
		c.busy.Add(1)
		c.request.Store(r)
	}
	return c
}

// state is told by net/http what becomes of a connection. One of HTTP/1.1 is idle when the last of an answer
// has been sent, which is after its request has ended.
func (s *conns) state(conn net.Conn, now http.ConnState) {
	c, ok := conn.(*sniffConn)
	if !ok || now != http.StateIdle {
		return
	}
	if c.answering.Store(false); s.waiting.Load() > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.room.Signal()
	}
}

// end notes that a request of a connection has ended, and reports who waits for room of one that may be
// closed now.
func (s *conns) end(c *sniffConn) {
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

// underWay names requests that have not ended, one of each connection.
func (s *conns) underWay() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, some := range []map[*sniffConn]struct{}{s.open, s.gone} {
		for c := range some {
			if r := c.request.Load(); r != nil {
				path, _ := requestPath(r)
				list = append(list, r.Method+" "+path)
			}
		}
	}
	slices.Sort(list)
	return list
}

// closeSilent ends the connections that have not said anything yet, and those to come. net/http gives such a
// connection five seconds at shutdown; nothing is lost by closing it at once, and pools of SDKs open many.
func (s *conns) closeSilent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.room.Broadcast()
	for c := range s.open {
		if !c.spoke.Load() {
			_ = c.Conn.Close()
			delete(s.open, c)
		}
	}
}
