package eval

import (
	"encoding/binary"
	"math"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/record"
)

// The record of a group in a file holds the number in the order in which it was found, its keys, and the
// state of each aggregate. Integers are varints; a value is its text, preceded by the text's length.

// notFinite marks, in the record of a group that is written to a temporary file, a number that JSON cannot
// represent: NaN or an infinity.
const notFinite = '#'

// appendKept appends a value to the record of a group: its JSON text, or the bits of a number that JSON
// cannot represent. decodeKept decodes it.
func appendKept(dst []byte, v jsondoc.Value) []byte {
	if n := v.Num(); v.Kind() == jsondoc.Number && (math.IsInf(n, 0) || math.IsNaN(n)) {
		return binary.BigEndian.AppendUint64(append(dst, 9, notFinite), math.Float64bits(n))
	}
	return record.AppendSized(dst, v.Raw())
}

func decodeKept(b []byte) jsondoc.Value {
	if len(b) == 9 && b[0] == notFinite {
		return jsondoc.NumberValue(math.Float64frombits(binary.BigEndian.Uint64(b[1:])))
	}
	return jsondoc.Of(b)
}

// Append appends the encoding in which the group is written to a temporary file: its number, its keys and the
// states of its aggregates.
func (one *GroupState) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, one.number)
	dst = binary.AppendUvarint(dst, uint64(len(one.keys)))
	for _, v := range one.keys {
		dst = appendKept(dst, v)
	}
	for _, state := range one.State {
		switch a := state.(type) {
		case *lang.CountAggregate:
			dst = binary.AppendUvarint(dst, uint64(a.N))
		case *lang.SumAverageAggregate:
			dst = append(dst, byte(TruthBit(a.Spoiled)))
			dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(a.Sum))
			dst = binary.AppendUvarint(dst, uint64(a.N))
			dst = binary.AppendUvarint(dst, uint64(len(a.List)))
			for _, n := range a.List {
				dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(n))
			}
		case *lang.MinMaxAggregate:
			dst = appendKept(append(dst, byte(TruthBit(a.Spoiled))), a.Best)
		case *lang.ArrayAggregate:
			dst = record.AppendSized(dst, a.Text)
		}
	}
	return dst
}

// merge adds the record of later rows of the same group. The group must have been created empty. It returns
// false if the record is invalid.
func (one *GroupState) merge(rec []byte) bool {
	r := record.BinaryReader{Rest: rec, Ok: true}
	turn := r.Uvarint()
	keys := make([]jsondoc.Value, r.Count())
	for i := range keys {
		keys[i] = decodeKept(r.Sized())
	}
	if one.keys == nil {
		one.number, one.keys = turn, keys
		for i, v := range keys {
			keys[i] = v.Clone()
		}
	}
	for _, state := range one.State {
		switch a := state.(type) {
		case *lang.CountAggregate:
			a.N += int64(r.Uvarint())
		case *lang.SumAverageAggregate:
			a.Spoiled = r.Byte() == 1 || a.Spoiled
			a.Sum += math.Float64frombits(r.Uint64())
			a.N += int64(r.Uvarint())
			for n := r.Count(); n > 0 && r.Ok; n-- {
				a.Sum += math.Float64frombits(r.Uint64())
			}
		case *lang.MinMaxAggregate:
			if r.Byte() == 1 {
				a.Spoiled, a.Best, a.Bytes = true, lang.Undefined, 0
			}
			a.Add(decodeKept(r.Sized()))
		case *lang.ArrayAggregate:
			jsondoc.Of(append(r.Sized(), ']')).Each(func(_ string, v jsondoc.Value) bool {
				a.Add(v)
				return true
			})
		}
	}
	return r.Ok && len(r.Rest) == 0
}

// TruthBit returns 1 if b is true, and 0 otherwise.
func TruthBit(b bool) int {
	if b {
		return 1
	}
	return 0
}
