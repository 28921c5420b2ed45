package query

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
)

// A cursor says where a page ended, so that the next one goes on there: in another process, after writes, whenever. It holds
// nothing of the documents but, for ORDER BY, the key of the last row:
//
//	version · form · hash of query and scope (8) · source · rid (8) · rows · offset · limit + 1 · key, cut at 256 · its hash (8)
//
// numbers without a size are varints. rows is how many rows of the document rid have been given out, 0 for all of them; for
// the blocking form it counts rows of the result, and source and rid are 0. A key that was cut is found again in the
// document; where that is gone or has changed the page begins with the first row whose key begins like it: rows may repeat, none
// is missed.
const (
	cursorVersion = 1
	maxCursorKey  = 256
)

// bookmark is what a cursor holds.
type bookmark struct {
	form   form
	source int
	rid    uint64
	rows   int // of the document that were given out; 0: all
	offset int64
	limit  int64 // -1: none
	key    []byte
	cut    bool   // key is the beginning of one with this hash
	sum    uint64 // of the whole key
	begun  bool   // not the beginning of the query
}

func (p bookmark) encode(hash uint64) string {
	b := append(make([]byte, 0, 64+len(p.key)), cursorVersion, byte(p.form))
	b = binary.BigEndian.AppendUint64(b, hash)
	b = binary.AppendUvarint(b, uint64(p.source))
	b = binary.BigEndian.AppendUint64(b, p.rid)
	b = binary.AppendUvarint(b, uint64(p.rows))
	b = binary.AppendUvarint(b, uint64(p.offset))
	b = binary.AppendUvarint(b, uint64(p.limit+1))
	if p.form == sorting {
		b = append(b, p.key[:min(len(p.key), maxCursorKey)]...)
		b = binary.BigEndian.AppendUint64(b, keySum(p.key))
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func keySum(key []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(key) // a hash does not fail
	return h.Sum64()
}

// decodeCursor reads a cursor of the query that the hash stands for.
func decodeCursor(text string, hash uint64, f form, sources int) (bookmark, error) {
	bad := func(reason string) (bookmark, error) { return bookmark{}, &CursorError{reason} }
	b, err := base64.RawURLEncoding.DecodeString(text)
	switch {
	case err != nil || len(b) < 10:
		return bad("it is malformed.")
	case b[0] != cursorVersion:
		return bad("it was made by another version.")
	case form(b[1]) != f || binary.BigEndian.Uint64(b[2:]) != hash:
		return bad("it belongs to another query.")
	}
	p := bookmark{form: f, begun: true}
	r := reader{rest: b[10:], ok: true}
	source := r.uvarint()
	p.rid = r.uint64()
	p.rows, p.offset, p.limit = int(r.uvarint()), int64(r.uvarint()), int64(r.uvarint())-1
	if source >= uint64(max(sources, 1)) || p.rows < 0 || p.offset < 0 || p.offset > maxCount || p.limit > maxCount || !r.ok {
		return bad("it is malformed.")
	}
	p.source = int(source)
	if f == sorting {
		if len(r.rest) < 8 || len(r.rest) > maxCursorKey+8 {
			return bad("it is malformed.")
		}
		n := len(r.rest) - 8
		p.key, p.sum = bytes.Clone(r.rest[:n]), binary.BigEndian.Uint64(r.rest[n:])
		if p.cut = p.sum != keySum(p.key); p.cut && n < maxCursorKey {
			return bad("it is malformed.")
		}
	} else if len(r.rest) > 0 {
		return bad("it is malformed.")
	}
	return p, nil
}

// reader reads numbers off bytes; ok turns false where they end too early.
type reader struct {
	rest []byte
	ok   bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v >= 1<<63 {
		r.ok = false
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) uint64() uint64 {
	if len(r.rest) < 8 {
		r.ok = false
		return 0
	}
	v := binary.BigEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return v
}
