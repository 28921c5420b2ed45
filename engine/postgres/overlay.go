package postgres

import (
	"bytes"
	"slices"
	"sort"

	"github.com/tidwall/btree"

	"github.com/mayflydb/mayfly/engine"
)

// overlay is what a transaction has written: ranges that are deleted and, over them, keys that are set or
// deleted. A copy costs nothing until one of the two is changed, so that a function can be undone and an
// iterator can go on over what was there when it was made.
type overlay struct {
	tree   *btree.BTreeG[write]
	ranges []engine.Range // disjoint, in order; the slice is never changed in place
}

// write is one key that was set or deleted.
type write struct {
	key, value []byte
	deleted    bool
}

func newOverlay() overlay {
	return overlay{
		tree: btree.NewBTreeGOptions(func(a, b write) bool { return bytes.Compare(a.key, b.key) < 0 },
			btree.Options{NoLocks: true}),
	}
}

// copy is the overlay as it is now.
func (o *overlay) copy() overlay { return overlay{tree: o.tree.Copy(), ranges: o.ranges} }

func (o *overlay) empty() bool { return o.tree.Len() == 0 && len(o.ranges) == 0 }

func (o *overlay) set(key, value []byte) { o.tree.Set(write{key: key, value: value}) }

func (o *overlay) delete(key []byte) { o.tree.Set(write{key: key, deleted: true}) }

// deleteRange takes out what was written in a range, and notes it.
func (o *overlay) deleteRange(r engine.Range) {
	if r.End != nil && bytes.Compare(r.Start, r.End) >= 0 {
		return
	}
	var gone [][]byte
	o.tree.Ascend(write{key: r.Start}, func(w write) bool {
		if !within(r, w.key) {
			return false
		}
		gone = append(gone, w.key)
		return true
	})
	for _, key := range gone {
		o.tree.Delete(write{key: key})
	}
	o.ranges = merged(o.ranges, r)
}

// merged adds a range to others.
func merged(ranges []engine.Range, r engine.Range) []engine.Range {
	out := make([]engine.Range, 0, len(ranges)+1)
	for _, old := range ranges {
		apart := old.End != nil && bytes.Compare(old.End, r.Start) < 0 ||
			r.End != nil && bytes.Compare(r.End, old.Start) < 0
		if apart {
			out = append(out, old)
			continue
		}
		if bytes.Compare(old.Start, r.Start) < 0 {
			r.Start = old.Start
		}
		if r.End != nil && (old.End == nil || bytes.Compare(old.End, r.End) > 0) {
			r.End = old.End
		}
	}
	at := sort.Search(len(out), func(i int) bool { return bytes.Compare(out[i].Start, r.Start) > 0 })
	return slices.Insert(out, at, r)
}

// get looks a key up; decided is false where the database decides.
func (o *overlay) get(key []byte) (value []byte, deleted, decided bool) {
	if w, ok := o.tree.Get(write{key: key}); ok {
		return w.value, w.deleted, true
	}
	if o.inRange(key) {
		return nil, true, true
	}
	return nil, false, false
}

// inRange reports whether a key lies in a range that is deleted.
func (o *overlay) inRange(key []byte) bool {
	n := sort.Search(len(o.ranges), func(i int) bool { return bytes.Compare(o.ranges[i].Start, key) > 0 })
	return n > 0 && within(o.ranges[n-1], key)
}

// hides reports whether what the database has of a key is not to be seen.
func (o *overlay) hides(key []byte) bool {
	_, _, decided := o.get(key)
	return decided
}
