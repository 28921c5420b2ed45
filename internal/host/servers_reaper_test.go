package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/ttl"
)

// signalingSweeper is a sweeper (ttl.Sweeper) with one range. It sends to the channel swept when the range is
// swept.
type signalingSweeper struct{ swept chan struct{} }

func (s signalingSweeper) Ranges(context.Context) ([]ttl.SweepRange, error) {
	return []ttl.SweepRange{{Owner: 1}}, nil
}

func (s signalingSweeper) Clock(ttl.SweepRange) ttl.Clock { return nil }

func (s signalingSweeper) Sweep(context.Context, ttl.SweepRange, int) (ttl.SweepResult, error) {
	select {
	case s.swept <- struct{}{}:
	default:
	}
	return ttl.SweepResult{Next: host.Never}, nil
}

// TestReaperSweepsOnLease checks that the reaper of a server sweeps as soon as the server gets the
// reaper's lease, even if its clock stands still.
func TestReaperSweepsOnLease(t *testing.T) {
	f, s := newSimulatedSharedDatabase(t), signalingSweeper{make(chan struct{}, 1)}
	o := host.Options{Clock: struct{ ttl.Clock }{ttl.NewManual(start)}, Wall: ttl.NewManual(start)}
	h, err := host.Open(t.Context(), f.shared.Server(f.clock), o, with(host.OpenedTenant{Sweep: s}))
	if err != nil {
		t.Fatal(err)
	}
	limit, stop := ttl.SystemClock{}.After(10 * time.Second)
	defer stop()
	select {
	case <-s.swept:
	case <-limit:
		t.Error("the range is not swept")
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}
