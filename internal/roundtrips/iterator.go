package roundtrips

import (
	"bytes"
	"slices"

	"github.com/mayflydb/mayfly/engine"
)

// keyValue is a key and its value, as one row of a batch that an iterator has read.
type keyValue struct{ key, value []byte }

// countingIterator is an engine.Iterator that reads its rows in batches, as over a network, and counts each
// batch as a round trip.
type countingIterator struct {
	e      *CountingEngine
	r      *countingReader
	it     engine.Iterator
	batch  []keyValue // the rows of the last batch
	at     int        // position of the current row, from 1; 0: before the first
	ended  bool       // nothing follows the batch
	paging engine.ScanPageSizer
	closed bool
}

// Expect sets the number of keys that will probably be read: see engine.ReadAheadIterator.
func (i *countingIterator) Expect(keys int) { i.paging.Expect(keys) }

// Prefetch reads keys in one round trip, ahead of their use: see engine.Prefetcher.
func (i *countingIterator) Prefetch(keys [][]byte) { i.r.Prefetch(keys) }

// Skip moves past at most the given number of keys (most) and returns how many it has passed: see
// engine.KeySkipper. It takes one round trip if it moves beyond the batch that has been read.
func (i *countingIterator) Skip(most int) (n int) {
	for ; n < most && i.at < len(i.batch); n++ {
		i.at++
	}
	if n == most || i.closed || i.ended {
		return n
	}
	i.e.count(Scan)
	for n < most && i.it.Next() {
		n++
	}
	i.batch, i.at, i.ended = i.batch[:0], 0, n < most
	return n
}

// fetch reads the next batch, beginning with the row at which the engine's iterator stands, and counts it as
// a round trip of kind k. If stands is false, the engine's iterator is at no row and the batch is empty.
func (i *countingIterator) fetch(k EngineCallKind, stands bool) bool {
	i.e.count(k)
	i.batch, i.at, i.ended = i.batch[:0], 0, false
	size := i.paging.Next()
	for bytes := 0; ; stands = i.it.Next() {
		if !stands {
			i.paging.Read(len(i.batch), bytes)
			break
		}
		i.add(i.it.Key(), i.it.Value())
		bytes += len(i.it.Key()) + len(i.it.Value())
		if len(i.batch) == size {
			i.paging.Read(size, bytes)
			break
		}
	}
	i.ended = !stands
	return i.step()
}

func (i *countingIterator) add(key, value []byte) {
	i.batch = append(i.batch, keyValue{bytes.Clone(key), bytes.Clone(value)})
}

func (i *countingIterator) step() bool {
	i.at = min(i.at+1, len(i.batch)+1)
	return i.at <= len(i.batch)
}

// Next moves to the next key and reports whether there is one.
func (i *countingIterator) Next() bool {
	if i.closed || i.ended && i.at >= len(i.batch) {
		i.at = len(i.batch) + 1
		return false
	}
	if i.at < len(i.batch) {
		return i.step()
	}
	return i.fetch(Scan, i.it.Next())
}

// SeekGE moves to the first key at or after key and reports whether there is one.
func (i *countingIterator) SeekGE(key []byte) bool {
	if i.closed {
		return false
	}
	if i.prefetched(key) {
		return i.step()
	}
	found := i.it.SeekGE(key)
	if found && i.r.known[string(key)] && bytes.Equal(i.it.Key(), key) { // a key that has been prefetched
		i.batch = i.batch[:0]
		i.add(key, i.it.Value())
		i.at, i.ended = 0, false
		i.paging.Sought()
		return i.step()
	}
	i.paging.Sought()
	return i.fetch(Seek, found)
}

// prefetched reports whether the rows that were read ahead (the batch) show which row is the first one at or
// after key, or that there is none. If so, it moves the iterator to just before that row.
func (i *countingIterator) prefetched(key []byte) bool {
	if len(i.batch) == 0 || bytes.Compare(i.batch[0].key, key) > 0 {
		return false
	}
	n := slices.IndexFunc(i.batch, func(r keyValue) bool { return bytes.Compare(r.key, key) >= 0 })
	if n < 0 {
		n = len(i.batch)
	}
	if n == len(i.batch) && !i.ended {
		return false
	}
	i.at = n
	return true
}

func (i *countingIterator) valid() bool { return !i.closed && i.at > 0 && i.at <= len(i.batch) }

// Key returns the current key.
func (i *countingIterator) Key() []byte {
	if !i.valid() {
		return nil
	}
	return i.batch[i.at-1].key
}

// Value returns the value of the current key.
func (i *countingIterator) Value() []byte {
	if !i.valid() {
		return nil
	}
	return i.batch[i.at-1].value
}

// Close releases the iterator and returns its first error.
func (i *countingIterator) Close() error {
	i.closed = true
	return i.it.Close()
}
