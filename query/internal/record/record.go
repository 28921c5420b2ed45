package record

import (
	"encoding/binary"
	"math"
)

// BinaryReader reads numbers and byte strings from the bytes in Rest, and advances Rest past them. A read
// that needs more bytes than there are, or finds an invalid value, returns zero and sets Ok, which must be
// true at first, to false.
type BinaryReader struct {
	Rest []byte
	Ok   bool
}

// Uvarint reads a varint.
func (r *BinaryReader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.Rest)
	if n <= 0 || v >= 1<<63 {
		r.Ok = false
		return 0
	}
	r.Rest = r.Rest[n:]
	return v
}

// Uint64 reads eight bytes, big-endian.
func (r *BinaryReader) Uint64() uint64 {
	if len(r.Rest) < 8 {
		r.Ok = false
		return 0
	}
	v := binary.BigEndian.Uint64(r.Rest)
	r.Rest = r.Rest[8:]
	return v
}

// Count reads a varint that must fit in an int32.
func (r *BinaryReader) Count() int {
	n := r.Uvarint()
	if n > math.MaxInt32 {
		r.Ok = false
		return 0
	}
	return int(n)
}

// Sized reads a byte string preceded by its length.
func (r *BinaryReader) Sized() []byte {
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		r.Ok = false
		return nil
	}
	b := r.Rest[:n:n]
	r.Rest = r.Rest[n:]
	return b
}

// Byte reads one byte.
func (r *BinaryReader) Byte() (b byte) {
	if r.Ok = r.Ok && len(r.Rest) > 0; r.Ok {
		b, r.Rest = r.Rest[0], r.Rest[1:]
	}
	return b
}

// AppendSized appends a byte string preceded by its length.
func AppendSized(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// MaxCursorKey is the maximum number of bytes of an ORDER BY or GROUP BY key that a continuation token
// (cursor) holds. Longer keys are cut.
const MaxCursorKey = 256
