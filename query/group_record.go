package query

import (
	"encoding/binary"
	"math"

	"github.com/mayflydb/mayfly/doc"
)

// A group in a file is a record: when it turned up, its keys, and the state of each aggregate. Numbers are
// varints where they are whole; a value is its text behind the length of that.

// notFinite stands, in place of a text, for a number that JSON has no text for.
const notFinite = '#'

// appendKept appends a value in a form that decodeKept reads back.
func appendKept(dst []byte, v doc.Value) []byte {
	if n := v.Num(); v.Kind() == doc.Number && (math.IsInf(n, 0) || math.IsNaN(n)) {
		return binary.BigEndian.AppendUint64(append(dst, 9, notFinite), math.Float64bits(n))
	}
	return appendSized(dst, v.Raw())
}

func decodeKept(b []byte) doc.Value {
	if len(b) == 9 && b[0] == notFinite {
		return doc.NumberValue(math.Float64frombits(binary.BigEndian.Uint64(b[1:])))
	}
	return doc.Of(b)
}

// appendKey appends the record of a group.
func (one *bucket) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, one.turn)
	dst = binary.AppendUvarint(dst, uint64(len(one.keys)))
	for _, v := range one.keys {
		dst = appendKept(dst, v)
	}
	for _, state := range one.state {
		switch a := state.(type) {
		case *counter:
			dst = binary.AppendUvarint(dst, uint64(a.n))
		case *adder:
			dst = append(dst, byte(truthBit(a.spoiled)))
			dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(a.sum))
			dst = binary.AppendUvarint(dst, uint64(a.n))
			dst = binary.AppendUvarint(dst, uint64(len(a.list)))
			for _, n := range a.list {
				dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(n))
			}
		case *extreme:
			dst = appendKept(append(dst, byte(truthBit(a.spoiled))), a.best)
		case *collector:
			dst = appendSized(dst, a.text)
		}
	}
	return dst
}

// merge adds a record of the same group, whose rows came later, to one that began empty. It is false where
// the record is none.
func (one *bucket) merge(record []byte) bool {
	r := reader{rest: record, ok: true}
	turn := r.uvarint()
	keys := make([]doc.Value, r.count())
	for i := range keys {
		keys[i] = decodeKept(r.sized())
	}
	if one.keys == nil {
		one.turn, one.keys = turn, keys
		for i, v := range keys {
			keys[i] = v.Clone()
		}
	}
	for _, state := range one.state {
		switch a := state.(type) {
		case *counter:
			a.n += int64(r.uvarint())
		case *adder:
			a.spoiled = r.byte() == 1 || a.spoiled
			a.sum += math.Float64frombits(r.uint64())
			a.n += int64(r.uvarint())
			for n := r.count(); n > 0 && r.ok; n-- {
				a.sum += math.Float64frombits(r.uint64())
			}
		case *extreme:
			if r.byte() == 1 {
				a.spoiled, a.best, a.bytes = true, undefined, 0
			}
			a.add(decodeKept(r.sized()))
		case *collector:
			doc.Of(append(r.sized(), ']')).Each(func(_ string, v doc.Value) bool {
				a.add(v)
				return true
			})
		}
	}
	return r.ok && len(r.rest) == 0
}

func truthBit(b bool) int {
	if b {
		return 1
	}
	return 0
}
