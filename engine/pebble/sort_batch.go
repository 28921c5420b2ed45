package pebble

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// sortedBatchKeys is the number of keys from which on the keys of a transaction are sorted before they are
// written. The memory table finds the place of a key faster if it is near that of the key before. The keys of
// a single document are nearly sorted already.
const sortedBatchKeys = 64

// batchWrite is a write of a batch: a key that is set or deleted.
type batchWrite struct {
	key, value []byte
	deletes    bool
}

// batchSortKey is the place of a write in the order of the keys.
type batchSortKey struct {
	prefix uint64 // the bytes of the key after the common prefix of all keys of the batch
	n      int    // number of the write in the batch
}

// sortKeys sorts the keys of the transaction if it has many.
func (t *txn) sortKeys() (err error) {
	if t.ranges == 0 && t.batch.Count() >= sortedBatchKeys {
		t.batch, err = t.e.sortBatch(t.batch)
	}
	return err
}

// sortBatch returns a batch with the same effect as b whose keys are in order, each once, and closes b. It
// returns b itself if its keys are nearly in order already, if it has other writes than Set and Delete, or
// if it fails.
func (e *Engine) sortBatch(b *pebble.Batch) (*pebble.Batch, error) {
	if isSorted(b) {
		return b, nil
	}
	writes := make([]batchWrite, 0, b.Count())
	for r := b.Reader(); ; {
		kind, key, value, ok, err := r.Next()
		if err != nil {
			return b, err
		}
		if !ok {
			break
		}
		if kind != pebble.InternalKeyKindSet && kind != pebble.InternalKeyKindDelete {
			return b, nil
		}
		writes = append(writes, batchWrite{key, value, kind == pebble.InternalKeyKindDelete})
	}
	order := orderOf(writes)
	sorted := e.db.NewBatchWithSize(b.Len())
	for i, at := range order {
		w := &writes[at.n]
		if i+1 < len(order) && bytes.Equal(w.key, writes[order[i+1].n].key) {
			continue // a later write of the transaction replaces it
		}
		var err error
		if w.deletes {
			err = sorted.Delete(w.key, nil)
		} else {
			err = sorted.Set(w.key, w.value, nil)
		}
		if err != nil {
			return b, errors.Join(err, sorted.Close())
		}
	}
	return sorted, b.Close()
}

// maxSortedRuns is the number of ascending runs of keys up to which a batch is not sorted. A purge deletes
// the keys of many documents in order, and then sets a few others.
const maxSortedRuns = 3

// isSorted reports whether the keys of a batch consist of at most maxSortedRuns ascending runs.
func isSorted(b *pebble.Batch) bool {
	var last []byte
	runs := 1
	for r := b.Reader(); runs <= maxSortedRuns; {
		_, key, _, ok, err := r.Next()
		if err != nil || !ok {
			return err == nil
		}
		if bytes.Compare(last, key) > 0 {
			runs++
		}
		last = key
	}
	return false
}

// orderOf returns the order of the writes by key. Writes of the same key stay in their order.
func orderOf(writes []batchWrite) []batchSortKey {
	common := commonPrefix(writes)
	order := make([]batchSortKey, len(writes))
	for i := range writes {
		var prefix [8]byte
		copy(prefix[:], writes[i].key[common:])
		order[i] = batchSortKey{binary.BigEndian.Uint64(prefix[:]), i}
	}
	slices.SortFunc(order, func(a, b batchSortKey) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		if c := bytes.Compare(writes[a.n].key[common:], writes[b.n].key[common:]); c != 0 {
			return c
		}
		return cmp.Compare(a.n, b.n)
	})
	return order
}

// commonPrefix returns the length of the longest prefix that all keys have.
func commonPrefix(writes []batchWrite) int {
	if len(writes) == 0 {
		return 0
	}
	first := writes[0].key
	n := len(first)
	for i := range writes {
		key := writes[i].key
		n = min(n, len(key))
		for !bytes.Equal(first[:n], key[:n]) {
			n--
		}
	}
	return n
}
