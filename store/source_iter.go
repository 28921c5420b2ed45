package store

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

// documents walks the documents of a scope: a slot's, or those that a partition's posting names.
type documents struct {
	s       *source
	items   engine.Iterator
	posting query.Postings // nil for a whole slot
	from    uint64         // where the posting is to begin; 0: it has begun
	ahead   []uint64       // read from the posting and not fetched yet
	row     row
	err     error
	skip    func(rid uint64) bool // see Skip; nil: never
}

// Skip implements query.Skipping.
func (d *documents) Skip(on func(rid uint64) bool) { d.skip = on }

// passes reports whether to go on behind an item that is no document of the scope.
func (d *documents) passes(rid uint64) bool { return d.skip == nil || d.skip(rid) }

// Next implements query.Documents.
func (d *documents) Next() bool {
	if d.items == nil || d.err != nil {
		return false
	}
	if d.posting != nil {
		return d.nextPosted()
	}
	for d.items.Next() {
		rid, ok := layout.SlotKeyNumber(d.items.Key())
		if !ok {
			d.err = engine.ErrCorrupt
			return false
		}
		if ok, d.err = d.s.take(&d.row, rid, d.items.Value(), false); ok || d.err != nil {
			return ok
		}
		if !d.passes(rid) {
			return false
		}
	}
	return false
}

func (d *documents) nextPosted() bool {
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

// nextRID is the next rid of the posting. Where the documents are far away those that follow are brought with
// it.
func (d *documents) nextRID() (rid uint64, more bool) {
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

// Document implements query.Documents.
func (d *documents) Document() query.Document { return &d.row }

// Err implements query.Documents.
func (d *documents) Err() error { return d.err }

// Close implements query.Documents.
func (d *documents) Close() error {
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

// Partition implements query.Source.
func (s *source) Partition() (query.Postings, bool) {
	if s.sp.prefix == nil {
		return nil, false
	}
	return posting.New(s.r, append(make([]byte, 0, len(s.sp.prefix)+layout.RIDLen), s.sp.prefix...)), true
}

// PartitionValues implements query.Partitioned. A key that is not whole, or has nothing in one of its places,
// has none: there documents have anything that is no scalar.
func (s *source) PartitionValues() []jsondoc.Value {
	values := s.sp.key.Values()
	if len(values) < s.c.def.Levels() ||
		slices.ContainsFunc(values, func(v jsondoc.Value) bool { return v.Kind() == jsondoc.Undefined }) {
		return nil
	}
	return values
}

// Postings implements query.Source.
func (s *source) Postings(prefix []byte) query.Postings {
	return posting.New(s.r, layout.SlotPrefix(s.s.scope, prefix))
}

// Terms implements query.Source.
func (s *source) Terms(lo, hi []byte, reverse bool) query.Terms {
	rg := engine.Range{Start: layout.SlotPrefix(s.s.scope, lo)}
	if hi == nil {
		rg.End = layout.SlotFamily(s.s.scope, layout.FamilyComposite).End
	} else {
		rg.End = layout.SlotPrefix(s.s.scope, hi)
	}
	return posting.NewTerms(s.r, rg, reverse)
}

// Value implements query.Values.
func (s *source) Value(key []byte, rid uint64) ([]byte, bool, error) {
	if s.entries == nil {
		rg := engine.Range{Start: layout.SlotFamily(s.s.scope, layout.FamilyTerms).Start,
			End: layout.SlotFamily(s.s.scope, layout.FamilyComposite).End}
		s.entries = s.r.Scan(rg, false)
	}
	s.key = append(append(append(s.key[:0], s.s.scope...), key...), make([]byte, layout.RIDLen)...)
	binary.BigEndian.PutUint64(s.key[len(s.key)-layout.RIDLen:], rid)
	if !s.entries.SeekGE(s.key) || !bytes.Equal(s.entries.Key(), s.key) {
		return nil, false, nil
	}
	return s.entries.Value(), true, nil
}
