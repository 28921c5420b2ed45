package trips

import (
	"bytes"

	"github.com/mayflydb/mayfly/engine"
)

// usual is how many rows a Scan brings at a time that has not been told how many will be read.
const usual = 32

// row is one key of a batch.
type row struct{ key, value []byte }

// iterator has its rows come in batches, as they would over a network.
type iterator struct {
	e      *Engine
	it     engine.Iterator
	batch  []row // those that have come
	at     int   // the present one, counted from 1; 0: before the first
	ended  bool  // nothing follows the batch
	closed bool
}

// size is how many rows come at a time.
func (i *iterator) size() int { return usual }

// fetch brings a batch that begins with where the engine's iterator stands, if it stands.
func (i *iterator) fetch(k Kind, stands bool) bool {
	i.e.count(k)
	i.batch, i.at, i.ended = i.batch[:0], 0, false
	for ; stands; stands = i.it.Next() {
		if i.batch = append(i.batch, row{bytes.Clone(i.it.Key()), bytes.Clone(i.it.Value())}); len(i.batch) == i.size() {
			break
		}
	}
	i.ended = !stands
	return i.step()
}

func (i *iterator) step() bool {
	i.at = min(i.at+1, len(i.batch)+1)
	return i.at <= len(i.batch)
}

// Next implements engine.Iterator.
func (i *iterator) Next() bool {
	if i.closed || i.ended && i.at >= len(i.batch) {
		i.at = len(i.batch) + 1
		return false
	}
	if i.at < len(i.batch) {
		return i.step()
	}
	return i.fetch(Scan, i.it.Next())
}

// SeekGE implements engine.Iterator.
func (i *iterator) SeekGE(key []byte) bool {
	if i.closed {
		return false
	}
	return i.fetch(Seek, i.it.SeekGE(key))
}

func (i *iterator) stands() bool { return !i.closed && i.at > 0 && i.at <= len(i.batch) }

// Key implements engine.Iterator.
func (i *iterator) Key() []byte {
	if !i.stands() {
		return nil
	}
	return i.batch[i.at-1].key
}

// Value implements engine.Iterator.
func (i *iterator) Value() []byte {
	if !i.stands() {
		return nil
	}
	return i.batch[i.at-1].value
}

// Close implements engine.Iterator.
func (i *iterator) Close() error {
	i.closed = true
	return i.it.Close()
}
