package host

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestGateAfterCanceledShut cancels a Shut that waits for a shared holder of the gate, and checks
// that a Share that waits behind it then gets the gate.
func TestGateAfterCanceledShut(t *testing.T) {
	g := NewGate()
	ctx := t.Context()
	if err := g.Share(ctx); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(ctx)
	gaveUp := make(chan error)
	go func() { gaveUp <- g.Shut(ended) }()
	for g.inside.Load() > 0 {
		runtime.Gosched()
	}
	in := make(chan error)
	go func() { in <- g.Share(ctx) }()
	if at, err := g.Stamp(ctx); err != nil || !g.Unchanged(at) {
		t.Error("who looks is held up by who waits:", err)
	}
	end()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Error("the change:", err)
	}
	if err := <-in; err != nil {
		t.Error("who waited behind it:", err)
	}
	g.Leave()
	g.Leave()
	if err := g.Shut(ctx); err != nil {
		t.Fatal(err)
	}
	if at := g.stamp.Load(); at%2 == 0 {
		t.Error("nobody is inside alone")
	}
	if _, err := g.Stamp(ended); !errors.Is(err, context.Canceled) {
		t.Error("a look while one is inside alone:", err)
	}
	if err := g.Share(ended); !errors.Is(err, context.Canceled) {
		t.Error("an entry while one is inside alone:", err)
	}
	g.Open()
	if n := g.inside.Load(); n != 0 {
		t.Errorf("%d are inside, and nobody should be", n)
	}
}

// TestGateUnderTraffic runs Share, Shut and optimistic reads (Stamp, Unchanged) concurrently. An exclusive
// holder is always alone, every Share gets the gate in the end, and an optimistic read that Unchanged
// confirms has read one consistent state.
func TestGateUnderTraffic(t *testing.T) {
	g := NewGate()
	ctx := t.Context()
	var a, b, sharing atomic.Int64
	var stop atomic.Bool
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for !stop.Load() {
				if err := g.Shut(ctx); err != nil {
					t.Error(err)
					return
				}
				if n := sharing.Load(); n != 0 {
					t.Errorf("%d share the gate with a change", n)
				}
				a.Add(1)
				b.Add(1)
				g.Open()
			}
		})
	}
	var work sync.WaitGroup
	for i := range 4 {
		work.Go(func() {
			for n := range 2000 {
				asking, cancel := context.WithCancel(ctx)
				if (n+i)%5 == 0 {
					cancel()
				}
				if g.Share(asking) == nil {
					sharing.Add(1)
					sharing.Add(-1)
					g.Leave()
				}
				cancel()
				if at, err := g.Stamp(ctx); err != nil {
					t.Error(err)
				} else if x, y := a.Load(), b.Load(); g.Unchanged(at) && x != y {
					t.Errorf("a look has met a change: %d and %d", x, y)
				}
			}
		})
	}
	work.Wait()
	stop.Store(true)
	all.Wait()
}

// TestIncarnationEndsWithContext checks that Host.Incarnation, which waits for a running restore,
// returns when its context ends.
func TestIncarnationEndsWithContext(t *testing.T) {
	h := &Host{restoreGate: NewGate()}
	h.live.Store(&EngineInstance{incarnation: 7})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.restoreGate.Shut(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Incarnation(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the incarnation while a restore is under way: %v", err)
	}
	h.restoreGate.Open()
	if n, err := h.Incarnation(t.Context()); err != nil || n != 7 {
		t.Errorf("the incarnation is %d: %v", n, err)
	}
}
