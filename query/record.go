package query

import (
	"encoding/binary"
	"math"
)

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

// count reads a number of things.
func (r *reader) count() int {
	n := r.uvarint()
	if n > math.MaxInt32 {
		r.ok = false
		return 0
	}
	return int(n)
}

// sized reads bytes behind their number.
func (r *reader) sized() []byte {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.ok = false
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() (b byte) {
	if r.ok = r.ok && len(r.rest) > 0; r.ok {
		b, r.rest = r.rest[0], r.rest[1:]
	}
	return b
}

func appendSized(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// maxCursorKey is how many bytes of a key a cursor holds.
const maxCursorKey = 256
