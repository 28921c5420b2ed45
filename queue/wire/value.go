package wire

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// Value decodes the first value. Byte slices alias b.
func Value(b []byte) (v any, rest []byte, err error) {
	it, rest, err := split(b, 0)
	if err != nil {
		return nil, nil, err
	}
	v, err = it.decode(0)
	return v, rest, err
}

// decode makes the Go value.
func (it item) decode(depth int) (any, error) {
	switch {
	case depth > maxDepth:
		return nil, bad("a value", "one more level than %d", maxDepth)
	case it.descriptor != nil:
		return it.described(depth)
	case it.code >= codeArray8:
		return it.array(depth)
	case it.code >= codeList8 || it.code == codeList0:
		return it.compound(depth)
	}
	return it.scalar()
}

// scalar decodes what holds no other value.
func (it item) scalar() (any, error) {
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

// bytes decodes the scalars that are bytes to Go, too.
func (it item) bytes() (any, error) {
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
			return nil, bad("a string", "what is not UTF-8")
		}
		return string(it.data), nil
	case codeSymbol8, codeSymbol32:
		return Symbol(it.data), nil
	}
	return nil, bad("a constructor", "the byte %#02x", it.code)
}

func (it item) truth() (bool, error) {
	switch {
	case it.code == codeTrue, it.code == codeBool && it.data[0] == 1:
		return true, nil
	case it.code == codeFalse, it.code == codeBool && it.data[0] == 0:
		return false, nil
	}
	return false, bad("a boolean", "the constructor %#02x", it.code)
}

// unsigned is the number of an item that has bytes of one.
func (it item) unsigned() (n uint64) {
	for _, c := range it.data {
		n = n<<8 | uint64(c)
	}
	return n
}

func (it item) signed() int64 {
	if len(it.data) == 0 {
		return 0
	}
	n := int64(int8(it.data[0]))
	for _, c := range it.data[1:] {
		n = n<<8 | int64(c)
	}
	return n
}

func (it item) described(depth int) (any, error) {
	var d Described
	for _, part := range []struct {
		raw []byte
		to  *any
	}{{it.descriptor, &d.Descriptor}, {it.value, &d.Value}} {
		inner, _, err := split(part.raw, depth+1)
		if err != nil {
			return nil, err
		}
		if *part.to, err = inner.decode(depth + 1); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// compound decodes a list or a map.
func (it item) compound(depth int) (any, error) {
	list := make(List, 0, it.count)
	left := it.data
	for range it.count {
		inner, rest, err := split(left, depth+1)
		if err != nil {
			return nil, err
		}
		v, err := inner.decode(depth + 1)
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
		m[i] = Pair{list[2*i], list[2*i+1]}
	}
	return m, nil
}

// array decodes an array, whose one constructor can be described itself.
func (it item) array(depth int) (any, error) {
	left := it.data
	var descriptor any
	if left[0] == codeDescribed {
		d, rest, err := split(left[1:], depth+1)
		if err != nil {
			return nil, err
		}
		if descriptor, err = d.decode(depth + 1); err != nil {
			return nil, err
		}
		left = rest
	}
	if len(left) == 0 {
		return nil, bad("the constructor of an array", "the end of the value")
	}
	a := Array{Code: left[0], Elements: make([]any, 0, min(it.count, len(left)+maxEmpty))}
	for left = left[1:]; len(a.Elements) < it.count; {
		inner, rest, err := payload(a.Code, left)
		if err != nil {
			return nil, err
		}
		v, err := inner.decode(depth + 1)
		if err != nil {
			return nil, err
		}
		if descriptor != nil {
			v = Described{descriptor, v}
		}
		a.Elements, left = append(a.Elements, v), rest
	}
	return a, nil
}
