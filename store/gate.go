package store

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// turn is a lock with one holder, whose waiters give up when their context ends.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn: CodeCanceled where ctx ends before.
func (t turn) take(ctx context.Context) error {
	if t.tryTake() {
		return nil
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return wrap(ctx.Err())
	}
}

// tryTake takes the turn if nobody has it.
func (t turn) tryTake() bool {
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}

func (t turn) release() { <-t }

// gate lets many pass through, or one alone. There are three ways to use it. Who shares it is inside until it
// leaves. Who closes it waits for those to leave, lets nobody else in meanwhile, and is inside alone until it
// opens the gate: then all that have waited are let in before anybody can close it again. Who only looks
// never holds it, and is held up by nobody but one who is inside alone: it asks for the count of the turns
// before it reads what the gate guards, and whether that still holds afterwards.
type gate struct {
	turns   atomic.Uint64 // odd while one is inside alone; each turn adds two
	inside  atomic.Int64  // how many share it; less gateClosed while one is inside alone or waits to be
	closing turn          // who may close it
	drained chan struct{} // one slot: the last that shared it has left the closed gate

	mu      sync.Mutex
	waiting []chan struct{} // of those who are to be let in; guarded by mu, as every change of inside by gateClosed is
	opened  chan struct{}   // closed when the one that is inside alone leaves; guarded by mu
}

const gateClosed = 1 << 40

func newGate() gate { return gate{closing: newTurn(), drained: make(chan struct{}, 1)} }

// share enters: CodeCanceled where ctx ends before the gate is open.
func (g *gate) share(ctx context.Context) error {
	if g.tryShare() {
		return nil
	}
	g.mu.Lock()
	if g.tryShare() {
		g.mu.Unlock()
		return nil
	}
	let := make(chan struct{})
	g.waiting = append(g.waiting, let)
	g.mu.Unlock()
	select {
	case <-let:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	i := slices.Index(g.waiting, let)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	g.mu.Unlock()
	if i < 0 { // it was let in at the same moment
		g.leave()
	}
	return wrap(ctx.Err())
}

func (g *gate) tryShare() bool {
	for {
		n := g.inside.Load()
		if n < 0 {
			return false
		}
		if g.inside.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave ends share.
func (g *gate) leave() {
	if g.inside.Add(-1) == -gateClosed {
		select {
		case g.drained <- struct{}{}:
		default:
		}
	}
}

// shut enters alone: CodeCanceled where ctx ends before the others have left.
func (g *gate) shut(ctx context.Context) error {
	if err := g.closing.take(ctx); err != nil {
		return err
	}
	g.mu.Lock()
	g.inside.Add(-gateClosed)
	g.mu.Unlock()
	for g.inside.Load() != -gateClosed {
		select {
		case <-g.drained:
		case <-ctx.Done():
			g.mu.Lock()
			g.letIn()
			g.mu.Unlock()
			g.closing.release()
			return wrap(ctx.Err())
		}
	}
	g.mu.Lock()
	g.opened = make(chan struct{})
	g.turns.Add(1)
	g.mu.Unlock()
	return nil
}

// open ends shut.
func (g *gate) open() {
	g.mu.Lock()
	g.turns.Add(1)
	close(g.opened)
	g.letIn()
	g.mu.Unlock()
	g.closing.release()
}

// letIn opens the gate to those who wait. The caller holds mu.
func (g *gate) letIn() {
	g.inside.Add(gateClosed + int64(len(g.waiting)))
	for _, let := range g.waiting {
		close(let)
	}
	g.waiting = nil
}

// look waits while one is inside alone, and returns what still goes by. CodeCanceled: ctx has ended before.
func (g *gate) look(ctx context.Context) (at uint64, err error) {
	for {
		if at = g.turns.Load(); at%2 == 0 {
			return at, nil
		}
		g.mu.Lock()
		opened := g.opened
		g.mu.Unlock()
		select {
		case <-opened:
		case <-ctx.Done():
			return 0, wrap(ctx.Err())
		}
	}
}

// still tells whether nobody has been inside alone since look.
func (g *gate) still(at uint64) bool { return g.turns.Load() == at }
