package wire

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// Value decodes the first AMQP value in b, and returns it with the bytes that follow. Byte slices in the
// value alias b.
func Value(b []byte) (v any, rest []byte, err error) {
	it, rest, err := split(b, 0)
	if err != nil {
		return nil, nil, err
	}
	d := decoder{empty: maxEmpty}
	if v, err = d.value(it, 0); err != nil {
		return nil, nil, err
	}
	return v, rest, nil
}

// decoder decodes an encoded AMQP value, with all values in it, to a Go value.
type decoder struct {
	empty int // number of array elements without bytes that are still allowed
}

// maxEmpty is the maximal number, in one value, of array elements whose encoding takes no bytes (such as null
// or true). The limit is needed because a short input can declare any number of them.
const maxEmpty = 1 << 12

// firstRoom is the initial capacity of a list of elements. It grows as elements are decoded, and is not
// taken from the encoded count: a list may claim as many elements as it has bytes, and so may each list in
// it.
const firstRoom = 64

func (d *decoder) value(it encodedValue, depth int) (any, error) {
	switch {
	case depth > maxDepth:
		return nil, tooDeep()
	case it.descriptor != nil:
		return d.described(it, depth)
	case it.code >= codeArray8:
		return d.array(it, depth)
	case it.code >= codeList8 || it.code == codeList0:
		return d.compound(it, depth)
	}
	return it.scalar()
}

// scalar decodes a value that contains no other value.
func (it encodedValue) scalar() (any, error) {
	switch it.code {
	case codeNull:
		return nil, nil
	case codeTrue, codeFalse, codeBool:
		return it.truth()
	case codeUbyte:
		return it.data[0], nil
	case codeUshort:
		return binary.BigEndian.Uint16(it.data), nil
	case codeUint0, codeUintSmall, codeUint:
		return uint32(it.unsigned()), nil
	case codeUlong0, codeUlongSmall, codeUlong:
		return it.unsigned(), nil
	case codeByte:
		return int8(it.data[0]), nil
	case codeShort:
		return int16(binary.BigEndian.Uint16(it.data)), nil
	case codeIntSmall, codeInt:
		return int32(it.signed()), nil
	case codeLongSmall, codeLong:
		return it.signed(), nil
	case codeFloat:
		return math.Float32frombits(binary.BigEndian.Uint32(it.data)), nil
	case codeDouble:
		return math.Float64frombits(binary.BigEndian.Uint64(it.data)), nil
	case codeChar:
		return Char(binary.BigEndian.Uint32(it.data)), nil
	case codeTimestamp:
		return Timestamp(binary.BigEndian.Uint64(it.data)), nil
	}
	return it.bytes()
}

// bytes decodes a scalar whose data are a sequence of bytes: a decimal, a UUID, a binary, a string or a
// symbol.
func (it encodedValue) bytes() (any, error) {
	switch it.code {
	case codeDecimal32:
		return Decimal32(it.data), nil
	case codeDecimal64:
		return Decimal64(it.data), nil
	case codeDecimal128:
		return Decimal128(it.data), nil
	case codeUUID:
		return UUID(it.data), nil
	case codeBinary8, codeBinary32:
		return it.data, nil
	case codeString8, codeString32:
		if !utf8.Valid(it.data) {
			return nil, notUTF8()
		}
		return string(it.data), nil
	case codeSymbol8, codeSymbol32:
		return Symbol(it.data), nil
	}
	return nil, bad("a constructor", "the byte %#02x", it.code)
}

func (it encodedValue) truth() (bool, error) {
	switch {
	case it.code == codeTrue, it.code == codeBool && it.data[0] == 1:
		return true, nil
	case it.code == codeFalse, it.code == codeBool && it.data[0] == 0:
		return false, nil
	}
	return false, bad("a boolean", "the constructor %#02x", it.code)
}

// unsigned decodes the item's data as an unsigned integer.
func (it encodedValue) unsigned() (n uint64) {
	for _, c := range it.data {
		n = n<<8 | uint64(c)
	}
	return n
}

func (it encodedValue) signed() int64 {
	if len(it.data) == 0 {
		return 0
	}
	n := int64(int8(it.data[0]))
	for _, c := range it.data[1:] {
		n = n<<8 | int64(c)
	}
	return n
}

// first decodes the first AMQP value of raw to a Go value and returns the bytes after it. depth is the number
// of values that contain it.
func (d *decoder) first(raw []byte, depth int) (v any, rest []byte, err error) {
	it, rest, err := split(raw, depth)
	if err != nil {
		return nil, nil, err
	}
	v, err = d.value(it, depth)
	return v, rest, err
}

func (d *decoder) described(it encodedValue, depth int) (v any, err error) {
	var out Described
	if out.Descriptor, _, err = d.first(it.descriptor, depth+1); err != nil {
		return nil, err
	}
	if out.Value, _, err = d.first(it.value, depth+1); err != nil {
		return nil, err
	}
	return out, nil
}

// compound decodes a list or a map.
func (d *decoder) compound(it encodedValue, depth int) (any, error) {
	list := make(List, 0, min(it.count, firstRoom))
	left := it.data
	for range it.count {
		v, rest, err := d.first(left, depth+1)
		if err != nil {
			return nil, err
		}
		list, left = append(list, v), rest
	}
	if it.code != codeMap8 && it.code != codeMap32 {
		return list, nil
	}
	if len(list)%2 != 0 {
		return nil, bad("a map", "a key without a value")
	}
	m := make(Map, len(list)/2)
	for i := range m {
		m[i] = MapEntry{list[2*i], list[2*i+1]}
	}
	return m, nil
}

// array decodes an array. Its constructor may have a descriptor.
func (d *decoder) array(it encodedValue, depth int) (any, error) {
	head, err := it.arrayHead(depth)
	if err != nil {
		return nil, err
	}
	var descriptor any
	if head.descriptor != nil {
		if descriptor, _, err = d.first(head.descriptor, depth+1); err != nil {
			return nil, err
		}
	}
	a := Array{Code: head.code, Elements: make([]any, 0, min(it.count, firstRoom))}
	for left := head.elements; len(a.Elements) < it.count; {
		inner, rest, err := payload(a.Code, left)
		if err != nil {
			return nil, err
		}
		if len(rest) == len(left) {
			if d.empty--; d.empty < 0 {
				return nil, bad("a value", "more than %d elements that take no bytes,", maxEmpty)
			}
		}
		v, err := d.value(inner, depth+1)
		if err != nil {
			return nil, err
		}
		if head.descriptor != nil {
			v = Described{descriptor, v}
		}
		a.Elements, left = append(a.Elements, v), rest
	}
	return a, nil
}
