package front

import (
	"net"
	"sync"
)

// places are those of the connections. Where all are taken, the connection that has been idle for longest
// gives its place to a new one: its client has said nothing yet, has no request of HTTP under way, or has
// shown no token over AMQP or has no link there. Where none is idle new connections wait.
type places struct {
	most int // 0: any number

	mu     sync.Mutex
	freed  *sync.Cond // a place may be free, or one idle
	open   map[*place]struct{}
	turn   int64 // grows with each connection that becomes idle
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

	idle  bool // guarded by the places' lock
	since int64
}

// take gives a connection a place, which another one may have to give up for it; nil where the server ends
// before there is one.
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

// dropIdle closes the connection that has been idle for longest; false where none is idle.
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
	_ = oldest.conn.Close() // without TLS's goodbye, which may have to wait for the client
	return true
}

// makeRoom closes an idle connection after an Accept that has failed since there are no descriptors.
func (p *places) makeRoom() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropIdle()
}

// setIdle notes whether the connection may be closed for another one.
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

// leave gives the place back.
func (o *place) leave() {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	delete(o.all.open, o)
	o.all.freed.Signal()
}

// close lets nobody in any more.
func (p *places) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.freed.Broadcast()
}
