package front

import (
	"net"
	"sync"
)

// connLimit limits the number of connections. If all places are taken, the connection that has been idle for
// longest is closed for a new one. A connection is idle if its client has sent nothing yet, has no active
// HTTP request, or is not authorized or has no link over AMQP. If none is idle, new connections wait.
type connLimit struct {
	most int // 0: no limit

	mu     sync.Mutex
	freed  *sync.Cond // signals a free place or an idle connection
	open   map[*connPermit]struct{}
	turn   int64 // incremented for each connection that becomes idle
	closed bool
}

func newConnLimit(most int) *connLimit {
	p := &connLimit{most: most, open: make(map[*connPermit]struct{})}
	p.freed = sync.NewCond(&p.mu)
	return p
}

// connPermit is the place of one connection.
type connPermit struct {
	all  *connLimit
	conn net.Conn

	idle  bool // guarded by the mutex of places
	since int64
}

// take waits for a place for a connection, and closes an idle connection if necessary. It returns nil if
// the server ends first.
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
	_ = oldest.conn.Close() // without a TLS close notification, which could block
	return true
}

// makeRoom closes an idle connection after Accept has failed for lack of descriptors.
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

// leave frees the place.
func (o *connPermit) leave() {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	delete(o.all.open, o)
	o.all.freed.Signal()
}

// close stops giving places.
func (p *connLimit) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.freed.Broadcast()
}
