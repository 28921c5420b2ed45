package database

import (
	"bytes"

	"github.com/tidwall/btree"

	"github.com/mayflydb/mayfly/engine"
)

// keyValue is a row of the simulated database: a key and its value.
type keyValue struct{ key, value []byte }

// rowSet is an ordered set of rows. Copy is cheap: copies share the rows that neither has changed.
type rowSet = btree.BTreeG[keyValue]

func newRows() *rowSet {
	return btree.NewBTreeGOptions(func(a, b keyValue) bool { return bytes.Compare(a.key, b.key) < 0 },
		btree.Options{NoLocks: true})
}

// txnWrite is one step of a transaction: it sets a key, deletes it, or deletes a range.
type txnWrite struct {
	key, value []byte
	deleted    bool
	within     *engine.Range // not nil: the range is deleted
}

func (w txnWrite) apply(to *rowSet) {
	switch {
	case w.within != nil:
		for _, key := range keysIn(to, *w.within) {
			to.Delete(keyValue{key: key})
		}
	case w.deleted:
		to.Delete(keyValue{key: w.key})
	default:
		to.Set(keyValue{key: w.key, value: w.value})
	}
}

// keysIn returns the keys of a range.
func keysIn(in *rowSet, r engine.Range) (keys [][]byte) {
	in.Ascend(keyValue{key: r.Start}, func(found keyValue) bool {
		if r.End != nil && bytes.Compare(found.key, r.End) >= 0 {
			return false
		}
		keys = append(keys, found.key)
		return true
	})
	return keys
}

// get returns the value of a key, nil if it is absent.
func get(from *rowSet, key []byte) []byte {
	found, ok := from.Get(keyValue{key: key})
	if !ok {
		return nil
	}
	return found.value
}
