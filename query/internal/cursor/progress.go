package cursor

import (
	"bytes"
	"encoding/binary"
	"github.com/mayflydb/mayfly/query/internal/record"
	"math"
)

// Span is what a source covers: [From, To) of an order in which the sources follow one another without gaps.
// An empty To is the end of that order.
type Span struct{ From, To []byte }

// holds reports whether o lies in s. What is empty lies anywhere.
func (s Span) holds(o Span) bool {
	if len(o.To) > 0 && bytes.Compare(o.From, o.To) >= 0 {
		return true
	}
	return bytes.Compare(s.From, o.From) <= 0 && endsBy(o.To, s.To)
}

// endsBy reports whether the end a is not behind the end b.
func endsBy(a, b []byte) bool { return len(b) == 0 || len(a) > 0 && bytes.Compare(a, b) <= 0 }

// whole is what the sources cover together.
func whole(spans []Span) (all Span) {
	if n := len(spans); n > 0 {
		all = Span{spans[0].From, spans[n-1].To}
	}
	return all
}

// NumberedSpans stand for sources of which nothing is known but their number.
func NumberedSpans(n int) []Span {
	spans := make([]Span, n)
	for i := range n - 1 {
		spans[i].To = binary.BigEndian.AppendUint32(nil, uint32(i+1))
		spans[i+1].From = spans[i].To
	}
	return spans
}

// Progress reports how far a walk has come that goes over one source after the other, and over each in the
// order of rids.
//
// Between two pages a source may be divided: then some of what lay behind the position is in each part. So
// the progress does not name sources but sections of the order that they follow one another in, and says of
// each up to which rid its documents have been given out. A part of a source lies in one section, and its
// documents have kept their rids: it goes on behind the section's. Thus the progress is also good for a walk
// over a part of what the first one covered.
//
// In bytes: the two ends of what is covered, the number of sections, and for each its end, rid and rows. Ends
// and numbers follow their length and are varints; a rid has 8 bytes, big-endian.
type Progress struct {
	within Span
	marks  []Mark // ascending; of what is behind the last one nothing has been given out
}

// Mark is how far the section of a walk is that ends at to.
type Mark struct {
	to   []byte
	Rid  uint64 // 0: nothing was given out; finished: all of it
	Rows int    // of the document rid that were given out; 0: all
}

const finished = math.MaxUint64

// Begin is the progress of a walk that has not begun, over sources that cover the spans.
func Begin(spans []Span) Progress { return Progress{within: whole(spans)} }

// Covers reports whether the progress is one of a walk over these spans, or over more than them.
func (p Progress) Covers(spans []Span) bool { return p.within.holds(whole(spans)) }

// At returns the last rid that was given out of a span, 0 for none, and how many rows of that document, 0 for
// all of them. It is false where nothing is left of the span.
func (p Progress) At(s Span) (rid uint64, rows int, left bool) {
	for _, m := range p.marks {
		if endsBy(s.To, m.to) {
			return m.Rid, m.Rows, m.Rid != finished
		}
	}
	return 0, 0, true
}

// Reach is the progress of a walk that has gone on from p to a document of the i-th of the spans, and has
// given out so many of the document's rows; 0: all.
func (p Progress) Reach(spans []Span, i int, rid uint64, rows int) Progress {
	next := Begin(spans)
	if i > 0 {
		next.mark(Mark{to: spans[i].From, Rid: finished})
	}
	next.mark(Mark{spans[i].To, rid, rows})
	for _, s := range spans[i+1:] {
		rid, rows, _ := p.At(s)
		next.mark(Mark{s.To, rid, rows})
	}
	if n := len(next.marks); next.marks[n-1].Rid == 0 {
		next.marks = next.marks[:n-1]
	}
	return next
}

// Mark adds the mark of the next section. One that says the same as the last is a part of it.
func (p *Progress) mark(m Mark) {
	if n := len(p.marks); n > 0 && p.marks[n-1].Rid == m.Rid && p.marks[n-1].Rows == m.Rows {
		p.marks[n-1].to = m.to
		return
	}
	p.marks = append(p.marks, m)
}

// Append appends the progress in bytes.
func (p Progress) Append(dst []byte) []byte {
	dst = record.AppendSized(record.AppendSized(dst, p.within.From), p.within.To)
	dst = binary.AppendUvarint(dst, uint64(len(p.marks)))
	for _, m := range p.marks {
		dst = binary.BigEndian.AppendUint64(record.AppendSized(dst, m.to), m.Rid)
		dst = binary.AppendUvarint(dst, uint64(m.Rows))
	}
	return dst
}

// ParseProgress reads a progress and returns what follows it; false where it is malformed. It holds slices of
// b.
func ParseProgress(b []byte) (p Progress, rest []byte, ok bool) {
	r := record.Reader{Rest: b, Ok: true}
	p.within = Span{r.Sized(), r.Sized()}
	for n := r.Uvarint(); n > 0 && r.Ok; n-- {
		p.marks = append(p.marks, Mark{r.Sized(), r.Uint64(), r.Count()})
	}
	return p, r.Rest, r.Ok
}
