package check

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// policies returns the indexers of all indexing policies by which an item may be indexed: the current policy
// and, until reindexing is complete, older ones.
func (k *checker) policies() []*index.Indexer {
	return append([]*index.Indexer{k.state.Terms}, k.state.Olders...)
}

// checkTerms reports the index entries that should exist for an item, but are missing from the index.
func (k *checker) checkTerms(s *view.PartitionRange, item *view.DecodedItem) error {
	want, err := view.StoredTerms(k.r, k.state.Terms, s.Scope, item)
	if err != nil {
		return err
	}
	for _, old := range k.state.Olders {
		list, err := view.StoredTerms(k.r, old, s.Scope, item)
		if err != nil {
			return err
		}
		want = slices.DeleteFunc(want, func(e index.Entry) bool {
			i, found := slices.BinarySearchFunc(list, e, view.CompareTerms)
			return !found || !bytes.Equal(list[i].Value, e.Value)
		})
	}
	for _, e := range want {
		k.read(e.Key, func(v []byte) {
			switch {
			case v == nil:
				k.fault("item %q: the index entry %s is missing", item.ID, formatTerm(e.Key))
			case !bytes.Equal(v, e.Value):
				k.fault("item %q: the index entry %s holds %x", item.ID, formatTerm(e.Key), v)
			}
		})
	}
	k.terms += int64(len(want))
	return nil
}

// checkIndex reports index entries that belong to no item. It looks for them only if the number of entries
// is wrong.
func (k *checker) checkIndex(s *view.PartitionRange) error {
	records, err := k.checkShapes(s)
	if err != nil {
		return err
	}
	n := -records
	for _, family := range []byte{layout.FamilyTerms, layout.FamilyComposite} {
		part, err := view.Count(k.r, layout.ScopeFamily(s.Scope, family), view.Never)
		if err != nil {
			return err
		}
		n += part
	}
	if n == k.terms && len(k.state.Olders) == 0 {
		return nil
	}
	if len(k.state.Olders) == 0 {
		k.fault("range %s: %d index entries, but its items have %d", s.ID, n, k.terms)
	}
	for _, family := range []byte{layout.FamilyTerms, layout.FamilyComposite} {
		if err := k.findOrphanTerms(s, family); err != nil {
			return err
		}
	}
	return nil
}

// checkShapes checks the shape records of a range (one for each set of paths that documents have) and returns
// their number.
func (k *checker) checkShapes(s *view.PartitionRange) (n int64, err error) {
	prefix := layout.ScopePrefix(s.Scope, index.ShapeRecordKey(nil))
	it := k.r.Scan(engine.Prefix(prefix), false)
	for !k.stopped && it.Next() {
		name := it.Key()[len(prefix):]
		if len(name) != index.ShapeSize+layout.RIDLen ||
			!index.ShapeFits(name[:index.ShapeSize], it.Value()) {
			k.fault("range %s: the record of shape %x does not fit its name", s.ID, name)
		}
		n++
	}
	if n > view.MaxShapes {
		k.fault("range %s: %d shapes have a record", s.ID, n)
	}
	return n, it.Close()
}

// findOrphanTerms reports the index entries that belong to no item: that neither the container's indexing
// policy, nor the one that it replaces while items are still indexed anew, produces for the item whose rid is
// in the key of the entry.
func (k *checker) findOrphanTerms(s *view.PartitionRange, family byte) error {
	it := k.r.Scan(layout.ScopeFamily(s.Scope, family), false)
	records := layout.ScopePrefix(s.Scope, index.ShapeRecordKey(nil))
	for !k.stopped && it.Next() {
		if bytes.HasPrefix(it.Key(), records) {
			continue
		}
		mine, err := k.hasTerm(s, it.Key())
		if err != nil {
			it.Close()
			return err
		}
		if !mine {
			k.fault("the index entry %s belongs to no item", formatTerm(it.Key()))
		}
	}
	return it.Close()
}

func (k *checker) hasTerm(s *view.PartitionRange, key []byte) (bool, error) {
	if len(key) < layout.ScopeLen+1+layout.RIDLen {
		return false, nil
	}
	v, err := k.r.Get(layout.AppendScopeKey(nil, s.Scope, layout.FamilyItem, layout.KeyRID(key)))
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	item, err := k.state.Keys.Decode(layout.KeyRID(key), v)
	if err != nil {
		return false, nil // the item itself is corrupt, which has been reported already
	}
	for _, x := range k.policies() {
		list, err := view.StoredTerms(k.r, x, s.Scope, &item)
		if err != nil {
			return false, err
		}
		if _, found := slices.BinarySearchFunc(list, index.Entry{Key: key}, view.CompareTerms); found {
			return true, nil
		}
	}
	return false, nil
}

// formatTerm formats the key of an index entry for messages.
func formatTerm(key []byte) string {
	if len(key) < layout.ScopeLen+1+layout.RIDLen {
		return hex.EncodeToString(key)
	}
	rest := key[layout.ScopeLen:]
	term, rid := rest[:len(rest)-layout.RIDLen], rest[len(rest)-layout.RIDLen:]
	return index.FormatKey(term) + " of " + hex.EncodeToString(rid)
}
