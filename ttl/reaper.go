package ttl

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A SweepRange identifies a part of the data, such as a partition range, from which the Sweeper purges one
// batch at a time. The reaper uses it only as a key.
type SweepRange struct {
	Tenant uint8  // distinguishes the users of a shared reaper: documents, queues
	Owner  uint32 // the container or queue that the range belongs to
	Part   uint16 // number of the range within the owner
}

// SweepResult is the result of a call of Sweeper.Sweep, which purges a batch of expired items.
type SweepResult struct {
	Purged int  // items removed
	More   bool // more due candidates are left
	// Next is set if More is false. It is the earliest second since 1970 at which an item of the range may
	// expire; math.MaxInt64: none expires.
	Next int64
}

// A Sweeper removes expired items. The reaper never calls two of its methods concurrently.
type Sweeper interface {
	// Ranges returns the current ranges to sweep.
	Ranges(ctx context.Context) ([]SweepRange, error)
	// Sweep removes at most limit expired items of r. While it reports More, each call must make progress,
	// even if it purges nothing because the items that it checked are live. The result's Next, the time of
	// the next sweep, may be too late if an item was written meanwhile: see Reaper.Wake. A range that no
	// longer exists is not an error. If Sweep returns an error, nothing has been removed and SweepResult is
	// ignored.
	Sweep(ctx context.Context, r SweepRange, limit int) (SweepResult, error)
	// Clock returns the clock that decides expiry in r; nil: the clock of the reaper's options.
	Clock(r SweepRange) Clock
}

// ReaperOptions are the options of a Reaper. The zero value of each field is its default.
type ReaperOptions struct {
	Clock    Clock         // decides when to sweep again in ranges without an own clock; default Real
	Pace     Clock         // real time, for pauses and backoff; default Real
	Interval time.Duration // between two rounds, on Clock; default 1 s
	Batch    int           // maximum number of items per batch; default 32
	Load     func() int    // number of foreground operations in flight; default: always 0
	OnError  func(error)   // called with the loop's errors, a *SweepRangeError if a range failed; default: none
	Paused   bool          // start paused
}

func (o *ReaperOptions) ensureDefaults() {
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Pace == nil {
		o.Pace = SystemClock{}
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

// ReaperMetrics are the counters of a Reaper since it was opened, including the work of SweepNow.
type ReaperMetrics struct {
	Purged    uint64    // items purged
	Rounds    uint64    // finished rounds
	Errors    uint64    // batches and listings that failed
	LastRound time.Time // end of the last round, on Clock; zero before the first
	Backlog   bool      // in the last pass over the ranges, a range had more than one batch
	Paused    bool
}

// ErrReaperClosed is the error of SweepNow and Do after Close.
var ErrReaperClosed = errors.New("the reaper is closed")

// A SweepRangeError is the error of sweeping a range.
type SweepRangeError struct {
	Range SweepRange
	Err   error
}

func (e *SweepRangeError) Error() string {
	return fmt.Sprintf("sweep part %d of %d of tenant %d: %v", e.Range.Part, e.Range.Owner, e.Range.Tenant,
		e.Err)
}

// Unwrap returns the error of the Sweeper.
func (e *SweepRangeError) Unwrap() error { return e.Err }

const (
	// minGap is the minimum time between two rounds, in real time: a clock that runs an hour in a second
	// would cause thousands of rounds.
	minGap = 10 * time.Millisecond
	// recheck is the number of intervals after which a range is swept again, even if the next known expiry of
	// the range (Next) is later: items that were written since may expire earlier.
	recheck = 5
	// passes is the maximum number of passes that a round makes over the ranges that still have expired
	// items. After that the ranges are listed again, so that a long round also sweeps new ranges.
	passes = 64
)

// A Reaper removes expired items in the background, in one round per Interval. A round sweeps all ranges
// in turn, a batch of each, until nothing is due. Between batches it pauses for foreground work (see
// pace.go). A range that fails is not swept for a while; the others are. A panic of the Sweeper is not
// recovered.
type Reaper struct {
	opts    ReaperOptions
	sweeper Sweeper

	life        context.Context // ends with Close
	end         context.CancelFunc
	running     sync.WaitGroup // the loop, and calls of SweepNow and Do
	wake        chan struct{}  // capacity 1
	turn        chan struct{}  // capacity 1; its sender may call the sweeper and owns rangeStates
	rangeStates map[SweepRange]sweepRangeState

	mu          sync.Mutex // guards the fields below
	closed      bool
	cancelRound context.CancelFunc // stops the running round, or nil
	metrics     ReaperMetrics
	clocks      []Clock // clocks of ranges other than opts.Clock, as of the last list
}

// OpenReaper starts a reaper with a first round, unless it starts paused. Close must be called before
// anything that the sweeper needs is closed.
func OpenReaper(o ReaperOptions, s Sweeper) *Reaper {
	o.ensureDefaults()
	r := &Reaper{
		opts:        o,
		sweeper:     s,
		wake:        make(chan struct{}, 1),
		turn:        make(chan struct{}, 1),
		rangeStates: map[SweepRange]sweepRangeState{},
		metrics:     ReaperMetrics{Paused: o.Paused},
	}
	r.life, r.end = context.WithCancel(context.Background())
	r.running.Go(r.loop)
	return r
}

// Close stops the loop and all calls of SweepNow and Do, and waits for them. It may be called more than
// once.
func (r *Reaper) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.end()
	r.running.Wait()
}

// Wake requests a round over all ranges soon, regardless of when the ranges expect an expiry. It is for use
// after a change of policy, after a clock was set, and by callers that want a short-lived item to be purged
// without delay. Without it a range that expects no expiry is swept after a few intervals. It never blocks.
// Several calls may cause only one round.
func (r *Reaper) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Pause stops the loop until Resume. When it returns, no batch of the loop is running. SweepNow still
// works. Pause must not be called from the Sweeper.
func (r *Reaper) Pause() {
	r.mu.Lock()
	r.metrics.Paused = true
	if r.cancelRound != nil {
		r.cancelRound()
	}
	r.mu.Unlock()
	r.turn <- struct{}{}
	<-r.turn
}

// Resume restarts the loop, with a round over all ranges. It does nothing if the reaper is not paused.
func (r *Reaper) Resume() {
	r.mu.Lock()
	was := r.metrics.Paused
	r.metrics.Paused = false
	r.mu.Unlock()
	if was {
		r.Wake()
	}
}

// Metrics returns the current counters.
func (r *Reaper) Metrics() ReaperMetrics {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.metrics
}

// SweepNow purges everything that is due, without pauses, in the caller's goroutine. Its batches alternate
// with those of the background loop. If a range fails, the others are swept all the same; the errors are
// joined, each a *SweepRangeError. If ctx ends, SweepNow returns the number of items purged so far and the
// cause.
func (r *Reaper) SweepNow(ctx context.Context) (purged int, err error) {
	if !r.enter() {
		return 0, ErrReaperClosed
	}
	defer r.running.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.life, func() { cancel(ErrReaperClosed) })()

	var failed []error
	queue, err := r.list(ctx, func(sweepRangeState) bool { return true })
	for err == nil && len(queue) > 0 {
		queue, err = r.pass(ctx, queue, func(b sweepOutcome) {
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

// Do runs fn while no batch runs. It is for callers that sweep by other rules than the loop, or that must
// exclude a running batch. It returns ErrReaperClosed after Close. Close ends fn's context and waits for
// fn.
func (r *Reaper) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	if !r.enter() {
		return ErrReaperClosed
	}
	defer r.running.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.life, func() { cancel(ErrReaperClosed) })()
	if r.acquire(ctx) != nil {
		return context.Cause(ctx)
	}
	defer r.release()
	return fn(ctx)
}

// enter adds a caller to those that Close waits for. It returns false if the reaper is closed.
func (r *Reaper) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.running.Add(1)
	}
	return !r.closed
}
