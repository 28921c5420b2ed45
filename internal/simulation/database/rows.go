package database

import (
	"bytes"

	"github.com/tidwall/btree"

	"github.com/mayflydb/mayfly/engine"
)

// row is a key with its value.
type row struct{ key, value []byte }

// rows is an ordered set of rows. Copy is cheap: copies share the rows that neither has changed.
type rows = btree.BTreeG[row]

func newRows() *rows {
	return btree.NewBTreeGOptions(func(a, b row) bool { return bytes.Compare(a.key, b.key) < 0 },
		btree.Options{NoLocks: true})
}

// write is one step of a transaction: it sets a key, deletes it, or deletes a range.
type write struct {
	key, value []byte
	deleted    bool
	within     *engine.Range // not nil: the range is deleted
}

func (w write) apply(to *rows) {
	switch {
	case w.within != nil:
		for _, key := range keysIn(to, *w.within) {
			to.Delete(row{key: key})
		}
	case w.deleted:
		to.Delete(row{key: w.key})
	default:
		to.Set(row{key: w.key, value: w.value})
	}
}

// keysIn returns the keys of a range.
func keysIn(in *rows, r engine.Range) (keys [][]byte) {
	in.Ascend(row{key: r.Start}, func(found row) bool {
		if r.End != nil && bytes.Compare(found.key, r.End) >= 0 {
			return false
		}
		keys = append(keys, found.key)
		return true
	})
	return keys
}

// get returns the value of a key, nil if it is absent.
func get(from *rows, key []byte) []byte {
	found, ok := from.Get(row{key: key})
	if !ok {
		return nil
	}
	return found.value
}
