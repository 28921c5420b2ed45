package store

import (
	"context"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mayflydb/mayfly/query"
)

// Queries that take long must not take the processors from all else, nor fill the memory together. Once a
// query has done so much work that it is no quick one any more (after quick), it needs a place among the
// heavy ones, of which there are few, and among those a turn: of the processors one is left for other work.
// Turns are short, so that none waits for the end of another.
const (
	quick     = 10 * time.Millisecond
	maxHeavy  = 4
	heavyTurn = 20 * time.Millisecond
)

// heavyQueries is where queries queue, first come first served. Its zero value is empty.
type heavyQueries struct {
	once          sync.Once
	places, turns *semaphore.Weighted
}

func (q *heavyQueries) open() {
	q.places, q.turns = semaphore.NewWeighted(maxHeavy), semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)-1)))
}

// heavyQuery is what one run of a query has of them. It belongs to one goroutine.
type heavyQuery struct {
	all          *heavyQueries
	elapsed      func() time.Duration
	limit        time.Duration // of elapsed
	placed, runs bool
	since        time.Duration // of the turn
}

// turn waits until the query may go on, no longer than the query may take; the run calls it now and then. The
// error is ctx's or a *query.TimeError.
func (h *heavyQuery) turn(ctx context.Context) error {
	now := h.elapsed()
	if !h.runs && now < quick || h.runs && now-h.since < heavyTurn {
		return nil
	}
	if h.all.once.Do(h.all.open); !h.placed {
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
