package query

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
const cursorVersion = 3

// bookmark is what a cursor holds.
type bookmark struct {
	form   form
	at     Progress // where the query goes over one source after the other
	source int      // of the last document; -1: that is not known
	rid    uint64   // of the last document
	rows   int      // of the document that were given out, 0 for all; blocking: of the result
	offset int64
	limit  int64 // -1: none
	key    []byte
	cut    bool   // key is the beginning of one with this hash
	sum    uint64 // of the whole key
	begun  bool   // not the beginning of the query
}

// progress is how far the query has come over sources that cover the spans.
func (p bookmark) progress(spans []Span) Progress {
	one := Begin(spans)
	switch {
	case p.form == blocking:
		one.marks = []mark{{one.within.To, spansHash(spans), p.rows}}
	case p.form == sorting, p.form == grouping:
		one.marks = []mark{{one.within.To, p.rid, p.rows}}
	case p.source >= 0:
		return p.at.Reach(spans, p.source, p.rid, p.rows)
	default:
		return p.at
	}
	return one
}

// spansHash stands for the spans and their order.
func spansHash(spans []Span) uint64 {
	var b []byte
	for _, s := range spans {
		b = record.AppendSized(record.AppendSized(b, s.From), s.To)
	}
	return keySum(b)
}

func (p bookmark) encode(hash uint64, spans []Span) string {
	b := append(make([]byte, 0, 128+len(p.key)), cursorVersion, byte(p.form))
	b = binary.BigEndian.AppendUint64(b, hash)
	b = p.progress(spans).Append(b)
	b = binary.AppendUvarint(b, uint64(p.offset))
	b = binary.AppendUvarint(b, uint64(p.limit+1))
	if p.form == sorting || p.form == grouping {
		b = append(b, p.key[:min(len(p.key), record.MaxCursorKey)]...)
		b = binary.BigEndian.AppendUint64(b, keySum(p.key))
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func keySum(key []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(key) // a hash does not fail
	return h.Sum64()
}

// decodeCursor reads a cursor of the query that the hash stands for, for sources that cover the spans.
func decodeCursor(text string, hash uint64, f form, spans []Span) (bookmark, error) {
	bad := func(reason string) (bookmark, error) { return bookmark{}, &fault.CursorError{Reason: reason} }
	b, err := base64.RawURLEncoding.DecodeString(text)
	switch {
	case err != nil || len(b) < 10:
		return bad("it is malformed.")
	case b[0] != cursorVersion:
		return bad("it was made by another version.")
	case form(b[1]) != f || binary.BigEndian.Uint64(b[2:]) != hash:
		return bad("it belongs to another query.")
	}
	p := bookmark{form: f, source: -1, begun: true}
	var rest []byte
	var ok bool
	if p.at, rest, ok = ParseProgress(b[10:]); !ok || f != streaming && len(p.at.marks) != 1 {
		return bad("it is malformed.")
	}
	if !p.at.Covers(spans) {
		return bad("it belongs to another part of the container.")
	}
	if f != streaming {
		p.rid, p.rows = p.at.marks[0].rid, p.at.marks[0].rows
	}
	if f == blocking && p.rid != spansHash(spans) {
		return bad("the partition ranges have changed since.")
	}
	r := record.Reader{Rest: rest, Ok: true}
	p.offset, p.limit = int64(r.Uvarint()), int64(r.Uvarint())-1
	if p.offset < 0 || p.offset > maxCount || p.limit > maxCount || !r.Ok {
		return bad("it is malformed.")
	}
	if f == sorting || f == grouping {
		if len(r.Rest) < 8 || len(r.Rest) > record.MaxCursorKey+8 {
			return bad("it is malformed.")
		}
		n := len(r.Rest) - 8
		p.key, p.sum = bytes.Clone(r.Rest[:n]), binary.BigEndian.Uint64(r.Rest[n:])
		if p.cut = p.sum != keySum(p.key); p.cut && n < record.MaxCursorKey {
			return bad("it is malformed.")
		}
	} else if len(r.Rest) > 0 {
		return bad("it is malformed.")
	}
	return p, nil
}

// form is the way in which a plan runs and pages.
type form uint8

const (
	streaming form = iota // rows in rid order; the cursor is a rid
	sorting               // rows by ORDER BY; the cursor is a key and a rid
	blocking              // all rows are made before the first is given out; the cursor is a count
	grouping              // rows are groups by the order of their keys; the cursor is a key
)
