package ttl_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// testSweeper is the ttl.Sweeper of the reaper's tests. It has, for each range, the seconds at which items
// expire.
type testSweeper struct {
	clock ttl.Clock
	pace  *advanceOnSleepClock // for a before that takes its time
	// before, if it is not nil, is called at the beginning of each Sweep, outside mu.
	before func(ctx context.Context, r ttl.SweepRange) error

	busy atomic.Bool // a method runs

	clocks map[ttl.SweepRange]ttl.Clock // of ranges that have their own; set before the reaper is opened

	mu      sync.Mutex
	due     map[ttl.SweepRange][]int64
	calls   []ttl.SweepRange
	listErr error
}

func slot(n uint16) ttl.SweepRange { return ttl.SweepRange{Owner: 1, Part: n} }

// put adds n items to the range r that expire when the duration in has passed from now.
func (y *testSweeper) put(r ttl.SweepRange, n int, in time.Duration) {
	y.mu.Lock()
	defer y.mu.Unlock()
	at := y.clock.Now().Add(in).Unix()
	for range n {
		y.due[r] = append(y.due[r], at)
	}
	slices.Sort(y.due[r])
}

func (y *testSweeper) left() (n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, due := range y.due {
		n += len(due)
	}
	return n
}

// took returns the numbers of the ranges that were swept since the last call, in order. "1*3" stands for
// three sweeps of range 1 in a row.
func (y *testSweeper) took() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	var runs []string
	for calls := y.calls; len(calls) > 0; {
		n := 1
		for n < len(calls) && calls[n] == calls[0] {
			n++
		}
		run := fmt.Sprint(calls[0].Part)
		if n > 1 {
			run += fmt.Sprintf("*%d", n)
		}
		runs, calls = append(runs, run), calls[n:]
	}
	y.calls = nil
	return strings.Join(runs, " ")
}

func (y *testSweeper) enter() func() {
	if !y.busy.CompareAndSwap(false, true) {
		panic("two methods of the sweeper run at once")
	}
	return func() { y.busy.Store(false) }
}

func (y *testSweeper) Clock(r ttl.SweepRange) ttl.Clock { return y.clocks[r] }

func (y *testSweeper) Ranges(context.Context) ([]ttl.SweepRange, error) {
	defer y.enter()()
	y.mu.Lock()
	defer y.mu.Unlock()
	var out []ttl.SweepRange
	for r := range y.due {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b ttl.SweepRange) int { return int(a.Part) - int(b.Part) })
	return out, y.listErr
}

func (y *testSweeper) Sweep(ctx context.Context, r ttl.SweepRange, limit int) (ttl.SweepResult, error) {
	defer y.enter()()
	if y.before != nil {
		if err := y.before(ctx, r); err != nil {
			return ttl.SweepResult{}, err
		}
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.calls = append(y.calls, r)
	clock := y.clock
	if own := y.clocks[r]; own != nil {
		clock = own
	}
	now, due := clock.Now().Unix(), y.due[r]
	n := 0
	for n < len(due) && n < limit && due[n] <= now {
		n++
	}
	due = due[n:]
	y.due[r] = due
	sw := ttl.SweepResult{Purged: n, Next: math.MaxInt64}
	if len(due) > 0 {
		sw.Next, sw.More = due[0], due[0] <= now
	}
	return sw, nil
}

// sleepSignalClock is a virtual clock that sends to the channel asleep when the reaper begins to wait on
// it.
type sleepSignalClock struct {
	*ttl.VirtualClock
	asleep chan time.Duration
}

func newSleepSignalClock() sleepSignalClock {
	return sleepSignalClock{ttl.NewManual(noon), make(chan time.Duration, 10_000)}
}

func (c sleepSignalClock) After(d time.Duration) (<-chan time.Time, func()) {
	ch, stop := c.VirtualClock.After(d)
	c.asleep <- d
	return ch, stop
}

// advanceOnSleepClock is a virtual clock that moves forward at once by each duration for which the reaper
// waits on it, so that no real time passes. It records the durations.
type advanceOnSleepClock struct {
	*ttl.VirtualClock
	mu   sync.Mutex
	naps []time.Duration
}

func newAdvanceOnSleepClock() *advanceOnSleepClock {
	return &advanceOnSleepClock{VirtualClock: ttl.NewManual(noon)}
}

func (c *advanceOnSleepClock) After(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.naps = append(c.naps, d)
	c.Advance(d)
	return c.VirtualClock.After(0)
}

func (c *advanceOnSleepClock) takeNaps() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	naps := c.naps
	c.naps = nil
	return naps
}

// reaperFixture is a reaper under test with its sweeper and its two clocks: clock decides expiry, pace
// measures pauses.
type reaperFixture struct {
	*ttl.Reaper
	yard  *testSweeper
	clock sleepSignalClock
	pace  *advanceOnSleepClock
	ended uint64 // rounds that settle has seen end
}

func newReaperRig(t *testing.T, o ttl.ReaperOptions, prepare func(*testSweeper)) *reaperFixture {
	t.Helper()
	g := &reaperFixture{clock: newSleepSignalClock(), pace: newAdvanceOnSleepClock()}
	g.yard = &testSweeper{clock: g.clock, pace: g.pace, due: map[ttl.SweepRange][]int64{}}
	if prepare != nil {
		prepare(g.yard)
	}
	o.Clock = g.clock
	if o.Pace == nil {
		o.Pace = g.pace
	}
	if o.OnError == nil {
		o.OnError = func(err error) { t.Errorf("the reaper met %v", err) }
	}
	g.Reaper = ttl.OpenReaper(o, g.yard)
	t.Cleanup(g.Close)
	return g
}

// settle waits until the reaper has ended one more round.
func (g *reaperFixture) settle() {
	for g.Metrics().Rounds <= g.ended {
		<-g.clock.asleep
	}
	g.ended++
}

func (g *reaperFixture) check(t *testing.T, left int, took string) {
	t.Helper()
	if got := g.yard.left(); got != left {
		t.Errorf("%d items left, want %d", got, left)
	}
	if got := g.yard.took(); got != took {
		t.Errorf("swept slots %q, want %q", got, took)
	}
}
