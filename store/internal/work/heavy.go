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

// Queries that take long must not take the processors from all else, nor fill the memory together. Once a
// query, or the condition of a patch, has done so much work that it is no quick one any more (after quick),
// it needs a place among the heavy ones, of which there are few, and among those a turn: of the processors
// one is left for other work. Turns are short, so that none waits for the end of another. From then on it
// stands back for what is short, too: see internal/priority.
//
// A script cannot be made to wait in its middle, nor a text that is matched by a regular expression. So few
// scripts run at the same time.
const (
	quick     = 10 * time.Millisecond
	maxHeavy  = 4
	heavyTurn = 20 * time.Millisecond

	minScripts = 2 // that may run at the same time, so that one does not keep another partition range waiting
)

// Heavy is where queries and scripts queue, first come first served.
type Heavy struct {
	places, turns *semaphore.Weighted // of queries
	scripts       *semaphore.Weighted
	Most          int // that run at a time
	// watched is how many pieces of work to come get a goroutine of their own, so that they can stand back. A
	// quick one pays for that, so that it is for those alone that come soon after a long one. The first long
	// query is begun anew; the first long script goes on as it is.
	watched atomic.Int64
}

// attentive is how many pieces of work are watched after a long one.
const attentive = 10_000

// Run runs fn, which may be long. w is nil where it cannot stand back.
func (w *Heavy) Run(fn func(*priority.Work)) {
	if w.watched.Load() <= 0 {
		fn(nil)
		return
	}
	w.watched.Add(-1)
	priority.Run(fn)
}

// long notes that there is work that takes long.
func (w *Heavy) long() { w.watched.Store(attentive) }

// NewHeavy returns the queue of a process with so many processors.
func NewHeavy(processors int) *Heavy {
	turns, scripts := max(1, processors-1), max(minScripts, processors-1)
	return &Heavy{
		places: semaphore.NewWeighted(maxHeavy), turns: semaphore.NewWeighted(int64(turns)),
		scripts: semaphore.NewWeighted(int64(scripts)), Most: min(turns, maxHeavy) + scripts,
	}
}

// errScripts ends a transaction whose script may not run yet: nobody waits for that while it keeps others
// from their range.
var errScripts = errors.New("too many scripts run")

// Script begins a script, if one may run now; the caller leaves when it has run. Else it is errScripts.
func (w *Heavy) Script() (leave func(), err error) {
	if !w.scripts.TryAcquire(1) {
		return nil, errScripts
	}
	return func() { w.scripts.Release(1) }, nil
}

// RunScript runs fn, a script, and lets it stand back when it is no quick one.
func (w *Heavy) RunScript(clock ttl.Clock, fn func()) {
	begun := clock.Now()
	w.Run(func(work *priority.Work) {
		if work != nil {
			defer work.LowerAfter(quick, clock)()
		}
		fn()
	})
	if clock.Now().Sub(begun) >= quick {
		w.long()
	}
}

// errUnwatched ends a query that cannot stand back in the goroutine that it runs in.
var errUnwatched = errors.New("a long query is not watched")

// WithScripts runs fn, a transaction with scripts, and again when others have ended that keep its own from
// running, for no longer than limit. It holds nothing while it waits.
func (w *Heavy) WithScripts(ctx context.Context, limit time.Duration, fn func() error) error {
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

// Query is one run of a query, or of a condition, that may take so long by the watch elapsed.
func (w *Heavy) Query(elapsed func() time.Duration, limit time.Duration) HeavyQuery {
	return HeavyQuery{all: w, elapsed: elapsed, limit: limit}
}

// HeavyQuery is one run of a query among all of them. It belongs to one goroutine.
type HeavyQuery struct {
	all          *Heavy
	elapsed      func() time.Duration
	limit        time.Duration // of elapsed
	placed, runs bool
	since        time.Duration // of the turn
	work         *priority.Work
	BegunAnew    bool // or must not be
}

// Run runs fn, which calls turn now and then; the query may go on in another fn. Where it is the first long
// one in a while, fn is given up once and begun anew: it must bear that.
func (h *HeavyQuery) Run(fn func() error) (err error) {
	once := func(w *priority.Work) {
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

// Turn waits until the query may go on, no longer than the query may take; the run calls it now and then. The
// error is ctx's or a *query.TimeError.
func (h *HeavyQuery) Turn(ctx context.Context) error {
	now := h.elapsed()
	if !h.runs && now < quick {
		return nil
	}
	if h.runs && now-h.since < heavyTurn {
		// a request that waits for this very processor need not wait for the end of the turn
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
				err = &query.TimeError{Limit: h.limit}
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

// Leave gives up the place and the turn.
func (h *HeavyQuery) Leave() {
	if h.runs {
		h.all.turns.Release(1)
	}
	if h.placed {
		h.all.places.Release(1)
	}
	h.runs, h.placed = false, false
}
