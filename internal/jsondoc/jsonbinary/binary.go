package jsonbinary

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// AppendBinary appends v as binary JSON, beginning with the preamble. v must be valid (see jsondoc.Valid). In
// names and strings a lone surrogate, which UTF-8 cannot represent, becomes U+FFFD.
func AppendBinary(dst []byte, v jsondoc.Value) []byte {
	return appendValue(append(dst, Preamble), v)
}

func appendValue(dst []byte, v jsondoc.Value) []byte {
	switch v.Kind() {
	case jsondoc.Bool:
		if v.Bool() {
			return append(dst, boolTrue)
		}
		return append(dst, boolFalse)
	case jsondoc.Number:
		return appendNumber(dst, v)
	case jsondoc.String:
		return appendString(dst, v.Str())
	case jsondoc.Array:
		return appendContainer(dst, v, array0)
	case jsondoc.Object:
		return appendContainer(dst, v, object0)
	}
	return append(dst, null)
}

// appendContainer appends an array or an object. empty is the marker of an empty one; its other markers are
// offsets from this one.
func appendContainer(dst []byte, v jsondoc.Value, empty byte) []byte {
	const one, counted = 1, 5 // offsets of the markers
	start, n := len(dst), 0
	dst = append(dst, 0, 0, 0) // space for a marker, a length and a count of one byte each
	body := len(dst)
	v.Each(func(key string, elem jsondoc.Value) bool {
		if empty == object0 {
			dst = appendString(dst, key)
		}
		dst = appendValue(dst, elem)
		n++
		return true
	})
	length := len(dst) - body
	switch {
	case n == 0:
		dst[start] = empty
		return dst[:start+1]
	case n == 1:
		dst[start] = empty + one
		return append(dst[:start+1], dst[body:]...)
	case length <= math.MaxUint8:
		dst[start], dst[start+1], dst[start+2] = empty+counted, byte(length), byte(n)
		return dst
	case length <= math.MaxUint16:
		dst = append(dst, 0, 0)
		copy(dst[body+2:], dst[body:body+length])
		dst[start] = empty + counted + 1
		binary.LittleEndian.PutUint16(dst[start+1:], uint16(length))
		binary.LittleEndian.PutUint16(dst[start+3:], uint16(n))
		return dst
	}
	dst = append(dst, 0, 0, 0, 0, 0, 0)
	copy(dst[body+6:], dst[body:body+length])
	dst[start] = empty + counted + 2
	binary.LittleEndian.PutUint32(dst[start+1:], uint32(length))
	binary.LittleEndian.PutUint32(dst[start+5:], uint32(n))
	return dst
}

func appendString(dst []byte, s string) []byte {
	if id := systemID(s); id >= 0 {
		return append(dst, systemStrings+byte(id))
	}
	switch n := len(s); {
	case n < stringL1-sizedString:
		dst = append(dst, sizedString+byte(n))
	case n <= math.MaxUint8:
		dst = append(dst, stringL1, byte(n))
	case n <= math.MaxUint16:
		dst = binary.LittleEndian.AppendUint16(append(dst, stringL2), uint16(n))
	default:
		dst = binary.LittleEndian.AppendUint32(append(dst, stringL4), uint32(n))
	}
	return append(dst, s...)
}

// systemID returns the index of a string among those that have their own marker, or -1.
func systemID(s string) int {
	if len(s) < 2 || len(s) > len("GeometryCollection") {
		return -1
	}
	for i, text := range systemTexts {
		if s == text {
			return i
		}
	}
	return -1
}

// appendNumber appends an integer of up to 64 bits exactly, and all other numbers as doubles.
func appendNumber(dst []byte, v jsondoc.Value) []byte {
	f := v.Num()
	if n, err := strconv.ParseInt(string(v.Raw()), 10, 64); err == nil && (n != 0 || !math.Signbit(f)) {
		return appendInteger(dst, n)
	}
	if n := int64(f); math.Abs(f) < 1<<53 && float64(n) == f && (n != 0 || !math.Signbit(f)) {
		return appendInteger(dst, n)
	}
	return binary.LittleEndian.AppendUint64(append(dst, numberDouble), math.Float64bits(f))
}

func appendInteger(dst []byte, n int64) []byte {
	switch {
	case n >= literalInts && n < systemStrings:
		return append(dst, byte(n))
	case n >= 0 && n <= math.MaxUint8:
		return append(dst, numberUint8, byte(n))
	case n >= math.MinInt16 && n <= math.MaxInt16:
		return binary.LittleEndian.AppendUint16(append(dst, numberInt16), uint16(n))
	case n >= math.MinInt32 && n <= math.MaxInt32:
		return binary.LittleEndian.AppendUint32(append(dst, numberInt32), uint32(n))
	}
	return binary.LittleEndian.AppendUint64(append(dst, numberInt64), uint64(n))
}
