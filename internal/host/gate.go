package host

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// CancelableRWLock is a lock that can be held shared or exclusively, whose methods end with a context, and
// that also supports optimistic reads:
//
//   - Share takes the gate shared, until Leave.
//   - Shut takes the gate exclusively, until Open. It waits until all sharers have left, and lets no others
//     enter. Open admits all that wait in Share before anybody can shut the gate again.
//   - Stamp and Unchanged never hold the gate and wait only for an exclusive holder. A reader calls Stamp, reads
//     what the gate guards, and then asks Unchanged whether the gate was shut in between.
type CancelableRWLock struct {
	stamp   atomic.Uint64   // odd while the gate is held exclusively; each such turn adds two
	inside  atomic.Int64    // number of sharers, minus gateClosed while the gate is shut or being shut
	closing CancelableMutex // held by the goroutine that shuts the gate
	drained chan struct{}   // one slot: the last sharer has left the closed gate

	mu      sync.Mutex      // guards the fields below, and changes of inside by gateClosed
	waiting []chan struct{} // one channel for each waiting Share
	opened  chan struct{}   // closed by Open
}

const gateClosed = 1 << 40

// NewGate returns a gate that is open.
func NewGate() CancelableRWLock {
	return CancelableRWLock{closing: NewCancelableMutex(), drained: make(chan struct{}, 1)}
}

// Share takes the gate shared. It returns the error of ctx if ctx ends before the gate is open.
func (g *CancelableRWLock) Share(ctx context.Context) error {
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
	if i < 0 { // Open has admitted this call at the same moment
		g.Leave()
	}
	return ctx.Err()
}

func (g *CancelableRWLock) tryShare() bool {
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

// Leave releases the gate, which the caller has taken by Share.
func (g *CancelableRWLock) Leave() {
	if g.inside.Add(-1) == -gateClosed {
		select {
		case g.drained <- struct{}{}:
		default:
		}
	}
}

// Shut takes the gate's lock exclusively. It returns the error of ctx if ctx ends before all shared holders
// have left.
func (g *CancelableRWLock) Shut(ctx context.Context) error {
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
			g.admitWaiting()
			g.mu.Unlock()
			g.closing.Unlock()
			return ctx.Err()
		}
	}
	g.mu.Lock()
	g.opened = make(chan struct{})
	g.stamp.Add(1)
	g.mu.Unlock()
	return nil
}

// Open gives up the gate that Shut has taken exclusively.
func (g *CancelableRWLock) Open() {
	g.mu.Lock()
	g.stamp.Add(1)
	close(g.opened)
	g.admitWaiting()
	g.mu.Unlock()
	g.closing.Unlock()
}

// admitWaiting lets the gate be taken shared again, first by all calls of Share that wait. The caller holds
// mu.
func (g *CancelableRWLock) admitWaiting() {
	g.inside.Add(gateClosed + int64(len(g.waiting)))
	for _, let := range g.waiting {
		close(let)
	}
	g.waiting = nil
}

// Stamp begins an optimistic read: it waits while the gate is held exclusively, and then returns a number
// that the reader passes to Unchanged when it has read. It returns the error of ctx.
func (g *CancelableRWLock) Stamp(ctx context.Context) (at uint64, err error) {
	for {
		if at = g.stamp.Load(); at%2 == 0 {
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

// Unchanged ends an optimistic read, which Stamp has begun and which needs no lock. It reports whether nobody
// has held the gate exclusively since the call of Stamp that returned at, so that what was read is
// consistent.
func (g *CancelableRWLock) Unchanged(at uint64) bool { return g.stamp.Load() == at }

// State returns the lock's two counters. inside is the number of goroutines that hold the lock shared, minus
// gateClosed while it is held exclusively or a caller of Shut waits. turns is the stamp for optimistic reads,
// as returned by Stamp; State does not wait for it.
func (g *CancelableRWLock) State() (inside int64, turns uint64) {
	return g.inside.Load(), g.stamp.Load()
}
