package cursor

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"github.com/mayflydb/mayfly/query/internal/fault"
	"github.com/mayflydb/mayfly/query/internal/record"
	"hash/fnv"
)

// A cursor says where a page ended, so that the next one goes on there: in another process, after writes,
// whenever. It holds nothing of the documents but, for ORDER BY, the key of the last row:
//
//	version · form · hash of query and scope (8) · progress · offset · limit + 1 · key, cut at 256 · its hash (8)
//
// numbers without a size are varints. Where the query goes over one source after the other the progress says
// where it is (see Progress). With ORDER BY equal rows come in the order of their rids, whatever source they
// are in: the progress has one mark, with the rid of the last row, and that says it for any part of a source.
// In the blocking form the progress counts rows of the result, and holds a hash of the spans in place of the
// rid: when a source has been divided, the rows may come in another order, so the cursor is refused. A cursor
// of groups holds the beginning of the last one's key, and how many groups were given out whose keys begin
// so.
//
// A key that was cut is found again in the document; where that is gone or has changed the page begins with
// the first row whose key begins like it: rows may repeat, none is missed.
const (
	cursorVersion = 3
	maxRows       = 1<<32 - 1 // of OFFSET and of LIMIT
)

// Bookmark is what a cursor holds.
type Bookmark struct {
	Form   Form
	At     Progress // where the query goes over one source after the other
	Source int      // of the last document; -1: that is not known
	Rid    uint64   // of the last document
	Rows   int      // of the document that were given out, 0 for all; blocking: of the result
	Offset int64
	Limit  int64 // -1: none
	Key    []byte
	Cut    bool   // key is the beginning of one with this hash
	Sum    uint64 // of the whole key
	Begun  bool   // not the beginning of the query
}

// progress is how far the query has come over sources that cover the spans.
func (p Bookmark) progress(spans []Span) Progress {
	one := Begin(spans)
	switch {
	case p.Form == Blocking:
		one.marks = []Mark{{one.within.To, SpansHash(spans), p.Rows}}
	case p.Form == Sorting, p.Form == Grouping:
		one.marks = []Mark{{one.within.To, p.Rid, p.Rows}}
	case p.Source >= 0:
		return p.At.Reach(spans, p.Source, p.Rid, p.Rows)
	default:
		return p.At
	}
	return one
}

// SpansHash stands for the spans and their order.
func SpansHash(spans []Span) uint64 {
	var b []byte
	for _, s := range spans {
		b = record.AppendSized(record.AppendSized(b, s.From), s.To)
	}
	return KeySum(b)
}

// Encode returns the cursor, with the hash of the query and its scope.
func (p Bookmark) Encode(hash uint64, spans []Span) string {
	b := append(make([]byte, 0, 128+len(p.Key)), cursorVersion, byte(p.Form))
	b = binary.BigEndian.AppendUint64(b, hash)
	b = p.progress(spans).Append(b)
	b = binary.AppendUvarint(b, uint64(p.Offset))
	b = binary.AppendUvarint(b, uint64(p.Limit+1))
	if p.Form == Sorting || p.Form == Grouping {
		b = append(b, p.Key[:min(len(p.Key), record.MaxCursorKey)]...)
		b = binary.BigEndian.AppendUint64(b, KeySum(p.Key))
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// KeySum returns the hash of a key that a cursor holds the beginning of.
func KeySum(key []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(key) // a hash does not fail
	return h.Sum64()
}

// Decode reads a cursor of the query that the hash stands for, for sources that cover the spans.
func Decode(text string, hash uint64, f Form, spans []Span) (Bookmark, error) {
	bad := func(reason string) (Bookmark, error) { return Bookmark{}, &fault.CursorError{Reason: reason} }
	b, err := base64.RawURLEncoding.DecodeString(text)
	switch {
	case err != nil || len(b) < 10:
		return bad("it is malformed.")
	case b[0] != cursorVersion:
		return bad("it was made by another version.")
	case Form(b[1]) != f || binary.BigEndian.Uint64(b[2:]) != hash:
		return bad("it belongs to another query.")
	}
	p := Bookmark{Form: f, Source: -1, Begun: true}
	var rest []byte
	var ok bool
	if p.At, rest, ok = ParseProgress(b[10:]); !ok || f != Streaming && len(p.At.marks) != 1 {
		return bad("it is malformed.")
	}
	if !p.At.Covers(spans) {
		return bad("it belongs to another part of the container.")
	}
	if f != Streaming {
		p.Rid, p.Rows = p.At.marks[0].Rid, p.At.marks[0].Rows
	}
	if f == Blocking && p.Rid != SpansHash(spans) {
		return bad("the partition ranges have changed since.")
	}
	r := record.Reader{Rest: rest, Ok: true}
	p.Offset, p.Limit = int64(r.Uvarint()), int64(r.Uvarint())-1
	if p.Offset < 0 || p.Offset > maxRows || p.Limit > maxRows || !r.Ok {
		return bad("it is malformed.")
	}
	if f == Sorting || f == Grouping {
		if len(r.Rest) < 8 || len(r.Rest) > record.MaxCursorKey+8 {
			return bad("it is malformed.")
		}
		n := len(r.Rest) - 8
		p.Key, p.Sum = bytes.Clone(r.Rest[:n]), binary.BigEndian.Uint64(r.Rest[n:])
		if p.Cut = p.Sum != KeySum(p.Key); p.Cut && n < record.MaxCursorKey {
			return bad("it is malformed.")
		}
	} else if len(r.Rest) > 0 {
		return bad("it is malformed.")
	}
	return p, nil
}

// Form is the way in which a plan runs and pages.
type Form uint8

const (
	Streaming Form = iota // rows in rid order; the cursor is a rid
	Sorting               // rows by ORDER BY; the cursor is a key and a rid
	Blocking              // all rows are made before the first is given out; the cursor is a count
	Grouping              // rows are groups by the order of their keys; the cursor is a key
)
