package transaction

import (
	"errors"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Reindexed is a document with its new and old index entries, as of one version.
type Reindexed struct {
	RID    uint64
	seq    layout.Sequence
	after  []index.Entry   // by the present policy
	Before [][]index.Entry // by each of the older ones
	Size   int             // of all of them, in bytes
}

// RemakeOne makes the index entries of a document from its stored key and value. It fails with
// engine.ErrCorrupt for malformed ones.
func RemakeOne(st *container.State, s *container.Partition, key, value []byte) (Reindexed, error) {
	rid, ok := layout.SlotKeyNumber(key)
	head, body, err := layout.DecodeItem(value)
	if !ok || err != nil {
		return Reindexed{}, errors.Join(engine.ErrCorrupt, err)
	}
	d := Reindexed{RID: rid, seq: head.Sequence}
	entries := func(x *index.Indexer) []index.Entry {
		list := view.AppendTerms(nil, x, s.Scope, &view.Item{RID: rid, Head: head, Body: body})
		for _, e := range list {
			d.Size += len(e.Key) + len(e.Value)
		}
		return list
	}
	if len(st.Olders) == 0 {
		return d, nil // only its place in the index of expiry may be wrong
	}
	d.after = entries(st.Terms)
	for _, old := range st.Olders {
		d.Before = append(d.Before, entries(old))
	}
	return d, nil
}

// Reindex gives an item the entries of the present policy and deletes those that only older ones have,
// unless the item has been written since d was made. If sets is false it only deletes.
func (t *Tx) Reindex(d Reindexed, sets bool) error {
	item, err := t.readItem(d.RID)
	if err != nil || item == nil || item.Head.Sequence != d.seq {
		return err
	}
	if sets {
		t.rebase(item)
	}
	if len(t.State.Olders) == 0 {
		return nil
	}
	after := slices.Clone(d.after)
	if err := t.listShape(after, !sets); err != nil {
		return err
	}
	var before []index.Entry
	for _, old := range d.Before {
		n := len(before)
		before = append(before, old...)
		if err := t.listShape(before[n:], true); err != nil {
			return err
		}
	}
	before = sortTerms(before)
	if !sets {
		before = slices.DeleteFunc(before, func(e index.Entry) bool {
			_, found := slices.BinarySearchFunc(after, e, view.CompareTerms)
			return found
		})
		after = nil
	}
	t.diffTerms(before, after, false)
	return nil
}
