package work

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mayflydb/mayfly/internal/priority"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/ttl"
)

// Long queries must neither occupy all processors nor fill the memory together. A query, or the condition
// of a patch, that has run for longer than quick becomes a heavy query. Few heavy queries exist at a time;
// others wait for a place. The heavy queries take turns to run, fewer at a time than there are processors,
// so that one processor is left for other work. Turns are short, so that no query waits for the end of
// another. A heavy query also runs at a lower priority than short work: see internal/priority.
//
// A script cannot be suspended while it runs, nor can the match of a regular expression. Therefore few
// scripts run at the same time.
const (
	quick     = 10 * time.Millisecond
	maxHeavy  = 4
	heavyTurn = 20 * time.Millisecond

	minScripts = 2 // allowed even on one processor, so that a script does not block other partition ranges
)

// HeavyWorkQueue is the queue of long queries, scripts and computations on large inputs, first come first
// served.
type HeavyWorkQueue struct {
	places, turns *semaphore.Weighted // of queries
	scripts       *semaphore.Weighted
	inputs        [2]*semaphore.Weighted // of computations on medium and large inputs: see Large
	Most          int                    // maximum number that run at a time
	// watched is how many of the next queries and scripts are run in a goroutine of their own, whose
	// priority can be lowered. That costs short ones some time, so it is done only for a while after a
	// long one. The first long query is restarted in such a goroutine; the first long script continues
	// where it is.
	watched atomic.Int64
}

// watchedAfterLong is the number of queries and scripts that, after a long one, run in goroutines whose
// priority can be lowered while they run. Otherwise they run in the goroutine of the caller, which is
// cheaper.
const watchedAfterLong = 10_000

// Run runs fn, which may take long. fn receives the handle by which its priority can be lowered, or nil if it
// cannot be lowered.
func (w *HeavyWorkQueue) Run(fn func(*priority.LongOperation)) {
	if w.watched.Load() <= 0 {
		fn(nil)
		return
	}
	w.watched.Add(-1)
	priority.Run(fn)
}

// long records that a long query or script has run: the next watchedAfterLong queries and scripts run in
// goroutines whose priority can be lowered.
func (w *HeavyWorkQueue) long() { w.watched.Store(watchedAfterLong) }

// NewHeavy returns a queue for a process that may use the given number of processors.
func NewHeavy(processors int) *HeavyWorkQueue {
	turns, scripts := max(1, processors-1), max(minScripts, processors-1)
	return &HeavyWorkQueue{
		places: semaphore.NewWeighted(maxHeavy), turns: semaphore.NewWeighted(int64(turns)),
		scripts: semaphore.NewWeighted(int64(scripts)), inputs: newInputs(processors),
		Most: min(turns, maxHeavy) + scripts + turns,
	}
}

// errScripts ends a transaction whose script may not run yet, because too many other scripts run. A
// transaction must not wait for them, since it blocks the other writers of its range.
var errScripts = errors.New("too many scripts run")

// Script takes one of the places for running scripts. It returns errScripts if all are taken. The caller
// runs the script and then calls leave, which frees the place.
func (w *HeavyWorkQueue) Script() (leave func(), err error) {
	if !w.scripts.TryAcquire(1) {
		return nil, errScripts
	}
	return func() { w.scripts.Release(1) }, nil
}

// RunScript runs fn, a script, and lowers its priority once it has run for longer than quick.
func (w *HeavyWorkQueue) RunScript(clock ttl.Clock, fn func()) {
	begun := clock.Now()
	w.Run(func(work *priority.LongOperation) {
		if work != nil {
			defer work.LowerAfter(quick, clock)()
		}
		fn()
	})
	if clock.Now().Sub(begun) >= quick {
		w.long()
	}
}

// errUnwatched ends a long query whose goroutine has a priority that cannot be lowered. The query is then
// restarted in a goroutine that can run at a lower priority.
var errUnwatched = errors.New("a long query is not watched")

// WithScripts runs fn, a transaction with scripts. If too many scripts run, it waits until one has ended
// and runs fn again, for no longer than limit. It holds no locks while it waits.
func (w *HeavyWorkQueue) WithScripts(ctx context.Context, limit time.Duration, fn func() error) error {
	err := fn()
	if !errors.Is(err, errScripts) {
		return err
	}
	left, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for errors.Is(err, errScripts) {
		if late := w.scripts.Acquire(left, 1); late != nil {
			if ctx.Err() != nil {
				return classify.ToFault(ctx.Err())
			}
			return &fault.Error{Code: fault.CodeCanceled, Err: late,
				Message: "The request ran out of time: other scripts kept it waiting."}
		}
		w.scripts.Release(1)
		err = fn()
	}
	return err
}

// Query returns a QueuedQueryRun for one run of a query or of a patch's condition. limit is its maximum time,
// measured by elapsed.
func (w *HeavyWorkQueue) Query(elapsed func() time.Duration, limit time.Duration) QueuedQueryRun {
	return QueuedQueryRun{all: w, elapsed: elapsed, limit: limit}
}

// QueuedQueryRun is one run of a query that is subject to a HeavyWorkQueue, which limits how many long
// queries run at a time. It must be used by one goroutine only.
type QueuedQueryRun struct {
	all          *HeavyWorkQueue
	elapsed      func() time.Duration
	limit        time.Duration // maximum of elapsed
	placed, runs bool
	since        time.Duration // start of the turn, by elapsed
	work         *priority.LongOperation
	BegunAnew    bool // the query must not be restarted, for instance because it has been restarted already
}

// Run runs fn, one part of a long query, which calls Turn repeatedly; a later call of Run may continue the
// query. If the query is the first long one in a while, fn is ended once and run again, in a goroutine whose
// priority can be lowered. So fn must be restartable.
func (h *QueuedQueryRun) Run(fn func() error) (err error) {
	once := func(w *priority.LongOperation) {
		if h.work = w; h.placed && w != nil {
			w.Lower()
		}
		err = fn()
	}
	h.all.Run(once)
	if errors.Is(err, errUnwatched) {
		h.all.Run(once)
	}
	return err
}

// Turn waits until the query may continue, at most until the query's time limit. The run calls it
// repeatedly. It returns the error of ctx or a *query.TimeLimitError.
func (h *QueuedQueryRun) Turn(ctx context.Context) error {
	now := h.elapsed()
	if !h.runs && now < quick || h.runs && now-h.since < heavyTurn {
		// Let requests that wait for this processor run before the end of the turn.
		runtime.Gosched()
		return nil
	}
	if !h.placed {
		if h.all.long(); h.work == nil && !h.BegunAnew {
			h.BegunAnew = true
			return errUnwatched
		}
		left, cancel := context.WithTimeout(ctx, h.limit-now)
		defer cancel()
		if err := h.all.places.Acquire(left, 1); err != nil {
			if ctx.Err() == nil {
				err = &query.TimeLimitError{Limit: h.limit}
			}
			return err
		}
		if h.placed = true; h.work != nil {
			h.work.Lower()
		}
	}
	if h.runs {
		h.all.turns.Release(1)
		h.runs = false
	}
	if err := h.all.turns.Acquire(ctx, 1); err != nil {
		return err
	}
	h.runs, h.since = true, h.elapsed()
	return nil
}

// Leave gives back what the query holds in the queue: its place among the few heavy queries, and its turn to
// run.
func (h *QueuedQueryRun) Leave() {
	if h.runs {
		h.all.turns.Release(1)
	}
	if h.placed {
		h.all.places.Release(1)
	}
	h.runs, h.placed = false, false
}
