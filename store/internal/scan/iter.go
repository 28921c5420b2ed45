package scan

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/posting"
)

// DocumentIterator iterates over the documents of a scope in one partition range: all of the range, or those
// of one logical partition, found by its posting.
type DocumentIterator struct {
	s       *DocumentSource
	items   engine.Iterator
	posting query.PostingIterator // nil for a whole range
	from    uint64                // the rid at which to begin reading the posting; 0: reading has begun
	ahead   []uint64              // rids read from the posting whose documents are not fetched yet
	row     StoredDocument
	err     error
	skip    func(rid uint64) bool // see Skip; nil: never
}

// Expect tells the engine how many items the scan of a whole range will probably read.
func (d *DocumentIterator) Expect(items int) {
	if d.items != nil && d.posting == nil {
		engine.Expect(d.items, items)
	}
}

// StoredDocument returns the current document. It is valid until the next call of Next.
func (d *DocumentIterator) Row() *StoredDocument { return &d.row }

// Skip sets a function that is called for each listed rid that has no live document in the scope of the scan:
// the item is deleted, has expired, or belongs to another partition. If it returns false, the iteration ends.
func (d *DocumentIterator) Skip(on func(rid uint64) bool) { d.skip = on }

// passes reports whether the iteration continues after the item rid, which has no live document in the scope
// of the scan. The function set by Skip decides; without one it always continues.
func (d *DocumentIterator) passes(rid uint64) bool { return d.skip == nil || d.skip(rid) }

// Next moves to the next document of the scope. It returns false at the end or after an error.
func (d *DocumentIterator) Next() bool {
	if d.items == nil || d.err != nil {
		return false
	}
	if d.posting != nil {
		return d.nextPosted()
	}
	for d.items.Next() {
		rid, ok := layout.ScopeKeyNumber(d.items.Key())
		if !ok {
			d.err = engine.ErrCorrupt
			return false
		}
		if ok, d.err = d.s.Take(&d.row, rid, d.items.Value(), false); ok || d.err != nil {
			return ok
		}
		if !d.passes(rid) {
			return false
		}
	}
	return false
}

func (d *DocumentIterator) nextPosted() bool {
	for rid, more := d.nextRID(); more; rid, more = d.nextRID() {
		var ok bool
		if _, ok, d.err = d.s.fetch(d.items, &d.row, rid, true); ok || d.err != nil {
			return ok
		}
		if !d.passes(rid) {
			return false
		}
	}
	return false
}

// nextRID returns the next rid of the posting; more is false at its end. If the engine is remote, it also
// prefetches the documents of the rids that follow.
func (d *DocumentIterator) nextRID() (rid uint64, more bool) {
	if len(d.ahead) > 0 {
		rid, d.ahead = d.ahead[0], d.ahead[1:]
		return rid, true
	}
	if d.from > 0 {
		more = d.posting.SeekGE(d.from)
		d.from = 0
	} else {
		more = d.posting.Next()
	}
	if !more {
		return 0, false
	}
	rid = d.posting.RID()
	if room := d.s.Prefetches(); room > 0 {
		list := append(make([]uint64, 0, room), rid)
		for len(list) < room && d.posting.Next() {
			list = append(list, d.posting.RID())
		}
		d.s.Prefetch(list)
		d.ahead = list[1:]
	}
	return rid, true
}

// Document returns the current document. It is valid until the next call of Next.
func (d *DocumentIterator) Document() query.Document { return &d.row }

// Err returns the first error of the iteration.
func (d *DocumentIterator) Err() error { return d.err }

// Close closes the iterators and returns the first error.
func (d *DocumentIterator) Close() error {
	if d.items != nil {
		if err := d.items.Close(); d.err == nil {
			d.err = err
		}
		d.items = nil
	}
	if d.posting != nil {
		if err := d.posting.Close(); d.err == nil {
			d.err = err
		}
		d.posting = nil
	}
	return d.err
}

// Partition returns the documents of the scope's partition key in the order of their rids, or false if the
// scope has no partition key.
func (s *DocumentSource) Partition() (query.PostingIterator, bool) {
	if s.Span.Prefix == nil {
		return nil, false
	}
	prefix := append(make([]byte, 0, len(s.Span.Prefix)+layout.RIDLen), s.Span.Prefix...)
	return posting.New(s.Reader, prefix), true
}

// PartitionValues returns the values of the scope's partition key. It returns nil if the key is incomplete
// or has an undefined component, since documents with an undefined component may have any array or object
// there.
func (s *DocumentSource) PartitionValues() []jsondoc.Value {
	values := s.Span.Key.Values()
	if len(values) < s.State.Keys.Def.Levels() ||
		slices.ContainsFunc(values, func(v jsondoc.Value) bool { return v.Kind() == jsondoc.Undefined }) {
		return nil
	}
	return values
}

// Postings returns the rids of the index entries whose keys begin with prefix.
func (s *DocumentSource) Postings(prefix []byte) query.PostingIterator {
	return posting.New(s.Reader, layout.ScopePrefix(s.Range.Scope, prefix))
}

// Terms returns the index entries in [lo, hi), in descending order if reverse is set.
func (s *DocumentSource) Terms(lo, hi []byte, reverse bool) query.IndexEntryIterator {
	return posting.NewTerms(s.Reader, s.entryRange(lo, hi), reverse)
}

// entryRange returns the engine's key range for the index entries in [lo, hi). A nil hi is the end of the
// index.
func (s *DocumentSource) entryRange(lo, hi []byte) engine.Range {
	rg := engine.Range{Start: layout.ScopePrefix(s.Range.Scope, lo)}
	if hi == nil {
		rg.End = layout.ScopeFamily(s.Range.Scope, layout.FamilyComposite).End
	} else {
		rg.End = layout.ScopePrefix(s.Range.Scope, hi)
	}
	return rg
}

// Value returns the value of the index entry with a key and a rid, or false if there is none.
func (s *DocumentSource) Value(key []byte, rid uint64) ([]byte, bool, error) {
	if s.entries == nil {
		rg := engine.Range{Start: layout.ScopeFamily(s.Range.Scope, layout.FamilyTerms).Start,
			End: layout.ScopeFamily(s.Range.Scope, layout.FamilyComposite).End}
		s.entries = s.Reader.Scan(rg, false)
	}
	s.key = append(append(append(s.key[:0], s.Range.Scope...), key...), make([]byte, layout.RIDLen)...)
	binary.BigEndian.PutUint64(s.key[len(s.key)-layout.RIDLen:], rid)
	if !s.entries.SeekGE(s.key) || !bytes.Equal(s.entries.Key(), s.key) {
		return nil, false, nil
	}
	return s.entries.Value(), true, nil
}
