package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/mayflydb/mayfly/engine"
)

// errBackwards is the error of SeekGE on an iterator that runs backwards.
var errBackwards = errors.New("engine/postgres: SeekGE on an iterator that runs backwards")

// iterator merges the rows of the table, which it fetches in pages, with the transaction's writes as of the
// moment at which the iterator was created.
type iterator struct {
	s       *cachingSnapshotReader
	overlay txnOverlay
	written bool // the overlay is not empty
	r       engine.Range
	reverse bool

	page   []keyValue
	at     int    // index of the next row in the page
	last   []byte // the next page begins after this stored key; nil: at the beginning of the range
	from   []byte // the stored key at which a seek begins, while last is nil
	ended  bool   // nothing follows the page
	paging engine.ScanPageSizer

	wrote      []keyWrite // the remaining writes in the range
	current    keyValue
	valid      bool
	positioned bool
	closed     bool
	err        error
}

func newIterator(r *overlayReader, rg engine.Range, reverse bool) *iterator {
	i := &iterator{
		s:       r.s,
		r:       engine.Range{Start: bytes.Clone(rg.Start), End: bytes.Clone(rg.End)},
		reverse: reverse,
	}
	if r.overlay != nil && !r.overlay.empty() {
		i.overlay, i.written = r.overlay.copy(), true
	}
	if rg.End != nil && bytes.Compare(rg.Start, rg.End) >= 0 {
		i.ended = true
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.s.closed {
		i.closed = true
		return i
	}
	if r.s.open == nil {
		r.s.open = map[*iterator]bool{}
	}
	r.s.open[i] = true
	return i
}

// Expect sets the number of keys that will probably be read: see engine.ReadAheadIterator.
func (i *iterator) Expect(keys int) { i.paging.Expect(keys) }

// Prefetch reads keys in one round trip, ahead of their use: see engine.Prefetcher.
func (i *iterator) Prefetch(keys [][]byte) { _ = i.s.find(keys) }

// rest returns the SQL condition for the rows of the iterator's range that follow the current page, and
// the arguments of the condition.
func (i *iterator) rest() (condition string, args []any) {
	lower, after := lowest(i.r.Start), ">="
	if i.from != nil {
		lower = lowest(i.from)
	}
	upper, before := highest(i.r.End), "<"
	if i.last != nil && !i.reverse {
		lower, after = i.last, ">"
	} else if i.last != nil {
		upper = i.last
	}
	if lower == nil {
		lower = []byte{}
	}
	condition, args = "k "+after+" $1", []any{lower}
	if upper != nil {
		condition, args = condition+" AND k "+before+" $2", append(args, upper)
	}
	return condition, args
}

// fetch reads the next page.
func (i *iterator) fetch() {
	if i.ended || i.err != nil {
		i.page, i.at = nil, 0
		return
	}
	n := i.paging.Next()
	condition, args := i.rest()
	order := ""
	if i.reverse {
		order = " DESC"
	}
	rows, err := i.s.rows(fmt.Sprintf("SELECT k, v FROM mayfly_kv WHERE %s ORDER BY k%s LIMIT $%d",
		condition, order, len(args)+1), append(args, n)...)
	if err != nil {
		i.err, i.page, i.at, i.ended = err, nil, 0, true
		return
	}
	size := 0
	for _, r := range rows {
		size += len(r.key) + len(r.value)
	}
	i.paging.Read(len(rows), size)
	i.ended = len(rows) < n
	if len(rows) > 0 {
		i.last = bytes.Clone(storedKey(rows[len(rows)-1].key))
	}
	i.page, i.at = rows, 0
}

// row returns the next row of the table in the iterator's range that the transaction has not overwritten
// or deleted. It fetches pages as needed, and returns false at the end.
func (i *iterator) row() (keyValue, bool) {
	for {
		for i.at < len(i.page) {
			r := i.page[i.at]
			if !within(i.r, r.key) || i.from != nil && bytes.Compare(r.key, i.from) < 0 ||
				i.written && i.overlay.hides(r.key) {
				i.at++
				continue
			}
			return r, true
		}
		if i.ended || i.err != nil {
			return keyValue{}, false
		}
		i.fetch()
	}
}

// gather collects the transaction's own writes in the iterator's range, in the direction of the iterator,
// beginning at the key from.
func (i *iterator) gather(from []byte) {
	i.wrote = i.wrote[:0]
	if !i.written {
		return
	}
	if from == nil {
		from = i.r.Start
	}
	i.overlay.tree.Ascend(keyWrite{key: from}, func(w keyWrite) bool {
		if !within(i.r, w.key) {
			return false
		}
		if !w.deleted {
			i.wrote = append(i.wrote, w)
		}
		return true
	})
	if i.reverse {
		slices.Reverse(i.wrote)
	}
}

// step moves to the next key of the merged rows and writes. It returns false at the end of the range, and
// after an error.
func (i *iterator) step() bool {
	r, ok := i.row()
	if i.err != nil {
		i.valid = false
		return false
	}
	if len(i.wrote) > 0 {
		w := i.wrote[0]
		if c := bytes.Compare(w.key, r.key); !ok || c < 0 != i.reverse && c != 0 {
			i.wrote = i.wrote[1:]
			i.current, i.valid = keyValue{w.key, clip(w.value)}, true
			return true
		}
	}
	i.valid = ok
	if ok {
		i.current = r
		i.at++
	}
	return ok
}

// Next moves to the next key and reports whether there is one.
func (i *iterator) Next() bool {
	if i.closed || i.err != nil {
		i.valid = false
		return false
	}
	if !i.positioned {
		i.positioned = true
		i.gather(nil)
	}
	return i.step()
}

// SeekGE moves to the first key at or after key and reports whether there is one.
func (i *iterator) SeekGE(key []byte) bool {
	if i.reverse && i.err == nil {
		i.err = errBackwards
	}
	if i.closed || i.err != nil {
		i.valid = false
		return false
	}
	if bytes.Compare(key, i.r.Start) < 0 {
		key = i.r.Start
	}
	key = bytes.Clone(key)
	i.positioned = true
	i.gather(key)
	if i.r.End != nil && bytes.Compare(key, i.r.End) >= 0 {
		i.page, i.at, i.ended = nil, 0, true
	} else if !i.inPage(key) {
		i.from, i.last, i.page, i.at, i.ended = key, nil, nil, 0, false
		i.paging.Sought()
		if v, known := i.s.cached(key); known && v != nil {
			i.page, i.last = []keyValue{{key, v}}, bytes.Clone(storedKey(key))
		}
	}
	return i.step()
}

// inPage moves the iterator to the first key at or after key, if that can be decided from the page, the rows
// that were fetched last. Otherwise it returns false, and rows must be fetched.
func (i *iterator) inPage(key []byte) bool {
	if len(i.page) == 0 || bytes.Compare(i.page[0].key, key) > 0 {
		return false
	}
	n := sort.Search(len(i.page), func(n int) bool { return bytes.Compare(i.page[n].key, key) >= 0 })
	if n == len(i.page) && !i.ended {
		return false
	}
	i.at, i.from = n, key
	return true
}

// Key returns the current key.
func (i *iterator) Key() []byte {
	if !i.valid || i.closed {
		return nil
	}
	return i.current.key
}

// Value returns the value of the current key.
func (i *iterator) Value() []byte {
	if !i.valid || i.closed {
		return nil
	}
	return i.current.value
}

// Close releases the iterator and returns its first error.
func (i *iterator) Close() error {
	i.s.mu.Lock()
	delete(i.s.open, i)
	i.s.mu.Unlock()
	i.end()
	return i.err
}

// end releases the iterator's memory.
func (i *iterator) end() { i.closed, i.valid, i.page, i.wrote = true, false, nil, nil }
