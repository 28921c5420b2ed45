package postgres

import (
	"bytes"
	"slices"
	"sort"

	"github.com/tidwall/btree"

	"github.com/mayflydb/mayfly/engine"
)

// txnOverlay holds the writes of a transaction: deleted ranges and, over them, single keys that are set or
// deleted. A copy is cheap (copy-on-write), so that a function's writes can be undone and an iterator keeps
// the state in which it was created.
type txnOverlay struct {
	tree   *btree.BTreeG[keyWrite]
	ranges []engine.Range // disjoint, in order; the slice is never modified in place
}

// keyWrite is one key that was set or deleted.
type keyWrite struct {
	key, value []byte
	deleted    bool
	fresh      bool // the database is not expected to have the key
}

func newOverlay() txnOverlay {
	return txnOverlay{
		tree: btree.NewBTreeGOptions(func(a, b keyWrite) bool { return bytes.Compare(a.key, b.key) < 0 },
			btree.Options{NoLocks: true}),
	}
}

// copy returns the overlay's current state.
func (o *txnOverlay) copy() txnOverlay { return txnOverlay{tree: o.tree.Copy(), ranges: o.ranges} }

func (o *txnOverlay) empty() bool { return o.tree.Len() == 0 && len(o.ranges) == 0 }

func (o *txnOverlay) set(key, value []byte) {
	w := keyWrite{key: key, value: value}
	if before, ok := o.tree.Set(w); ok && before.fresh {
		w.fresh = true
		o.tree.Set(w)
	}
}

// setFresh sets a key that the caller expects not to be in the database.
func (o *txnOverlay) setFresh(key, value []byte) {
	w := keyWrite{key: key, value: value, fresh: true}
	if before, ok := o.tree.Set(w); ok && !before.fresh {
		w.fresh = false
		o.tree.Set(w)
	}
}

func (o *txnOverlay) delete(key []byte) { o.tree.Set(keyWrite{key: key, deleted: true}) }

// deleteRange removes the earlier writes in a range and records the range as deleted.
func (o *txnOverlay) deleteRange(r engine.Range) {
	if r.End != nil && bytes.Compare(r.Start, r.End) >= 0 {
		return
	}
	var gone [][]byte
	o.tree.Ascend(keyWrite{key: r.Start}, func(w keyWrite) bool {
		if !within(r, w.key) {
			return false
		}
		gone = append(gone, w.key)
		return true
	})
	for _, key := range gone {
		o.tree.Delete(keyWrite{key: key})
	}
	o.ranges = merged(o.ranges, r)
}

// merged returns ranges with r added and overlapping ranges joined.
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

// get looks up a key. decided is false if the transaction has not written the key; then its value is that
// in the database.
func (o *txnOverlay) get(key []byte) (value []byte, deleted, decided bool) {
	if w, ok := o.tree.Get(keyWrite{key: key}); ok {
		return w.value, w.deleted, true
	}
	if o.inRange(key) {
		return nil, true, true
	}
	return nil, false, false
}

// inRange reports whether a key is in a deleted range.
func (o *txnOverlay) inRange(key []byte) bool {
	n := sort.Search(len(o.ranges), func(i int) bool { return bytes.Compare(o.ranges[i].Start, key) > 0 })
	return n > 0 && within(o.ranges[n-1], key)
}

// hides reports whether the transaction has overwritten or deleted the database's value of a key.
func (o *txnOverlay) hides(key []byte) bool {
	_, _, decided := o.get(key)
	return decided
}
