package host

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Gate lets many pass through, or one alone. There are three ways to use it. Who shares it is inside until it
// leaves. Who closes it waits for those to leave, lets nobody else in meanwhile, and is inside alone until it
// opens the gate: then all that have waited are let in before anybody can close it again. Who only looks
// never holds it, and is held up by nobody but one who is inside alone: it asks for the count of the turns
// before it reads what the gate guards, and whether that still holds afterwards.
type Gate struct {
	turns   atomic.Uint64 // odd while one is inside alone; each turn adds two
	inside  atomic.Int64  // how many share it; less gateClosed while one is inside alone or waits to be
	closing Mutex         // who may close it
	drained chan struct{} // one slot: the last that shared it has left the closed gate

	mu      sync.Mutex      // guards what follows, and changes of inside by gateClosed
	waiting []chan struct{} // of those who are to be let in
	opened  chan struct{}   // closed when the one that is inside alone leaves
}

const gateClosed = 1 << 40

// NewGate returns a gate that is open.
func NewGate() Gate { return Gate{closing: NewMutex(), drained: make(chan struct{}, 1)} }

// Share enters. Its error is that of ctx, where that ends before the gate is open.
func (g *Gate) Share(ctx context.Context) error {
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
		g.Leave()
	}
	return ctx.Err()
}

func (g *Gate) tryShare() bool {
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

// Leave ends Share.
func (g *Gate) Leave() {
	if g.inside.Add(-1) == -gateClosed {
		select {
		case g.drained <- struct{}{}:
		default:
		}
	}
}

// Shut enters alone. Its error is that of ctx, where that ends before the others have left.
func (g *Gate) Shut(ctx context.Context) error {
	if err := g.closing.Lock(ctx); err != nil {
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
			g.closing.Unlock()
			return ctx.Err()
		}
	}
	g.mu.Lock()
	g.opened = make(chan struct{})
	g.turns.Add(1)
	g.mu.Unlock()
	return nil
}

// Open ends Shut.
func (g *Gate) Open() {
	g.mu.Lock()
	g.turns.Add(1)
	close(g.opened)
	g.letIn()
	g.mu.Unlock()
	g.closing.Unlock()
}

// letIn opens the gate to those who wait. The caller holds mu.
func (g *Gate) letIn() {
	g.inside.Add(gateClosed + int64(len(g.waiting)))
	for _, let := range g.waiting {
		close(let)
	}
	g.waiting = nil
}

// Look waits while one is inside alone, and returns what Still goes by. Its error is that of ctx.
func (g *Gate) Look(ctx context.Context) (at uint64, err error) {
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
			return 0, ctx.Err()
		}
	}
}

// Still reports whether nobody has been inside alone since Look.
func (g *Gate) Still(at uint64) bool { return g.turns.Load() == at }

// State reports how many share the gate, less a large number while somebody is inside alone or waits to be;
// and the count of turns that Look gives.
func (g *Gate) State() (inside int64, turns uint64) { return g.inside.Load(), g.turns.Load() }
