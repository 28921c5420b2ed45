package cursor

import (
	"bytes"
	"encoding/binary"
	"github.com/mayflydb/mayfly/query/internal/record"
	"math"
)

// SourceKeyRange is the interval [From, To) of keys that a source of a query covers: effective partition
// keys, if the source is a partition range. The spans of a query's sources follow one another in order. An
// empty To is the end of all keys.
type SourceKeyRange struct{ From, To []byte }

// holds reports whether s contains o. An empty range is contained in every range.
func (s SourceKeyRange) holds(o SourceKeyRange) bool {
	if len(o.To) > 0 && bytes.Compare(o.From, o.To) >= 0 {
		return true
	}
	return bytes.Compare(s.From, o.From) <= 0 && endsBy(o.To, s.To)
}

// endsBy reports whether a key interval that ends at a ends at or before one that ends at b. An empty end
// means that an interval has no upper bound.
func endsBy(a, b []byte) bool { return len(b) == 0 || len(a) > 0 && bytes.Compare(a, b) <= 0 }

// whole returns the span from the beginning of the first of the spans, which are in order, to the end of the
// last one.
func whole(spans []SourceKeyRange) (all SourceKeyRange) {
	if n := len(spans); n > 0 {
		all = SourceKeyRange{spans[0].From, spans[n-1].To}
	}
	return all
}

// NumberedSpans returns spans for n sources for which no key intervals are given: the i-th goes from the
// number i to i+1, as 4 bytes. The first span has no lower and the last no upper bound.
func NumberedSpans(n int) []SourceKeyRange {
	spans := make([]SourceKeyRange, n)
	for i := range n - 1 {
		spans[i].To = binary.BigEndian.AppendUint32(nil, uint32(i+1))
		spans[i+1].From = spans[i].To
	}
	return spans
}

// MultiSourceReadProgress is the position of a walk that reads one source after the other, each in the order
// of rids.
//
// A source may be divided between two pages. Each of its parts then contains some of the documents that have
// not been returned yet. So the progress does not name sources but sections of the order in which the sources
// follow one another. For each section it holds the last rid whose document has been returned. A part of a
// source lies in one section, and its documents keep their rids, so the walk resumes in that part after the
// section's rid. For the same reason the progress is valid for a walk over a part of what the first walk
// covered.
//
// In bytes: the two ends of the covered span, the number of sections, and for each section its end, rid and
// rows. Ends are preceded by their length; lengths and numbers are varints; a rid has 8 bytes, big-endian.
type MultiSourceReadProgress struct {
	within SourceKeyRange
	marks  []SourceWalkSectionProgress // in ascending order; nothing after the last one has been returned
}

// SourceWalkSectionProgress says how far a walk over several sources, one after the other, has come in one
// section: an interval of that order, which ends at to.
type SourceWalkSectionProgress struct {
	to   []byte
	Rid  uint64 // last rid returned; 0: none; finished: the whole section
	Rows int    // rows of that document returned so far; 0: all
}

const finished = math.MaxUint64

// Begin returns the progress of a walk that has not begun, over sources that cover the spans.
func Begin(spans []SourceKeyRange) MultiSourceReadProgress {
	return MultiSourceReadProgress{within: whole(spans)}
}

// Covers reports whether p is the progress of a walk over at least the given spans of partition keys, so that
// a walk over these spans can resume from p.
func (p MultiSourceReadProgress) Covers(spans []SourceKeyRange) bool {
	return p.within.holds(whole(spans))
}

// At returns how far the walk has come in the span s: the last rid that it has returned there, or 0 if none,
// and how many rows of that rid's document it has returned, or 0 if all. left is false if the walk has
// returned the whole span.
func (p MultiSourceReadProgress) At(s SourceKeyRange) (rid uint64, rows int, left bool) {
	for _, m := range p.marks {
		if endsBy(s.To, m.to) {
			return m.Rid, m.Rows, m.Rid != finished
		}
	}
	return 0, 0, true
}

// Reach returns the progress of a walk that has continued from p and has just returned the document rid of
// the source whose span is spans[i]. rows is the number of rows of that document that have been returned;
// 0 means all.
func (p MultiSourceReadProgress) Reach(spans []SourceKeyRange, i int, rid uint64,
	rows int) MultiSourceReadProgress {
	next := Begin(spans)
	if i > 0 {
		next.mark(SourceWalkSectionProgress{to: spans[i].From, Rid: finished})
	}
	next.mark(SourceWalkSectionProgress{spans[i].To, rid, rows})
	for _, s := range spans[i+1:] {
		rid, rows, _ := p.At(s)
		next.mark(SourceWalkSectionProgress{s.To, rid, rows})
	}
	if n := len(next.marks); next.marks[n-1].Rid == 0 {
		next.marks = next.marks[:n-1]
	}
	return next
}

// mark appends m, the position of the walk in the section of sources after the last one. If that section has
// the same position (rid and rows), it is extended to the end of m instead.
func (p *MultiSourceReadProgress) mark(m SourceWalkSectionProgress) {
	if n := len(p.marks); n > 0 && p.marks[n-1].Rid == m.Rid && p.marks[n-1].Rows == m.Rows {
		p.marks[n-1].to = m.to
		return
	}
	p.marks = append(p.marks, m)
}

// Append appends the encoded progress.
func (p MultiSourceReadProgress) Append(dst []byte) []byte {
	dst = record.AppendSized(record.AppendSized(dst, p.within.From), p.within.To)
	dst = binary.AppendUvarint(dst, uint64(len(p.marks)))
	for _, m := range p.marks {
		dst = binary.BigEndian.AppendUint64(record.AppendSized(dst, m.to), m.Rid)
		dst = binary.AppendUvarint(dst, uint64(m.Rows))
	}
	return dst
}

// ParseProgress reads a progress from the front of b and returns the bytes behind it. ok is false if b is
// malformed. The progress holds slices of b.
func ParseProgress(b []byte) (p MultiSourceReadProgress, rest []byte, ok bool) {
	r := record.BinaryReader{Rest: b, Ok: true}
	p.within = SourceKeyRange{r.Sized(), r.Sized()}
	for n := r.Uvarint(); n > 0 && r.Ok; n-- {
		p.marks = append(p.marks, SourceWalkSectionProgress{r.Sized(), r.Uint64(), r.Count()})
	}
	return p, r.Rest, r.Ok
}
