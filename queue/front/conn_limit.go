package front

import (
	"net"
	"sync"
)

// connLimit limits the number of connections. If the limit is reached, the connection that has been idle for
// longest is closed to make room for a new one. A connection is idle if its client has sent nothing yet; an
// HTTP connection also if it has no active request; an AMQP connection also if its client is not authorized
// or has no link. If none is idle, new connections wait.
type connLimit struct {
	most int // 0: no limit

	mu     sync.Mutex
	freed  *sync.Cond // signals that a connection has ended or become idle
	open   map[*connPermit]struct{}
	turn   int64 // the order of idle connections: raised when one becomes idle
	closed bool
}

func newConnLimit(most int) *connLimit {
	p := &connLimit{most: most, open: make(map[*connPermit]struct{})}
	p.freed = sync.NewCond(&p.mu)
	return p
}

// connPermit is the permit of one connection to be open.
type connPermit struct {
	all  *connLimit
	conn net.Conn

	idle  bool // guarded by the mutex of the connLimit
	since int64
}

// take returns a permit for a connection. If the limit is reached, it closes an idle connection, or waits.
// It returns nil if the server ends first.
func (p *connLimit) take(c net.Conn) *connPermit {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.most > 0 && len(p.open) >= p.most && !p.closed {
		if !p.dropIdle() {
			p.freed.Wait()
		}
	}
	if p.closed {
		return nil
	}
	p.turn++
	o := &connPermit{all: p, conn: c, idle: true, since: p.turn}
	p.open[o] = struct{}{}
	return o
}

// dropIdle closes the connection that has been idle for longest. It returns false if none is idle.
func (p *connLimit) dropIdle() bool {
	var oldest *connPermit
	for o := range p.open {
		if o.idle && (oldest == nil || o.since < oldest.since) {
			oldest = o
		}
	}
	if oldest == nil {
		return false
	}
	delete(p.open, oldest)
	_ = oldest.conn.Close() // without the close notification of TLS, which could block
	return true
}

// makeRoom closes an idle connection, after Accept has failed because there are no free file descriptors.
func (p *connLimit) makeRoom() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropIdle()
}

// setIdle records whether the connection may be closed for another one.
func (o *connPermit) setIdle(idle bool) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if idle && !o.idle {
		o.all.turn++
		o.since = o.all.turn
		o.all.freed.Signal()
	}
	o.idle = idle
}

// leave gives the permit back after the connection has ended.
func (o *connPermit) leave() {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	delete(o.all.open, o)
	o.all.freed.Signal()
}

// close ends all waits for a permit: take returns nil from now on.
func (p *connLimit) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.freed.Broadcast()
}
