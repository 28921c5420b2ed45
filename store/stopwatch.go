package store

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/query"
)

// watchEvery is how many steps of a walk are made between two looks at the context and at the time.
const watchEvery = 256

// stopwatch bounds what walks over data: it ends with the context of who waits for it, and with the time that
// it has. All readers of a view tell it of each step; there is no other way to a view than viewUnder.
type stopwatch struct {
	ctx     context.Context
	elapsed func() time.Duration // real time since the walk began; nil: the context alone ends it
	limit   time.Duration        // of elapsed, beyond which the walk fails; 0: none
	budget  time.Duration        // of elapsed, beyond which a walk that can be resumed ends; 0: none
	n       int64                // steps
	late    bool                 // the budget is used up
	err     error                // what has ended the walk
}

// lookBudget is how long a look over a container may take, in real time.
const lookBudget = time.Second

// step counts a step. It is false where the walk has to fail with err.
func (w *stopwatch) step() bool {
	if w.n++; w.n%watchEvery == 0 && w.err == nil {
		w.look()
	}
	return w.err == nil
}

func (w *stopwatch) look() {
	if w.err = w.ctx.Err(); w.err != nil || w.elapsed == nil {
		return
	}
	took := w.elapsed()
	w.late = w.late || took >= w.budget && w.budget > 0
	if took > w.limit && w.limit > 0 {
		w.err = &query.TimeError{Limit: w.limit}
	}
}

// more counts a step of a walk that may end early, and tells whether there is time for it.
func (w *stopwatch) more() bool { return w.step() && !w.late }

// viewUnder runs fn over one snapshot of an engine. Its walks end with the stopwatch.
func viewUnder(w *stopwatch, eng engine.Engine, fn func(engine.Reader) error) error {
	return eng.View(w.ctx, func(r engine.Reader) error { return fn(watched{r, w}) })
}

// watched is a reader whose walks end with a stopwatch. The error is that of Close, as that of the disk is.
type watched struct {
	engine.Reader
	watch *stopwatch
}

// Scan implements engine.Reader.
func (r watched) Scan(rg engine.Range, reverse bool) engine.Iterator {
	return &watchedIterator{r.Reader.Scan(rg, reverse), r.watch}
}

type watchedIterator struct {
	engine.Iterator
	watch *stopwatch
}

// Next implements engine.Iterator.
func (it *watchedIterator) Next() bool { return it.watch.step() && it.Iterator.Next() }

// SeekGE implements engine.Iterator.
func (it *watchedIterator) SeekGE(key []byte) bool {
	return it.watch.step() && it.Iterator.SeekGE(key)
}

// Expect implements engine.Expecter.
func (it *watchedIterator) Expect(keys int) { engine.Expect(it.Iterator, keys) }

// Close implements engine.Iterator.
func (it *watchedIterator) Close() error {
	err := it.Iterator.Close()
	if err == nil {
		err = it.watch.err
	}
	return err
}
