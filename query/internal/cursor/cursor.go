package cursor

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/internal/record"
	"hash/fnv"
)

// A cursor is the content of a query's continuation token: the position at which a page ended, so that the
// next page resumes there. It stays valid after writes and in another process, and never expires. It holds no
// data of the documents except, for ORDER BY, the key of the last row:
//
//	version · form · hash of query and scope (8) · progress · offset · limit + 1 ·
//	key, cut at 256 bytes · hash of the whole key (8)
//
// Numbers without a size are varints. If the query reads one source after the other, the progress holds the
// position (see MultiSourceReadProgress). With ORDER BY, equal rows come in the order of their rids,
// whichever source they are in; the progress then has one entry, which holds the rid of the last row and
// applies to all sources. If all rows are made before the first is returned (the form Blocking), the progress
// counts rows of the result, and holds a hash of the spans of the sources in place of the rid. A split of a
// range may change the order of such rows, so the cursor is then refused. A cursor of groups holds the
// beginning of the last group's key, and the number of groups returned so far whose keys have this beginning.
//
// If the key was cut, the next page reads the whole key from the document. If the document no longer exists
// or has changed, the page begins with the first row whose key has the same beginning: rows may be returned
// twice, but none is missed.
const (
	cursorVersion = 3
	maxRows       = 1<<32 - 1 // the largest OFFSET and LIMIT
)

// PagePosition is the position at which a page of a query has ended: the decoded content of a continuation
// token (cursor).
type PagePosition struct {
	Form   PagingMode
	At     MultiSourceReadProgress // the position, if sources are read one after the other
	Source int                     // of the last document; -1: unknown
	Rid    uint64                  // of the last document
	// Rows is the number of rows of the last document that have been returned; 0: all. In the form
	// Blocking, where all rows are made before the first is returned, it is the number of returned rows of
	// the result
	Rows   int
	Offset int64
	Limit  int64 // -1: none
	Key    []byte
	Cut    bool   // Key is only the beginning of a key with the hash Sum
	Sum    uint64 // hash of the whole key
	Begun  bool   // the query has begun
}

// progress converts the position to the form in which a continuation token stores it. spans are the key
// intervals of the query's sources.
func (p PagePosition) progress(spans []SourceKeyRange) MultiSourceReadProgress {
	one := Begin(spans)
	switch {
	case p.Form == Blocking:
		one.marks = []SourceWalkSectionProgress{{one.within.To, SpansHash(spans), p.Rows}}
	case p.Form == Sorting, p.Form == Grouping:
		one.marks = []SourceWalkSectionProgress{{one.within.To, p.Rid, p.Rows}}
	case p.Source >= 0:
		return p.At.Reach(spans, p.Source, p.Rid, p.Rows)
	default:
		return p.At
	}
	return one
}

// SpansHash returns a hash of the spans and their order.
func SpansHash(spans []SourceKeyRange) uint64 {
	var b []byte
	for _, s := range spans {
		b = record.AppendSized(record.AppendSized(b, s.From), s.To)
	}
	return KeySum(b)
}

// Encode returns the position as the text of a continuation token. hash identifies the query and the part of
// the container that the query reads. spans are the key intervals that the query's sources cover.
func (p PagePosition) Encode(hash uint64, spans []SourceKeyRange) string {
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

// KeySum returns the hash of a whole ORDER BY or GROUP BY key. A cursor (the text of a continuation token)
// holds only the beginning of a long key, and this hash.
func KeySum(key []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(key) // a hash does not fail
	return h.Sum64()
}

// Decode decodes a cursor, the text of a continuation token, and checks it: hash must be that of the query
// and its scope, and the key intervals of the sources (spans) must lie within those of the run that made the
// cursor. Otherwise it returns a *queryerror.CursorError.
func Decode(text string, hash uint64, f PagingMode, spans []SourceKeyRange) (PagePosition, error) {
	bad := func(reason string) (PagePosition,
		error) {
		return PagePosition{}, &queryerror.CursorError{Reason: reason}
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	switch {
	case err != nil || len(b) < 10:
		return bad("it is malformed.")
	case b[0] != cursorVersion:
		return bad("it was made by another version.")
	case PagingMode(b[1]) != f || binary.BigEndian.Uint64(b[2:]) != hash:
		return bad("it belongs to another query.")
	}
	p := PagePosition{Form: f, Source: -1, Begun: true}
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
	r := record.BinaryReader{Rest: rest, Ok: true}
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

// PagingMode says in which order a plan returns rows, and by what a continuation token (cursor) names the
// position between two pages.
type PagingMode uint8

const (
	Streaming PagingMode = iota // rows in rid order; the cursor is a rid
	Sorting                     // rows by ORDER BY; the cursor is a key and a rid
	Blocking                    // all rows are made before the first is returned; the cursor is a count
	Grouping                    // rows are groups in the order of their keys; the cursor is a key
)
