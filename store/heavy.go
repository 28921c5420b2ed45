package store

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mayflydb/mayfly/query"
)

// Queries that take long must not take the processors from all else, nor fill the memory together. Once a
// query, or the condition of a patch, has done so much work that it is no quick one any more (after quick), it
// needs a place among the heavy ones, of which there are few, and among those a turn: of the processors one is
// left for other work. Turns are short, so that none waits for the end of another.
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

// script waits until a script may run, no longer than limit. The caller leaves when it has run.
func (w *heavyWork) script(ctx context.Context, limit time.Duration) (leave func(), err error) {
	leave = func() { w.scripts.Release(1) }
	if w.scripts.TryAcquire(1) {
		return leave, nil
	}
	left, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := w.scripts.Acquire(left, 1); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &Error{Code: CodeCanceled, Err: err,
			Message: "The request ran out of time: other scripts kept it waiting."}
	}
	return leave, nil
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
