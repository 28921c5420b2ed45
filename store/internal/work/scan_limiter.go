package work

import (
	"context"
	"runtime"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/priority"
	"github.com/mayflydb/mayfly/query"
)

// watchEvery is the number of steps of a scan between two checks of the context and the time.
const watchEvery = 256

// yieldBytes is the number of bytes of values after which a scan lets other goroutines run. Go interrupts a
// goroutine only after 10 ms, so a short request would otherwise wait 10 ms for each scan ahead of it.
const yieldBytes = 256 << 10

// ScanTimeLimiter limits scans over data: a scan ends with the context of its caller and at its time limit.
// It counts the steps of all iterators of a snapshot that ViewUnder has opened.
type ScanTimeLimiter struct {
	Ctx     context.Context
	Elapsed func() time.Duration  // real time since the scan began; nil: only the context ends it
	Limit   time.Duration         // elapsed time after which the scan fails; 0: none
	Budget  time.Duration         // elapsed time after which a resumable scan ends; 0: none
	n       int64                 // number of steps so far
	Turns   *priority.TurnLimiter // of scans that read large values or many; nil: they only yield
	turn    *priority.TurnPermit
	read    int   // bytes of values since the last turn
	Late    bool  // Budget is used up
	err     error // why the scan has ended
}

// LookBudget is the real time after which an inspection of a container ends with what it has found.
const LookBudget = time.Second

// step counts one step (a key or an entry) of the scan, and checks the limits from time to time. It returns
// false if the scan must end with the error in w.err, because its context has ended or its time limit has
// passed.
func (w *ScanTimeLimiter) step() bool { return w.steps(1) }

// steps counts n steps (keys or entries) of the scan and checks the limits from time to time. It returns
// false if the scan must end because its context has ended or its time is over: see Check.
func (w *ScanTimeLimiter) steps(n int) bool {
	before := w.n
	if w.n += int64(n); w.n/watchEvery != before/watchEvery && w.err == nil {
		w.Check()
	}
	return w.err == nil
}

// Check compares the elapsed time with the two limits. After Limit, or when the context has ended, it sets
// w.err, so that the scan fails. After Budget it sets w.Late, so that a scan that can continue on another
// page ends.
func (w *ScanTimeLimiter) Check() {
	if w.err = w.Ctx.Err(); w.err != nil || w.Elapsed == nil {
		return
	}
	took := w.Elapsed()
	w.Late = w.Late || took >= w.Budget && w.Budget > 0
	if took > w.Limit && w.Limit > 0 {
		w.err = &query.TimeLimitError{Limit: w.Limit}
	}
}

// count counts a value that has been read. After yieldBytes it lets short requests run, and waits for the
// next turn of the scan.
func (w *ScanTimeLimiter) count(value []byte) {
	if w.read += len(value); w.read < yieldBytes {
		return
	}
	w.read = 0
	if w.Turns == nil {
		runtime.Gosched()
		return
	}
	w.Leave()
	if w.turn = w.Turns.Take(w.Ctx); w.turn == nil && w.err == nil {
		w.Check()
	}
}

// Leave gives back the permission to use a processor that the scan may hold (its priority.TurnPermit). It is
// called after the scan, and before the scan waits for something.
func (w *ScanTimeLimiter) Leave() {
	w.turn.Leave()
	w.turn = nil
}

// More counts a step of a scan that may end early. It reports whether there is time for the step.
func (w *ScanTimeLimiter) More() bool { return w.step() && !w.Late }

// ViewUnder runs fn over one snapshot of an engine. The scans of fn end when w says that their time is
// over.
func ViewUnder(w *ScanTimeLimiter, eng engine.Engine, fn func(engine.Reader) error) error {
	return eng.View(w.Ctx, func(r engine.Reader) error { return fn(ScanTimeLimitedReader{r, w}) })
}

// ScanTimeLimitedReader is a reader whose scans end when the context or the time limit of a ScanTimeLimiter
// ends. Close of an iterator that has ended in this way returns the reason.
type ScanTimeLimitedReader struct {
	engine.Reader
	watch *ScanTimeLimiter
}

// Far returns the methods by which r, or the reader inside r if r is a ScanTimeLimitedReader, prefetches
// keys. It returns nil if the engine is local, since prefetching is only for remote engines.
func Far(r engine.Reader) engine.Prefetcher {
	if w, ok := r.(ScanTimeLimitedReader); ok {
		r = w.Reader
	}
	far, _ := r.(engine.Prefetcher)
	return far
}

// Scan returns an iterator over the keys of rg whose steps the ScanTimeLimiter counts and limits.
func (r ScanTimeLimitedReader) Scan(rg engine.Range, reverse bool) engine.Iterator {
	return &timeLimitedIterator{r.Reader.Scan(rg, reverse), r.watch}
}

// Cached returns a value from the row cache of the engine, and counts its bytes: see engine.RowCacher.
func (r ScanTimeLimitedReader) Cached(key []byte) (value []byte, ok bool) {
	c, ok := r.Reader.(engine.RowCacher)
	if !ok || !r.watch.step() {
		return nil, false
	}
	if value, ok = c.Cached(key); ok {
		r.watch.count(value)
	}
	return value, ok
}

// Cache offers a value to the row cache of the engine: see engine.RowCacher.
func (r ScanTimeLimitedReader) Cache(key, value []byte) {
	if c, ok := r.Reader.(engine.RowCacher); ok {
		c.Cache(key, value)
	}
}

// GetMany returns the values of keys, and counts their bytes: see engine.Reader.
func (r ScanTimeLimitedReader) GetMany(keys [][]byte) ([][]byte, error) {
	values, err := r.Reader.GetMany(keys)
	for _, v := range values {
		r.watch.count(v)
	}
	return values, err
}

// timeLimitedIterator is an iterator whose steps a ScanTimeLimiter counts and limits.
type timeLimitedIterator struct {
	engine.Iterator
	watch *ScanTimeLimiter
}

// Next moves to the next key. It returns false if there is none, or if the ScanTimeLimiter has ended the
// scan.
func (it *timeLimitedIterator) Next() bool { return it.watch.step() && it.Iterator.Next() }

// SeekGE moves to the first key at or after key. It returns false if there is none, or if the time limit or
// the context has ended the scan.
func (it *timeLimitedIterator) SeekGE(key []byte) bool {
	return it.watch.step() && it.Iterator.SeekGE(key)
}

// Value returns the value of the current key, and counts its bytes.
func (it *timeLimitedIterator) Value() []byte {
	v := it.Iterator.Value()
	it.watch.count(v)
	return v
}

// Expect sets the number of keys that will probably be read: see engine.ReadAheadIterator.
func (it *timeLimitedIterator) Expect(keys int) { engine.Expect(it.Iterator, keys) }

// remoteSkip is the number of keys that an iterator of a remote engine skips between two checks of the
// context and the time. Each skip is a round trip.
const remoteSkip = 1 << 16

// Skip moves past up to most keys and returns their number: see engine.KeySkipper.
func (it *timeLimitedIterator) Skip(most int) (n int) {
	between := watchEvery
	if _, remote := it.Iterator.(engine.ReadAheadIterator); remote {
		between = remoteSkip
	}
	for n < most {
		part := min(between, most-n)
		if !it.watch.steps(part) {
			break
		}
		skipped := engine.Skip(it.Iterator, part)
		if n += skipped; skipped < part {
			break
		}
	}
	return n
}

// Close releases the iterator and returns its first error, or that of the ScanTimeLimiter, for example when
// the time limit has passed.
func (it *timeLimitedIterator) Close() error {
	err := it.Iterator.Close()
	if err == nil {
		err = it.watch.err
	}
	return err
}
