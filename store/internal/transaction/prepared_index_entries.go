package transaction

import (
	"bytes"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// preparedIndexEntries are the index entries of an item, computed before the transaction that writes them.
// They are valid for one indexer, one _ts and one range. Their keys have room for the rid, which is not known
// yet.
type preparedIndexEntries struct {
	by      *index.Indexer
	ts      int64
	slot    *container.Partition
	entries []index.Entry
}

func makeTerms(by *index.Indexer, ts int64, s *container.Partition, body []byte) *preparedIndexEntries {
	return &preparedIndexEntries{by, ts, s, by.EntriesWithin(nil, s.Scope, layout.RIDLen, body, ts)}
}

// termsOf returns the index entries of an item that is being written, by the current policy and in the
// order of their keys. It uses the prepared entries, once, if they are still valid. They are no longer valid
// if the transaction runs in a later second, for instance.
func (t *Tx) termsOf(item *StoredItem) ([]index.Entry, error) {
	made := item.terms
	item.terms = nil
	if made == nil || made.by != t.State.Terms || made.ts != item.Head.Life.TS || made.slot != t.Range {
		made = makeTerms(t.State.Terms, item.Head.Life.TS, t.Range, item.Body)
	}
	view.SetRID(made.entries, item.RID)
	return made.entries, t.listShape(made.entries, false)
}

// termsToDelete returns all index entries that an item may have, in the order of their keys: by the current
// policy, and by the older ones by which documents may still be indexed.
func (t *Tx) termsToDelete(item *StoredItem) ([]index.Entry, error) {
	all, err := t.termsBy(nil, t.State.Terms, item)
	if len(t.State.OlderIndexers) == 0 || err != nil {
		return all, err
	}
	for _, old := range t.State.OlderIndexers {
		if all, err = t.termsBy(all, old, item); err != nil {
			return nil, err
		}
	}
	return sortTerms(all), nil
}

// termsBy appends the index entries that the indexer x makes of an item.
func (t *Tx) termsBy(dst []index.Entry, x *index.Indexer, item *StoredItem) ([]index.Entry, error) {
	n := len(dst)
	dst = view.AppendTerms(dst, x, t.Range.Scope, &item.DecodedItem)
	return dst, t.listShape(dst[n:], true)
}

// sortTerms sorts entries and removes duplicates.
func sortTerms(list []index.Entry) []index.Entry {
	slices.SortFunc(list, view.CompareTerms)
	return slices.CompactFunc(list, func(a, b index.Entry) bool { return view.CompareTerms(a, b) == 0 })
}

// listShape makes sure that the index entry for a document's shape (its set of paths) refers to a record. It
// creates the record of a new shape. If there are too many shapes already, it changes the entry to the common
// name of all shapes without a record. It creates no record for entries that are to be deleted.
func (t *Tx) listShape(entries []index.Entry, deleted bool) error {
	i := index.ShapeOf(entries, layout.ScopeLen)
	if i < 0 {
		return nil
	}
	name := container.DocumentShapeHash(index.ShapeName(entries[i], layout.ScopeLen))
	if name == index.Unlisted() {
		return nil
	}
	known, full := t.Range.Shapes.LookUp(name)
	if known || slices.Contains(t.listed, name) {
		return nil
	}
	listed, err := view.IsListed(t, t.Range.Scope, name[:])
	if err != nil {
		return err
	}
	if !listed && !deleted && !full {
		n, err := view.Count(t, engine.Prefix(layout.ScopePrefix(t.Range.Scope, index.ShapeRecordKey(nil))),
			view.MaxShapes)
		if err != nil {
			return err
		}
		if listed = n < view.MaxShapes; listed {
			t.setShape(name[:], index.AppendShape(nil, entries, layout.ScopeLen))
		} else {
			t.full = true
		}
	}
	if listed {
		t.listed = append(t.listed, name)
		if !deleted { // not for a deletion: the whole index may have been deleted by the time Learn is called
			t.shapes = append(t.shapes, name)
		}
		return nil
	}
	entries[i].Key = bytes.Clone(entries[i].Key) // the old key may be shared
	unlisted := index.Unlisted()
	copy(index.ShapeName(entries[i], layout.ScopeLen), unlisted[:])
	return nil
}
