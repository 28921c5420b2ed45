package spill

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/s2"
)

// A run is a part of a file: a sequence of blocks. A block is
//
//	length of the data (4) · checksum of the data (4) · data: records, compressed
//
// and a record is the length of its key, the key, the length of its payload, the payload; the lengths are
// varints. A record is never divided between two blocks.
const (
	blockSize  = 32 << 10 // size of the records at which a block is written
	headerSize = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sortedRunExtent says where a run (a sorted sequence of records) lies in its file: from byte from to byte
// to.
type sortedRunExtent struct{ from, to int64 }

// sortedRunWriter appends sorted runs of records to a file: see sortedRunExtent.
type sortedRunWriter struct {
	f     *tempFile
	spend func(int) bool
	raw   []byte
	out   []byte
}

func (w *sortedRunWriter) add(key, payload []byte) error {
	w.raw = appendRecord(w.raw, key, payload)
	if len(w.raw) < blockSize {
		return nil
	}
	return w.flush()
}

func appendRecord(dst, key, payload []byte) []byte {
	dst = append(binary.AppendUvarint(dst, uint64(len(key))), key...)
	return append(binary.AppendUvarint(dst, uint64(len(payload))), payload...)
}

// flush writes the records that have been gathered to the file, as one block.
func (w *sortedRunWriter) flush() error {
	if len(w.raw) == 0 {
		return nil
	}
	if !w.spend(len(w.raw)) {
		return ErrStopped
	}
	if n := headerSize + s2.MaxEncodedLen(len(w.raw)); cap(w.out) < n {
		w.out = make([]byte, n)
	}
	body := s2.Encode(w.out[headerSize:cap(w.out)], w.raw)
	w.out = append(w.out[:headerSize], body...)
	binary.BigEndian.PutUint32(w.out, uint32(len(body)))
	binary.BigEndian.PutUint32(w.out[4:], crc32.Checksum(body, castagnoli))
	w.raw = w.raw[:0]
	return w.f.write(w.out)
}

// sortedRunReader reads the records of a run in order.
type sortedRunReader struct {
	f            *tempFile
	at, to       int64
	stored, raw  []byte
	rest         []byte // unread part of raw
	key, payload []byte
}

// next advances to the next record; it returns false at the end. When it reads a block of the file, it calls
// spend with the work of that, and fails with ErrStopped if spend returns false.
func (r *sortedRunReader) next(spend func(int) bool) (bool, error) {
	if len(r.rest) == 0 {
		if r.at >= r.to {
			return false, nil
		}
		if err := r.block(spend); err != nil {
			return false, err
		}
	}
	var ok1, ok2 bool
	r.key, r.rest, ok1 = cut(r.rest)
	r.payload, r.rest, ok2 = cut(r.rest)
	if !ok1 || !ok2 {
		return false, &Error{"read", ErrCorrupt}
	}
	return true, nil
}

// cut splits b into the field at its front, which is preceded by its length, and the rest.
func cut(b []byte) (field, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, false
	}
	return b[size : size+int(n) : size+int(n)], b[size+int(n):], true
}

// block reads the next block of the file, checks its checksum and decompresses it. spend receives the work
// done; if it returns false, the reading ends.
func (r *sortedRunReader) block(spend func(int) bool) error {
	var head [headerSize]byte
	if err := r.f.read(head[:], r.at); err != nil {
		return err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if r.at += headerSize; n > r.to-r.at {
		return &Error{"read", ErrCorrupt}
	}
	if int64(cap(r.stored)) < n {
		r.stored = make([]byte, n)
	}
	r.stored = r.stored[:n]
	if err := r.f.read(r.stored, r.at); err != nil {
		return err
	}
	if crc32.Checksum(r.stored, castagnoli) != binary.BigEndian.Uint32(head[4:]) {
		return &Error{"read", ErrCorrupt}
	}
	raw, err := s2.Decode(r.raw[:cap(r.raw)], r.stored)
	if err != nil {
		return &Error{"read", ErrCorrupt}
	}
	r.raw, r.rest = raw, raw
	if r.at += n; !spend(len(raw)) {
		return ErrStopped
	}
	return nil
}

// held returns the number of bytes of memory that the reader uses.
func (r *sortedRunReader) held() int { return cap(r.stored) + cap(r.raw) }
