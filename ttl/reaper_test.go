package ttl_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

func TestReaperOnTime(t *testing.T) {
	g := newReaperRig(t, ttl.ReaperOptions{}, func(y *testSweeper) {
		y.put(slot(1), 2, 0)
		y.put(slot(1), 3, time.Second)
		y.put(slot(1), 4, 3*time.Second)
	})
	g.settle()
	g.check(t, 7, "1") // with Open, what was due already
	for _, step := range []struct {
		left int
		took string
	}{{4, "1"}, {4, ""}, {0, "1"}, {0, ""}} {
		g.clock.Advance(time.Second)
		g.settle()
		g.check(t, step.left, step.took)
	}
	m := g.Metrics()
	if m.Purged != 9 || m.Rounds != 5 || m.Errors != 0 || m.Backlog || m.Paused || !m.LastRound.Equal(noon.Add(4*time.Second)) {
		t.Errorf("metrics %+v", m)
	}
}

func TestReaperTakesTurns(t *testing.T) {
	g := newReaperRig(t, ttl.ReaperOptions{Batch: 10}, func(y *testSweeper) {
		y.put(slot(1), 25, time.Hour)
		y.put(slot(2), 5, time.Hour)
		y.put(slot(3), 40, time.Hour)
	})
	g.settle()
	g.check(t, 70, "1 2 3")
	g.clock.Advance(365 * 24 * time.Hour) // one round, however far the clock jumps
	g.settle()
	g.check(t, 0, "1 2 3 1 3 1 3*2")
	if m := g.Metrics(); m.Rounds != 2 || m.Purged != 70 {
		t.Errorf("metrics %+v", m)
	}
}

// TestReaperIdleRange checks that the reaper sweeps a range in which nothing expires soon more rarely than
// each tick, but often enough to find items that are written later and expire earlier.
func TestReaperIdleRange(t *testing.T) {
	g := newReaperRig(t, ttl.ReaperOptions{}, func(y *testSweeper) { y.put(slot(1), 1, time.Hour) })
	g.settle()
	g.check(t, 1, "1")
	g.yard.put(slot(1), 1, time.Second)
	g.yard.put(slot(2), 1, time.Second) // a new range
	g.clock.Advance(time.Second)
	g.settle()
	g.check(t, 2, "2")
	for range 3 {
		g.clock.Advance(time.Second)
		g.settle()
	}
	g.check(t, 2, "")
	g.clock.Advance(time.Second)
	g.settle()
	g.check(t, 1, "1")

	g.Wake()
	g.settle()
	g.check(t, 1, "1 2")
}

func TestReaperAfterClockSetBack(t *testing.T) {
	g := newReaperRig(t, ttl.ReaperOptions{}, func(y *testSweeper) { y.put(slot(1), 1, -time.Hour) })
	g.settle()
	g.clock.Advance(-time.Hour)
	g.yard.put(slot(1), 1, 0)
	g.Wake()
	g.settle()
	g.check(t, 0, "1*2")
	g.yard.put(slot(1), 1, 5*time.Second)
	g.clock.Advance(5 * time.Second)
	g.settle()
	g.check(t, 0, "1")
}

func TestReaperFindsNewRanges(t *testing.T) {
	g := newReaperRig(t, ttl.ReaperOptions{Batch: 1}, func(y *testSweeper) {
		y.put(slot(1), 1000, 0)
		var once sync.Once
		y.before = func(context.Context, ttl.SweepRange) error {
			once.Do(func() { y.put(slot(2), 1, 0) })
			return nil
		}
	})
	g.settle()
	g.check(t, 0, "1*65 2 1*935") // the ranges are listed anew after 64 passes
}

// TestReaperYieldsToForeground checks that the reaper pauses after each batch while foreground operations
// run, and that the pauses get shorter while there is a backlog.
func TestReaperYieldsToForeground(t *testing.T) {
	g := newReaperRig(t, ttl.ReaperOptions{Load: func() int { return 1 }}, func(y *testSweeper) {
		y.put(slot(1), 640_000, 0)
		y.before = func(context.Context, ttl.SweepRange) error {
			y.pace.Advance(time.Millisecond) // how long a batch takes
			return nil
		}
	})
	g.settle()
	g.check(t, 0, "1*20000")
	naps := g.pace.takeNaps()
	counts := map[time.Duration]int{}
	for _, d := range naps[:20_000] {
		counts[d]++
	}
	if !slices.IsSortedFunc(naps[:20_000], func(a, b time.Duration) int { return int(b - a) }) {
		t.Error("the pauses grew while the backlog persisted")
	}
	if naps[0] != 8*time.Millisecond || naps[19_999] != 250*time.Microsecond || len(counts) != 6 {
		t.Errorf("pauses from %s to %s, of %d lengths", naps[0], naps[19_999], len(counts))
	}

	g.yard.put(slot(1), 64, 0)
	g.Wake()
	g.settle()
	if naps := g.pace.takeNaps(); naps[0] != 8*time.Millisecond {
		t.Errorf("the pauses of a new backlog begin with %s", naps[0])
	}
}

func TestReaperWithoutForegroundLoad(t *testing.T) {
	g := newReaperRig(t, ttl.ReaperOptions{}, func(y *testSweeper) { y.put(slot(1), 3200, 0) })
	g.settle()
	g.check(t, 0, "1*100")
	for _, d := range g.pace.takeNaps() {
		if d != 10*time.Millisecond { // the gap between two rounds
			t.Errorf("the reaper waited %s with nobody in its way", d)
		}
	}
}

var errDisk = errors.New("disk on fire")

func TestReaperFailingRange(t *testing.T) {
	var failing atomic.Bool
	failing.Store(true)
	var mu sync.Mutex
	var met []error
	g := newReaperRig(t, ttl.ReaperOptions{OnError: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		met = append(met, err)
	}}, func(y *testSweeper) {
		y.put(slot(1), 40, 0)
		y.put(slot(2), 40, 0)
		y.before = func(_ context.Context, r ttl.SweepRange) error {
			if r == slot(1) && failing.Load() {
				return errDisk
			}
			return nil
		}
	})
	g.settle()
	g.check(t, 40, "2*2") // slot 1 does not keep slot 2 waiting
	mu.Lock()
	var failed *ttl.SweepRangeError
	if len(met) != 1 || !errors.As(met[0], &failed) || failed.Range != slot(1) || !errors.Is(failed, errDisk) {
		t.Errorf("the reaper reported %v", met)
	}
	mu.Unlock()

	g.Wake() // a wake does not shorten the wait of a range that fails
	g.settle()
	if m := g.Metrics(); m.Errors != 1 {
		t.Errorf("%d errors before the time to try again, want 1", m.Errors)
	}
	g.pace.Advance(time.Second)
	g.Wake()
	g.settle()
	if m := g.Metrics(); m.Errors != 2 {
		t.Errorf("%d errors after a second, want 2", m.Errors)
	}
	failing.Store(false)
	g.yard.took()
	g.pace.Advance(2 * time.Second) // the second wait is twice as long
	g.clock.Advance(time.Second)
	g.settle()
	g.check(t, 0, "1*2")
}

func TestReaperFailingList(t *testing.T) {
	met := make(chan error, 1)
	g := newReaperRig(t, ttl.ReaperOptions{OnError: func(err error) { met <- err }}, func(y *testSweeper) {
		y.put(slot(1), 1, 0)
		y.listErr = errDisk
	})
	if err := <-met; !errors.Is(err, errDisk) {
		t.Errorf("the reaper reported %v", err)
	}
	if _, err := g.SweepNow(t.Context()); !errors.Is(err, errDisk) {
		t.Errorf("SweepNow: %v", err)
	}
	g.yard.mu.Lock()
	g.yard.listErr = nil
	g.yard.mu.Unlock()
	g.clock.Advance(time.Second)
	g.settle()
	g.check(t, 0, "1")
	if m := g.Metrics(); m.Errors != 2 || m.Rounds != 1 {
		t.Errorf("metrics %+v", m)
	}
}

func TestSweepNow(t *testing.T) {
	g := newReaperRig(t, ttl.ReaperOptions{Paused: true, Load: func() int { return 100 }},
		func(y *testSweeper) {
			y.put(slot(1), 100, 0)
			y.put(slot(2), 10, 0)
			y.put(slot(2), 10, time.Minute)
			y.put(slot(3), 10, 0)
			y.before = func(_ context.Context, r ttl.SweepRange) error {
				if r == slot(3) {
					return errDisk
				}
				return nil
			}
		})
	purged, err := g.SweepNow(t.Context())
	var failed *ttl.SweepRangeError
	if purged != 110 || !errors.As(err, &failed) || failed.Range != slot(3) {
		t.Errorf("SweepNow: %d, %v", purged, err)
	}
	g.check(t, 20, "1 2 1*3")
	if _, err = g.SweepNow(t.Context()); !errors.Is(err, errDisk) { // it waits for nobody's second try
		t.Errorf("SweepNow again: %v", err)
	}
	if m := g.Metrics(); m.Purged != 110 || m.Rounds != 2 || m.Errors != 2 || !m.Paused || m.Backlog {
		t.Errorf("metrics %+v", m)
	}

	ctx, cancel := context.WithCancel(t.Context())
	g.yard.before = func(context.Context, ttl.SweepRange) error { cancel(); return nil }
	g.yard.put(slot(1), 100, 0)
	if purged, err := g.SweepNow(ctx); purged != 32 || !errors.Is(err, context.Canceled) {
		t.Errorf("SweepNow with a context that ends: %d, %v", purged, err)
	}
}

func TestReaperPause(t *testing.T) {
	inside, release := make(chan struct{}), make(chan struct{})
	g := newReaperRig(t, ttl.ReaperOptions{}, func(y *testSweeper) {
		y.put(slot(1), 100, 0)
		y.before = func(ctx context.Context, _ ttl.SweepRange) error {
			if y.left() == 100 {
				inside <- struct{}{}
				<-release
			}
			return nil
		}
	})
	<-inside
	paused := make(chan struct{})
	go func() {
		g.Pause()
		close(paused)
	}()
	for !g.Metrics().Paused {
		runtime.Gosched()
	}
	select {
	case <-paused:
		t.Error("Pause returned while a batch was running")
	default:
	}
	close(release)
	<-paused
	g.check(t, 68, "1") // the batch in flight was finished, and no other was begun
	g.clock.Advance(time.Hour)
	g.Wake()
	g.check(t, 68, "")
	if n, err := g.SweepNow(t.Context()); n != 68 || err != nil {
		t.Errorf("SweepNow while paused: %d, %v", n, err)
	}
	g.yard.put(slot(1), 1, 0)
	g.ended = g.Metrics().Rounds
	g.Resume()
	g.settle()
	if left := g.yard.left(); left != 0 {
		t.Errorf("%d items left after Resume", left)
	}
}

func TestReaperClose(t *testing.T) {
	t.Run("in a pause", func(t *testing.T) {
		pace := newSleepSignalClock()
		g := newReaperRig(t, ttl.ReaperOptions{Pace: pace, Load: func() int { return 1 }},
			func(y *testSweeper) {
				y.put(slot(1), 100, 0)
				y.before = func(context.Context,
					ttl.SweepRange) error {
					pace.Advance(time.Millisecond)
					return nil
				}
			})
		<-pace.asleep
		g.Close()
		g.check(t, 68, "1")
	})
	t.Run("in a batch", func(t *testing.T) {
		inside := make(chan struct{})
		g := newReaperRig(t, ttl.ReaperOptions{}, func(y *testSweeper) {
			y.put(slot(1), 100, 0)
			y.before = func(ctx context.Context, _ ttl.SweepRange) error {
				close(inside)
				<-ctx.Done()
				return ctx.Err()
			}
		})
		<-inside
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(g.Close)
		}
		wg.Wait()
		if m := g.Metrics(); m.Errors != 0 || m.Purged != 0 || m.Rounds != 0 {
			t.Errorf("metrics %+v", m)
		}
	})
	t.Run("in SweepNow", func(t *testing.T) {
		inside := make(chan struct{})
		g := newReaperRig(t, ttl.ReaperOptions{Paused: true}, func(y *testSweeper) {
			y.put(slot(1), 100, 0)
			y.before = func(ctx context.Context, _ ttl.SweepRange) error {
				close(inside)
				<-ctx.Done()
				return ctx.Err()
			}
		})
		got := make(chan error)
		go func() {
			_, err := g.SweepNow(context.Background())
			got <- err
		}()
		<-inside
		go g.Close()
		if err := <-got; !errors.Is(err, ttl.ErrReaperClosed) {
			t.Errorf("SweepNow during Close: %v", err)
		}
		g.Close()
		if _, err := g.SweepNow(t.Context()); !errors.Is(err, ttl.ErrReaperClosed) {
			t.Errorf("SweepNow after Close: %v", err)
		}
		g.Wake()
		g.Pause()
		g.Resume()
	})
}

// TestReaperPanic checks that a panic of the sweeper reaches the caller of SweepNow, and that the next
// SweepNow works.
func TestReaperPanic(t *testing.T) {
	g := newReaperRig(t, ttl.ReaperOptions{Paused: true}, func(y *testSweeper) { y.put(slot(1), 1, 0) })
	g.yard.before = func(context.Context, ttl.SweepRange) error { panic(errDisk) }
	func() {
		defer func() {
			if got := recover(); got != errDisk {
				t.Errorf("recovered %v", got)
			}
		}()
		_, err := g.SweepNow(t.Context())
		t.Errorf("SweepNow returned %v", err)
	}()
	g.yard.before = nil
	if n, err := g.SweepNow(t.Context()); n != 1 || err != nil {
		t.Errorf("SweepNow after a panic: %d, %v", n, err)
	}
}

// TestConcurrentReaperUse calls the reaper's methods from several goroutines. The test's sweeper panics if
// two of its methods run at the same time.
func TestConcurrentReaperUse(t *testing.T) {
	g := newReaperRig(t, ttl.ReaperOptions{Batch: 3}, nil)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 50 {
				g.yard.put(slot(uint16(n%5)), 10, time.Duration(n%3)*time.Second)
				g.clock.Advance(time.Second)
				switch {
				case i == 0:
					g.Pause()
					g.Resume()
				case n%4 == 0:
					if _, err := g.SweepNow(t.Context()); err != nil {
						t.Error(err)
					}
				default:
					g.Wake()
				}
			}
		})
	}
	wg.Wait()
	g.clock.Advance(time.Minute)
	if _, err := g.SweepNow(t.Context()); err != nil {
		t.Error(err)
	}
	if left, purged := g.yard.left(), g.Metrics().Purged; left != 0 || purged != 2000 {
		t.Errorf("%d items left and %d purged, want 0 and 2000", left, purged)
	}
}

// TestReaperDo checks that a function passed to Do never runs at the same time as a sweep, and that Close
// ends its context.
func TestReaperDo(t *testing.T) {
	g := newReaperRig(t, ttl.ReaperOptions{Batch: 1}, func(y *testSweeper) { y.put(slot(1), 500, 0) })
	for range 100 {
		err := g.Do(t.Context(), func(context.Context) error {
			leave := g.yard.enter() // panics where a method of the sweeper runs
			runtime.Gosched()
			leave()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Do(t.Context(), func(context.Context) error { return errDisk }); !errors.Is(err, errDisk) {
		t.Errorf("Do returned %v", err)
	}
	inside, got := make(chan bool), make(chan error, 1)
	go func() {
		got <- g.Do(context.Background(), func(ctx context.Context) error {
			close(inside)
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	<-inside
	g.Close()
	if err := <-got; !errors.Is(err, ttl.ErrReaperClosed) {
		t.Errorf("Do during Close: %v", err)
	}
	if err := g.Do(t.Context(), func(context.Context) error { return nil }); !errors.Is(err, ttl.ErrReaperClosed) {
		t.Errorf("Do after Close: %v", err)
	}
}
