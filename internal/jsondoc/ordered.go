package jsondoc

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// The ordered encoding of a value. It begins with a tag, so that values sort by kind first:
//
//	undefined  10
//	null       20
//	false      30
//	true       31
//	number     40 · 8 bytes, big-endian: the double with its sign bit flipped, or all bits if it is negative
//	string     50 · escaped text · 00 01
//	array      60 · its elements' encodings · 00
//	object     70 · its members, sorted by name: the name's encoding as a string, the value's · … · 00
//
// Escaped text has 00 FF in place of each 00. So 00 01 can only be its end, and sorts before any continuation
// of the text. An array ends with 00, which is less than all tags, for the same reason: if one array is a
// prefix of another, it is less. No encoding is a prefix of another value's encoding, so encodings can be
// concatenated, and such keys compare value by value.
const (
	tagUndefined = 0x10
	tagNull      = 0x20
	tagFalse     = 0x30
	tagTrue      = 0x31
	tagNumber    = 0x40
	tagString    = 0x50
	tagArray     = 0x60
	tagObject    = 0x70

	endNested = 0x00
)

const signBit = 1 << 63

// maxOrderedDepth is the maximum depth of arrays and objects that DecodeOrdered accepts, to protect the
// stack. Documents are never that deep.
const maxOrderedDepth = 10_000

// KindBounds returns the interval [low, high) of the first bytes of the ordered encodings of kind k.
func KindBounds(k Kind) (low, high byte) {
	low = tagUndefined + 0x10*byte(k)
	return low, low + 0x10
}

// AppendOrdered appends an encoding of v that has the order of the values: bytes.Compare of the encodings of
// a and b equals Compare(a, b). The encoding may be followed by any bytes; DecodeOrdered finds its end.
func AppendOrdered(dst []byte, v Value) []byte {
	switch v.kind {
	case Null:
		return append(dst, tagNull)
	case Bool:
		if v.Bool() {
			return append(dst, tagTrue)
		}
		return append(dst, tagFalse)
	case Number:
		return appendOrderedNumber(append(dst, tagNumber), v.Num())
	case String:
		return appendOrderedString(dst, v.str())
	case Array:
		dst = append(dst, tagArray)
		for it := v.walk(); it.next(); {
			dst = AppendOrdered(dst, it.elem)
		}
		return append(dst, endNested)
	case Object:
		dst = append(dst, tagObject)
		var buf [16]namedValue
		for _, m := range v.sorted(buf[:0]) {
			dst = AppendOrdered(appendOrderedString(dst, m.name), m.value)
		}
		return append(dst, endNested)
	}
	return append(dst, tagUndefined)
}

// orderedNaN is the encoding of every NaN. Its sign bit is set, so NaN sorts before -Infinity.
const orderedNaN = 0xFFF8_0000_0000_0000

func appendOrderedNumber(dst []byte, f float64) []byte {
	bits := math.Float64bits(f + 0) // -0 + 0 is 0
	if math.IsNaN(f) {
		bits = orderedNaN
	}
	if bits&signBit == 0 {
		bits ^= signBit
	} else {
		bits = ^bits
	}
	return binary.BigEndian.AppendUint64(dst, bits)
}

func appendOrderedString(dst []byte, s string) []byte {
	return appendEscaped(append(dst, tagString), s)
}

// AppendEscaped appends s in a form that keeps the order and whose end can be found: 00 FF in place of each
// 00, and 00 01 at the end.
func AppendEscaped(dst []byte, s []byte) []byte { return appendEscaped(dst, viewOf(s)) }

func appendEscaped(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			dst = append(dst, s[from:i+1]...)
			dst = append(dst, 0xFF)
			from = i + 1
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, 0x00, 0x01)
}

// DecodeEscaped decodes the result of AppendEscaped and returns it with the bytes that follow. s may be a
// part of b. The error is an *OrderedEncodingError.
func DecodeEscaped(b []byte) (s, rest []byte, err error) {
	whole := true
	for from := 0; ; {
		i := bytes.IndexByte(b[from:], 0) + from
		if i < from || i+1 == len(b) {
			return nil, b, &OrderedEncodingError{len(b) - from, "the end of a string is missing"}
		}
		switch b[i+1] {
		case 0x01:
			if whole {
				return b[:i:i], b[i+2:], nil
			}
			return append(s, b[from:i]...), b[i+2:], nil
		case 0xFF:
			whole = false
			s = append(s, b[from:i+1]...)
			from = i + 2
		default:
			return nil, b, &OrderedEncodingError{len(b) - i, "00 in a string must be followed by 01 or FF"}
		}
	}
}

// DecodeOrdered decodes the result of AppendOrdered and returns it with the bytes that follow. The value is
// equal to the encoded one, but the spelling of numbers and strings and the order of members may differ. It
// shares no memory with b. The error is an *OrderedEncodingError, for bytes that AppendOrdered never writes
// and for nesting beyond 10,000 levels.
func DecodeOrdered(b []byte) (v Value, rest []byte, err error) {
	if len(b) > 0 && (b[0] == tagArray || b[0] == tagObject) {
		text, rest, err := appendDecoded(nil, b, 0)
		if err != nil {
			return Value{}, b, err
		}
		return Value{text: viewOf(text), kind: kindAt[text[0]]}, rest, nil
	}
	return decodeScalar(b)
}

// decodeScalar decodes the ordered encoding of a value that is not an array or an object, and returns the
// value with the bytes that follow.
func decodeScalar(b []byte) (v Value, rest []byte, err error) {
	if len(b) == 0 {
		return Value{}, b, &OrderedEncodingError{0, "a value is missing"}
	}
	switch b[0] {
	case tagUndefined:
		return Value{}, b[1:], nil
	case tagNull:
		return NullValue(), b[1:], nil
	case tagFalse, tagTrue:
		return BoolValue(b[0] == tagTrue), b[1:], nil
	case tagNumber:
		return decodeNumber(b)
	case tagString:
		s, rest, err := DecodeEscaped(b[1:])
		if err == nil && !utf8.Valid(s) {
			err = &OrderedEncodingError{len(b), "a string is not UTF-8"}
		}
		if err != nil {
			return Value{}, b, err
		}
		return Value{text: string(s), kind: String, made: true}, rest, nil
	}
	return Value{}, b, &OrderedEncodingError{len(b), "no value begins with this byte"}
}

func decodeNumber(b []byte) (v Value, rest []byte, err error) {
	if len(b) < 9 {
		return Value{}, b, &OrderedEncodingError{len(b), "a number is cut off"}
	}
	bits := binary.BigEndian.Uint64(b[1:])
	if bits&signBit != 0 {
		bits ^= signBit
	} else {
		bits = ^bits
	}
	if f := math.Float64frombits(bits); bits != signBit && (bits == orderedNaN || !math.IsNaN(f)) {
		return NumberValue(f), b[9:], nil
	}
	return Value{}, b, &OrderedEncodingError{len(b), "a number is -0 or an unusual NaN"}
}

// appendDecoded appends the JSON text of the value that b begins with.
func appendDecoded(dst, b []byte, depth int) (text, rest []byte, err error) {
	if len(b) > 0 && (b[0] == tagArray || b[0] == tagObject) {
		if depth == maxOrderedDepth {
			return nil, nil, &OrderedEncodingError{len(b), "arrays and objects are nested too deeply"}
		}
		if b[0] == tagArray {
			return appendDecodedArray(dst, b[1:], depth+1)
		}
		return appendDecodedObject(dst, b[1:], depth+1)
	}
	v, rest, err := decodeScalar(b)
	switch {
	case err != nil:
	case v.kind == Undefined:
		err = &OrderedEncodingError{len(b), "an array or object holds undefined"}
	case v.kind == Number && v.num-v.num != 0: // NaN or infinite
		err = &OrderedEncodingError{len(b), "an array or object holds a number that JSON does not have"}
	}
	return v.AppendJSON(dst), rest, err
}

func appendDecodedArray(dst, b []byte, depth int) (text, rest []byte, err error) {
	dst = append(dst, '[')
	for first := true; len(b) == 0 || b[0] != endNested; first = false {
		if !first {
			dst = append(dst, ',')
		}
		if dst, b, err = appendDecoded(dst, b, depth); err != nil {
			return nil, nil, err
		}
	}
	return append(dst, ']'), b[1:], nil
}

func appendDecodedObject(dst, b []byte, depth int) (text, rest []byte, err error) {
	dst = append(dst, '{')
	var last []byte // the previous encoded name
	for len(b) == 0 || b[0] != endNested {
		name, rest, err := decodeScalar(b)
		if err != nil {
			return nil, nil, err
		}
		encoded := b[:len(b)-len(rest)]
		if name.kind != String || bytes.Compare(last, encoded) >= 0 {
			const rule = "the names of an object must be strings in rising order"
			return nil, nil, &OrderedEncodingError{len(b), rule}
		}
		if last != nil {
			dst = append(dst, ',')
		}
		last = encoded
		dst = append(name.AppendJSON(dst), ':')
		if dst, b, err = appendDecoded(dst, rest, depth); err != nil {
			return nil, nil, err
		}
	}
	return append(dst, '}'), b[1:], nil
}
