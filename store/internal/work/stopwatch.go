package work

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/query"
)

// watchEvery is how many steps of a walk are made between two looks at the context and at the time.
const watchEvery = 256

// Stopwatch bounds what walks over data: it ends with the context of who waits for it, and with the time that
// it has. All readers of a view tell it of each step; there is no other way to a view than viewUnder.
type Stopwatch struct {
	Ctx     context.Context
	Elapsed func() time.Duration // real time since the walk began; nil: the context alone ends it
	Limit   time.Duration        // of elapsed, beyond which the walk fails; 0: none
	Budget  time.Duration        // of elapsed, beyond which a walk that can be resumed ends; 0: none
	n       int64                // steps
	Late    bool                 // the budget is used up
	err     error                // what has ended the walk
}

// LookBudget is how long a look over a container may take, in real time.
const LookBudget = time.Second

// step counts a step. It is false where the walk has to fail with err.
func (w *Stopwatch) step() bool {
	if w.n++; w.n%watchEvery == 0 && w.err == nil {
		w.Check()
	}
	return w.err == nil
}

// Check looks at the context and at the time.
func (w *Stopwatch) Check() {
	if w.err = w.Ctx.Err(); w.err != nil || w.Elapsed == nil {
		return
	}
	took := w.Elapsed()
	w.Late = w.Late || took >= w.Budget && w.Budget > 0
	if took > w.Limit && w.Limit > 0 {
		w.err = &query.TimeError{Limit: w.Limit}
	}
}

// More counts a step of a walk that may end early, and reports whether there is time for it.
func (w *Stopwatch) More() bool { return w.step() && !w.Late }

// ViewUnder runs fn over one snapshot of an engine. Its walks end with the stopwatch.
func ViewUnder(w *Stopwatch, eng engine.Engine, fn func(engine.Reader) error) error {
	return eng.View(w.Ctx, func(r engine.Reader) error { return fn(Watched{r, w}) })
}

// Watched is a reader whose walks end with a stopwatch. The error is that of Close, as that of the disk is.
type Watched struct {
	engine.Reader
	watch *Stopwatch
}

// Scan implements engine.Reader.
func (r Watched) Scan(rg engine.Range, reverse bool) engine.Iterator {
	return &watchedIterator{r.Reader.Scan(rg, reverse), r.watch}
}

type watchedIterator struct {
	engine.Iterator
	watch *Stopwatch
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
