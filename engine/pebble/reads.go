package pebble

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine"
)

// reads is what the function of a View or an Update has read: values live until the function returns, and
// iterators that it forgot are closed then.
type reads struct {
	arena []byte // where values are copied to; an outgrown one lives on in its slices
	open  *iterator
	base  *pebble.Iterator // is left open when its iterator is closed: a snapshot's, until the end
}

const (
	minArena = 4 << 10
	maxArena = 64 << 10 // what is kept for the next function
)

// keep copies a value; the copy is not nil.
func (r *reads) keep(v []byte) []byte {
	if r.arena == nil || len(v) > cap(r.arena)-len(r.arena) {
		r.arena = make([]byte, 0, max(minArena, min(2*cap(r.arena), maxArena), len(v)))
	}
	n := len(r.arena)
	r.arena = append(r.arena, v...)
	return r.arena[n:len(r.arena):len(r.arena)]
}

// find looks one key up and keeps its value; nil where it is absent, and never nil where it is there. In this
// store a key is its own prefix, so that a seek to the prefix, which may ask the filters, finds this key or
// none.
func (r *reads) find(it *pebble.Iterator, key []byte) ([]byte, error) {
	if len(key) == 0 {
		return nil, nil // Pebble's iterators do not like it
	}
	if !it.SeekPrefixGE(key) {
		return nil, readError(it.Error())
	}
	v, err := it.ValueAndErr()
	if err != nil {
		return nil, readError(err)
	}
	return r.keep(v), nil
}

// someKeys is how many keys are looked up between two looks at the context.
const someKeys = 64

// findAll looks keys up in their order: to sort them first is no faster where they lie in memory, and the
// callers' mostly rise.
func (r *reads) findAll(ctx context.Context, it *pebble.Iterator, keys [][]byte) ([][]byte, error) {
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

// scan makes an iterator of what open opens.
func (r *reads) scan(open func(*pebble.IterOptions) (*pebble.Iterator, error), rng engine.Range,
	reverse bool) *iterator {
	it := &iterator{owner: r, reverse: reverse}
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

// errLeak is what a View or an Update returns in strict mode.
var errLeak = errors.New("engine/pebble: an iterator was not closed")

// finish closes what was left open.
func (r *reads) finish(e *Engine) error {
	if r.open == nil {
		return nil
	}
	for r.open != nil {
		_ = r.open.Close() // the function has not asked for its error
	}
	if e.strict {
		return errLeak
	}
	e.log.Error(errLeak.Error())
	return nil
}

func (r *reads) recycle() {
	if r.arena = r.arena[:0]; cap(r.arena) > maxArena {
		r.arena = nil
	}
}

// iterator wraps Pebble's, which knows no direction and must be placed before its first step.
type iterator struct {
	it         *pebble.Iterator // nil once closed
	err        error
	reverse    bool
	placed     bool
	owner      *reads
	prev, next *iterator // of the owner's open ones
}

// Next implements engine.Iterator.
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

// SeekGE implements engine.Iterator.
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

// Key implements engine.Iterator; it is nil where the iterator stands on no key.
func (i *iterator) Key() []byte {
	if i.it == nil || !i.it.Valid() {
		return nil
	}
	return i.it.Key()
}

// Value implements engine.Iterator; it is nil where the iterator stands on no key, or cannot read the value:
// then Close reports why.
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

// Close implements engine.Iterator.
func (i *iterator) Close() error {
	if i.it == nil {
		return i.err
	}
	err := readError(i.it.Error())
	if i.it != i.owner.base {
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

// readError turns Pebble's errors of reading into the engine's.
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
