package front

import (
	"net"
	"sync"
)

// places limits the number of connections. If all places are taken, the connection that has been idle for
// longest is closed for a new one. A connection is idle if its client has sent nothing yet, has no active
// HTTP request, or is not authorized or has no link over AMQP. If none is idle, new connections wait.
type places struct {
	most int // 0: no limit

	mu     sync.Mutex
	freed  *sync.Cond // signals a free place or an idle connection
	open   map[*place]struct{}
	turn   int64 // incremented for each connection that becomes idle
	closed bool
}

func newPlaces(most int) *places {
	p := &places{most: most, open: make(map[*place]struct{})}
	p.freed = sync.NewCond(&p.mu)
	return p
}

// place is the place of one connection.
type place struct {
	all  *places
	conn net.Conn

	idle  bool // guarded by the mutex of places
	since int64
}

// take waits for a place for a connection, and closes an idle connection if necessary. It returns nil if
// the server ends first.
func (p *places) take(c net.Conn) *place {
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
	o := &place{all: p, conn: c, idle: true, since: p.turn}
	p.open[o] = struct{}{}
	return o
}

// dropIdle closes the connection that has been idle for longest. It returns false if none is idle.
func (p *places) dropIdle() bool {
	var oldest *place
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
func (p *places) makeRoom() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropIdle()
}

// setIdle records whether the connection may be closed for another one.
func (o *place) setIdle(idle bool) {
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
func (o *place) leave() {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	delete(o.all.open, o)
	o.all.freed.Signal()
}

// close stops giving places.
func (p *places) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.freed.Broadcast()
}
