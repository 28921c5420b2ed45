package store

import (
	"bytes"
	"encoding/hex"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// policies are all by which an item may be indexed.
func (k *checker) policies() []*index.Indexer {
	return append([]*index.Indexer{k.st.terms}, k.st.olders...)
}

// storedTerms are the index entries that an item has if it was indexed by x, with their keys as they are
// stored.
func storedTerms(r engine.Reader, x *index.Indexer, s *slot, item *stored) ([]index.Entry, error) {
	list := makeTerms(x, item.head.Life.TS, s, item.body).entries
	setRID(list, item.rid)
	i := index.ShapeOf(list, layout.ScopeLen)
	if i < 0 {
		return list, nil
	}
	name := index.ShapeName(list[i], layout.ScopeLen)
	listed, err := isListed(r, s.scope, name)
	if err == nil && !listed {
		unlisted := index.Unlisted()
		copy(name, unlisted[:])
	}
	return list, err
}

// checkTerms looks for index entries that an item must have.
func (k *checker) checkTerms(s *slot, item *stored) error {
	want, err := storedTerms(k.r, k.st.terms, s, item)
	if err != nil {
		return err
	}
	for _, old := range k.st.olders {
		list, err := storedTerms(k.r, old, s, item)
		if err != nil {
			return err
		}
		want = slices.DeleteFunc(want, func(e index.Entry) bool {
			i, found := slices.BinarySearchFunc(list, e, compareTerms)
			return !found || !bytes.Equal(list[i].Value, e.Value)
		})
	}
	for _, e := range want {
		v, err := k.r.Get(e.Key)
		switch {
		case isAbsent(err):
			k.fault("item %q: the index entry %s is missing", item.id, formatTerm(e.Key))
		case err != nil:
			return err
		case !bytes.Equal(v, e.Value):
			k.fault("item %q: the index entry %s holds %x", item.id, formatTerm(e.Key), v)
		}
	}
	k.terms += int64(len(want))
	return nil
}

// checkIndex looks for index entries that no item has. Where their number is right there are none.
func (k *checker) checkIndex(s *slot) error {
	records, err := k.checkShapes(s)
	if err != nil {
		return err
	}
	n := -records
	for _, family := range []byte{layout.FamilyTerms, layout.FamilyComposite} {
		part, err := countKeys(k.r, layout.SlotFamily(s.scope, family), never)
		if err != nil {
			return err
		}
		n += part
	}
	if n == k.terms && len(k.st.olders) == 0 {
		return nil
	}
	if len(k.st.olders) == 0 {
		k.fault("range %s: %d index entries, but its items have %d", s.id, n, k.terms)
	}
	for _, family := range []byte{layout.FamilyTerms, layout.FamilyComposite} {
		if err := k.findStrayTerms(s, family); err != nil {
			return err
		}
	}
	return nil
}

// checkShapes checks the records of shapes and returns how many there are.
func (k *checker) checkShapes(s *slot) (n int64, err error) {
	prefix := layout.SlotPrefix(s.scope, index.ShapeRecordKey(nil))
	it := k.r.Scan(engine.Prefix(prefix), false)
	for !k.stopped && it.Next() {
		name := it.Key()[len(prefix):]
		if len(name) != index.ShapeSize+layout.RIDLen || !index.ShapeFits(name[:index.ShapeSize], it.Value()) {
			k.fault("range %s: the record of shape %x does not fit its name", s.id, name)
		}
		n++
	}
	if n > maxShapes {
		k.fault("range %s: %d shapes have a record", s.id, n)
	}
	return n, it.Close()
}

// findStrayTerms names the index entries that no policy gives to their item.
func (k *checker) findStrayTerms(s *slot, family byte) error {
	it := k.r.Scan(layout.SlotFamily(s.scope, family), false)
	records := layout.SlotPrefix(s.scope, index.ShapeRecordKey(nil))
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

func (k *checker) hasTerm(s *slot, key []byte) (bool, error) {
	if len(key) < layout.ScopeLen+1+layout.RIDLen {
		return false, nil
	}
	v, err := k.r.Get(layout.AppendSlotKey(nil, s.scope, layout.FamilyItem, layout.KeyRID(key)))
	if isAbsent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	item, err := k.c.decode(layout.KeyRID(key), v)
	if err != nil {
		return false, nil // a fault of the item, which has been reported
	}
	for _, x := range k.policies() {
		list, err := storedTerms(k.r, x, s, item)
		if err != nil {
			return false, err
		}
		if _, found := slices.BinarySearchFunc(list, index.Entry{Key: key}, compareTerms); found {
			return true, nil
		}
	}
	return false, nil
}

// formatTerm writes the key of an index entry for people.
func formatTerm(key []byte) string {
	if len(key) < layout.ScopeLen+1+layout.RIDLen {
		return hex.EncodeToString(key)
	}
	rest := key[layout.ScopeLen:]
	return index.FormatKey(rest[:len(rest)-layout.RIDLen]) + " of " + hex.EncodeToString(rest[len(rest)-layout.RIDLen:])
}
