package store

import (
	"context"
	"errors"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/fault"
)

// Queries that take long must not take the processors from all else, nor fill the memory together. Once a
// query, or the condition of a patch, has done so much work that it is no quick one any more (after quick),
// it needs a place among the heavy ones, of which there are few, and among those a turn: of the processors
// one is left for other work. Turns are short, so that none waits for the end of another.
//
// A script cannot be made to wait in its middle, nor a text that is matched by a regular expression. So few
// scripts run at the same time.
const (
	quick     = 10 * time.Millisecond
	maxHeavy  = 4
	heavyTurn = 20 * time.Millisecond

	minScripts = 2 // that may run at the same time, so that one does not keep another partition range waiting
)

// heavyWork is where queries and scripts queue, first come first served.
type heavyWork struct {
	places, turns *semaphore.Weighted // of queries
	scripts       *semaphore.Weighted
}

func newHeavyWork(processors int) *heavyWork {
	return &heavyWork{
		places: semaphore.NewWeighted(maxHeavy), turns: semaphore.NewWeighted(int64(max(1, processors-1))),
		scripts: semaphore.NewWeighted(int64(max(minScripts, processors-1))),
	}
}

// errScripts ends a transaction whose script may not run yet: nobody waits for that while it keeps others
// from their range.
var errScripts = errors.New("too many scripts run")

// script begins a script, if one may run now; the caller leaves when it has run. Else it is errScripts.
func (w *heavyWork) script() (leave func(), err error) {
	if !w.scripts.TryAcquire(1) {
		return nil, errScripts
	}
	return func() { w.scripts.Release(1) }, nil
}

// withScripts runs fn, a transaction with scripts, and again when others have ended that keep its own from
// running, for no longer than limit. It holds nothing while it waits.
func (w *heavyWork) withScripts(ctx context.Context, limit time.Duration, fn func() (Receipt, error)) (Receipt, error) {
	r, err := fn()
	if !errors.Is(err, errScripts) {
		return r, err
	}
	left, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for errors.Is(err, errScripts) {
		if late := w.scripts.Acquire(left, 1); late != nil {
			if ctx.Err() != nil {
				return r, wrap(ctx.Err())
			}
			return r, &fault.Error{Code: fault.CodeCanceled, Err: late,
				Message: "The request ran out of time: other scripts kept it waiting."}
		}
		w.scripts.Release(1)
		r, err = fn()
	}
	return r, err
}

// query is one run of a query, or of a condition, that may take so long by the watch elapsed.
func (w *heavyWork) query(elapsed func() time.Duration, limit time.Duration) heavyQuery {
	return heavyQuery{all: w, elapsed: elapsed, limit: limit}
}

// heavyQuery is what one run of a query has of them. It belongs to one goroutine.
type heavyQuery struct {
	all          *heavyWork
	elapsed      func() time.Duration
	limit        time.Duration // of elapsed
	placed, runs bool
	since        time.Duration // of the turn
}

// turn waits until the query may go on, no longer than the query may take; the run calls it now and then. The
// error is ctx's or a *query.TimeError.
func (h *heavyQuery) turn(ctx context.Context) error {
	now := h.elapsed()
	if !h.runs && now < quick {
		return nil
	}
	if h.runs && now-h.since < heavyTurn {
		runtime.Gosched() // a request that waits for this very processor need not wait for the end of the turn
		return nil
	}
	if !h.placed {
		left, cancel := context.WithTimeout(ctx, h.limit-now)
		defer cancel()
		if err := h.all.places.Acquire(left, 1); err != nil {
			if ctx.Err() == nil {
				err = &query.TimeError{Limit: h.limit}
			}
			return err
		}
		h.placed = true
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

// leave gives up the place and the turn.
func (h *heavyQuery) leave() {
	if h.runs {
		h.all.turns.Release(1)
	}
	if h.placed {
		h.all.places.Release(1)
	}
	h.runs, h.placed = false, false
}
