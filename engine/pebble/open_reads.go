package pebble

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine"
)

// openReadResources holds the values and iterators that the function of a View or an Update has obtained. The
// values are valid until the function returns; then iterators that it left open are closed.
type openReadResources struct {
	arena []byte // memory for copies of values; a full arena stays alive through the slices into it
	open  *iterator
	base  *pebble.Iterator // stays open when its iterator is closed: a snapshot needs it until the end
	// baseFree is true while no scan or lookup uses the iterator base, so that the next one can use it.
	baseFree bool
}

const (
	minArena = 4 << 10
	maxArena = 64 << 10 // capacity that is kept for the next function
)

// copyToArena copies a value into the arena. The copy is never nil.
func (r *openReadResources) copyToArena(v []byte) []byte {
	if r.arena == nil || len(v) > cap(r.arena)-len(r.arena) {
		r.arena = make([]byte, 0, max(minArena, min(2*cap(r.arena), maxArena), len(v)))
	}
	n := len(r.arena)
	r.arena = append(r.arena, v...)
	return r.arena[n:len(r.arena):len(r.arena)]
}

// find looks up one key and keeps its value. It returns nil if the key is absent, and never nil if it exists.
// In this store each key is its own prefix, so a prefix seek, which can use the filters, finds exactly this
// key or nothing.
func (r *openReadResources) find(it *pebble.Iterator, key []byte) ([]byte, error) {
	if len(key) == 0 {
		return nil, nil // Pebble's iterators do not support the empty key
	}
	if !it.SeekPrefixGE(key) {
		return nil, readError(it.Error())
	}
	v, err := it.ValueAndErr()
	if err != nil {
		return nil, readError(err)
	}
	return r.copyToArena(v), nil
}

// someKeys is the number of keys that are looked up between two checks of the context.
const someKeys = 64

// findAll looks up keys in the given order. Sorting them first is no faster if the data are in memory, and
// callers' keys are mostly sorted.
func (r *openReadResources) findAll(ctx context.Context, it *pebble.Iterator,
	keys [][]byte) ([][]byte, error) {
	values, bytes := make([][]byte, len(keys)), 0
	for i, key := range keys {
		if bytes >= engine.ManyBytes {
			return values[:i], nil
		}
		if i%someKeys == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		var err error
		if values[i], err = r.find(it, key); err != nil {
			return nil, err
		}
		bytes += len(values[i])
	}
	return values, nil
}

// scan returns an engine iterator over the keys in rng, backwards if reverse is set. open returns the
// Pebble iterator that it wraps. An error of open is returned later, by the iterator.
func (r *openReadResources) scan(open func(*pebble.IterOptions) (*pebble.Iterator, error), rng engine.Range,
	reverse bool) *iterator {
	it := &iterator{owner: r, reverse: reverse}
	if len(rng.Start) == 0 {
		rng.Start = nil // Pebble does not accept an empty bound in every build
	}
	if it.it, it.err = open(&pebble.IterOptions{LowerBound: rng.Start, UpperBound: rng.End}); it.err != nil {
		it.it, it.err = nil, readError(it.err)
		return it
	}
	if it.next = r.open; it.next != nil {
		it.next.prev = it
	}
	r.open = it
	return it
}

// errLeak is returned by View or Update in strict mode if an iterator was left open.
var errLeak = errors.New("engine/pebble: an iterator was not closed")

// finish closes the iterators that were left open. If there were any, it returns errLeak in strict mode,
// and otherwise logs the mistake.
func (r *openReadResources) finish(e *Engine) error {
	if r.open == nil {
		return nil
	}
	for r.open != nil {
		_ = r.open.Close() // the function has not called Close, so nobody receives the error
	}
	if e.strict {
		return errLeak
	}
	e.log.Error(errLeak.Error())
	return nil
}

func (r *openReadResources) recycle() {
	if r.arena = r.arena[:0]; cap(r.arena) > maxArena {
		r.arena = nil
	}
}

// iterator is an engine.Iterator: it wraps a Pebble iterator and adds what that does not have, a fixed
// direction and a position before the first key.
type iterator struct {
	it         *pebble.Iterator // nil once closed
	err        error
	reverse    bool
	placed     bool
	owner      *openReadResources
	prev, next *iterator // in the owner's list of open iterators
}

// Next moves to the next key and reports whether there is one.
func (i *iterator) Next() bool {
	if i.it == nil || i.err != nil {
		return false
	}
	placed := i.placed
	i.placed = true
	switch {
	case placed && i.reverse:
		return i.it.Prev()
	case placed:
		return i.it.Next()
	case i.reverse:
		return i.it.Last()
	default:
		return i.it.First()
	}
}

// SeekGE moves to the first key at or after key and reports whether there is one.
func (i *iterator) SeekGE(key []byte) bool {
	if i.reverse && i.err == nil {
		i.err = fmt.Errorf("engine/pebble: SeekGE on an iterator that runs backwards")
	}
	if i.it == nil || i.err != nil {
		return false
	}
	i.placed = true
	return i.it.SeekGE(key)
}

// Skip moves past up to n keys and returns their number: see engine.KeySkipper.
func (i *iterator) Skip(n int) (skipped int) {
	if n <= 0 || !i.Next() {
		return 0
	}
	skipped = 1
	if i.reverse {
		for skipped < n && i.it.Prev() {
			skipped++
		}
		return skipped
	}
	for skipped < n && i.it.Next() {
		skipped++
	}
	return skipped
}

// Key returns the current key. It returns nil if the iterator is not at a key.
func (i *iterator) Key() []byte {
	if i.it == nil || !i.it.Valid() {
		return nil
	}
	return i.it.Key()
}

// Value returns the value of the current key. It returns nil if the iterator is not at a key or if the
// value cannot be read; in the latter case Close returns the error.
func (i *iterator) Value() []byte {
	if i.it == nil || !i.it.Valid() {
		return nil
	}
	v, err := i.it.ValueAndErr()
	if err != nil && i.err == nil {
		i.err = readError(err)
	}
	return v
}

// Close releases the iterator and returns its first error.
func (i *iterator) Close() error {
	if i.it == nil {
		return i.err
	}
	err := readError(i.it.Error())
	if i.it == i.owner.base {
		i.owner.baseFree = err == nil
	} else {
		err = readError(i.it.Close())
	}
	i.it = nil
	if i.prev != nil {
		i.prev.next = i.next
	} else {
		i.owner.open = i.next
	}
	if i.next != nil {
		i.next.prev = i.prev
	}
	if i.err == nil {
		i.err = err
	}
	return i.err
}

// readError translates Pebble's read errors into the engine's.
func readError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pebble.ErrNotFound):
		return engine.ErrNotFound
	case pebble.IsCorruptionError(err):
		return fmt.Errorf("%w: %w", engine.ErrCorrupt, err)
	default:
		return fmt.Errorf("%w: %w", engine.ErrRead, err)
	}
}
