package ttl

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Range is a unit of sweeping: what one batch is taken from. The reaper only compares ranges.
type Range struct {
	Tenant uint8  // whose it is, where several share a reaper
	Owner  uint32 // what lies in it belongs to: a container, a queue
	Part   uint16 // of the owner
}

// Swept says how a batch went.
type Swept struct {
	Purged int  // items removed
	More   bool // candidates that are due already are left
	// without More: the earliest second since 1970 at which something here may expire; math.MaxInt64: nothing
	Next int64
}

// A Sweeper removes expired items. The reaper never runs two of its methods at once.
type Sweeper interface {
	// Ranges returns what there is to sweep at the moment.
	Ranges(ctx context.Context) ([]Range, error)
	// Sweep removes at most limit expired items of r. While it reports More, each call must get further, even
	// where it purges nothing because what it looked at lives. Next is a hint: see Reaper.Wake. A range that
	// is gone is no error. With an error nothing has been removed and Swept is ignored.
	Sweep(ctx context.Context, r Range, limit int) (Swept, error)
	// Clock is the clock that decides in r what has expired; nil is that of the reaper's options.
	Clock(r Range) Clock
}

// ReaperOptions say how a Reaper works. The zero value of each field is its default.
type ReaperOptions struct {
	Clock    Clock         // decides when to look again, where a range has no clock of its own; default Real
	Pace     Clock         // real time, for pauses and for backing off; default Real
	Interval time.Duration // between two rounds, on Clock; default 1 s
	Batch    int           // items a batch; default 32
	Load     func() int    // foreground operations in flight; default: none ever
	OnError  func(error)   // is told what the loop met, a *RangeError where a range failed; default: nobody
	Paused   bool          // start as after Pause
}

func (o *ReaperOptions) ensureDefaults() {
	if o.Clock == nil {
		o.Clock = Real{}
	}
	if o.Pace == nil {
		o.Pace = Real{}
	}
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.Batch <= 0 {
		o.Batch = 32
	}
	if o.Load == nil {
		o.Load = func() int { return 0 }
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
}

// ReaperMetrics is what a Reaper has done since it was opened, the work of SweepNow included.
type ReaperMetrics struct {
	Purged    uint64    // items
	Rounds    uint64    // rounds ended
	Errors    uint64    // batches and listings that failed
	LastRound time.Time // end of the last round, on Clock; zero before the first
	Backlog   bool      // in the last pass over the ranges one of them had more than a batch
	Paused    bool
}

// ErrReaperClosed is what SweepNow returns after Close.
var ErrReaperClosed = errors.New("the reaper is closed")

// A RangeError says which range could not be swept.
type RangeError struct {
	Range Range
	Err   error
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("sweep part %d of %d of tenant %d: %v", e.Range.Part, e.Range.Owner, e.Range.Tenant,
		e.Err)
}

// Unwrap returns the error of the Sweeper.
func (e *RangeError) Unwrap() error { return e.Err }

const (
	// minGap lies between two rounds, in real time: a clock that runs an hour in a second would ask for
	// thousands.
	minGap = 10 * time.Millisecond
	// recheck is after how many intervals a range is looked at although it said that nothing would expire
	// before. What has been written since may expire earlier.
	recheck = 5
	// passes are made over the ranges that have more before they are listed anew, so that a long round meets
	// new ranges.
	passes = 64
)

// A Reaper removes expired items in the background, a round after each Interval. A round goes over all ranges
// in turn, a batch each, until nothing is due; between batches it stands back for foreground work (see
// pace.go). A range that fails is left alone for a while, the others go on. A panic of the Sweeper is passed
// on.
type Reaper struct {
	opts    ReaperOptions
	sweeper Sweeper

	life    context.Context // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup // the loop, and calls of SweepNow
	nudge   chan struct{}  // one slot
	turn    chan struct{}  // one slot: who has put something in may call the sweeper, and owns visits
	visits  map[Range]visit

	mu      sync.Mutex // guards what follows
	closed  bool
	halt    context.CancelFunc // stops the round that runs, or nil
	metrics ReaperMetrics
	clocks  []Clock // other than that of opts that ranges have, as of the last list
}

// OpenReaper starts a reaper with a first round, unless it starts paused. Close must be called before what
// the sweeper needs is closed.
func OpenReaper(o ReaperOptions, s Sweeper) *Reaper {
	o.ensureDefaults()
	r := &Reaper{
		opts:    o,
		sweeper: s,
		nudge:   make(chan struct{}, 1),
		turn:    make(chan struct{}, 1),
		visits:  map[Range]visit{},
		metrics: ReaperMetrics{Paused: o.Paused},
	}
	r.life, r.end = context.WithCancel(context.Background())
	r.running.Go(r.loop)
	return r
}

// Close stops the loop and every SweepNow and waits for them. It may be called more than once.
func (r *Reaper) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.end()
	r.running.Wait()
}

// Wake asks for a round over all ranges soon, whatever they said about when something would expire. It is
// meant for a change of policy, for a clock that was set, and for whoever wants a short-lived item gone
// without delay: without it a range that expected nothing is looked at after a few intervals. It never
// blocks; several wakes may become one round.
func (r *Reaper) Wake() {
	select {
	case r.nudge <- struct{}{}:
	default:
	}
}

// Pause stops the loop until Resume. When it returns no batch of the loop is running. SweepNow works all the
// same. It must not be called from the Sweeper.
func (r *Reaper) Pause() {
	r.mu.Lock()
	r.metrics.Paused = true
	if r.halt != nil {
		r.halt()
	}
	r.mu.Unlock()
	r.turn <- struct{}{}
	<-r.turn
}

// Resume lets the loop go on, with a round over all ranges. It does nothing when the reaper is not paused.
func (r *Reaper) Resume() {
	r.mu.Lock()
	was := r.metrics.Paused
	r.metrics.Paused = false
	r.mu.Unlock()
	if was {
		r.Wake()
	}
}

// Metrics returns the counters at this moment.
func (r *Reaper) Metrics() ReaperMetrics {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.metrics
}

// SweepNow purges everything that is due, without pauses, in the caller's goroutine; its batches take turns
// with those of the loop. A range that fails does not stop the others: the errors of all are joined, each a
// *RangeError. When ctx ends it returns with what it has purged and the cause.
func (r *Reaper) SweepNow(ctx context.Context) (purged int, err error) {
	if !r.enter() {
		return 0, ErrReaperClosed
	}
	defer r.running.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.life, func() { cancel(ErrReaperClosed) })()

	var failed []error
	queue, err := r.list(ctx, func(visit) bool { return true })
	for err == nil && len(queue) > 0 {
		queue, err = r.pass(ctx, queue, func(b batch) {
			purged += b.Purged
			if b.err != nil {
				failed = append(failed, b.err)
			}
		})
	}
	if ctx.Err() != nil {
		return purged, context.Cause(ctx)
	}
	if err != nil {
		return purged, err
	}
	r.endRound()
	return purged, errors.Join(failed...)
}

// Do runs fn while no batch runs: for whoever wants to sweep by other rules than the loop's, or to know that
// none is under way. It returns ErrReaperClosed after Close, which ends fn's context and waits for fn.
func (r *Reaper) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	if !r.enter() {
		return ErrReaperClosed
	}
	defer r.running.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.life, func() { cancel(ErrReaperClosed) })()
	if r.take(ctx) != nil {
		return context.Cause(ctx)
	}
	defer r.give()
	return fn(ctx)
}

// enter adds a caller to what Close waits for, unless it is too late.
func (r *Reaper) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.running.Add(1)
	}
	return !r.closed
}
