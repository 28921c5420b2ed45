package wire

import (
	"encoding/binary"
	"math"
)

// maxDepth is the maximal nesting of values.
const maxDepth = 32

func tooDeep() error { return bad("a value", "one more level than %d", maxDepth) }

// encodedValue is one encoded value, split into its parts. Values inside of it are not decoded.
type encodedValue struct {
	code byte
	// data holds the bytes of a scalar, or the encoded elements of a list, map or array. In an array, the
	// constructor that all elements share precedes them.
	data  []byte
	count int // number of elements; in a map, of keys and values together

	descriptor, value []byte // of a described value, each encoded
}

// split separates the first value of b from the rest. depth is the number of values that contain it.
func split(b []byte, depth int) (it encodedValue, rest []byte, err error) {
	if len(b) == 0 {
		return it, nil, bad("a value", "the end of the bytes")
	}
	if depth > maxDepth {
		return it, nil, tooDeep()
	}
	if b[0] != codeDescribed {
		return payload(b[0], b[1:])
	}
	it.descriptor, rest, err = raw(b[1:], depth+1)
	if err != nil {
		return it, nil, err
	}
	it.value, rest, err = raw(rest, depth+1)
	return it, rest, err
}

// raw returns the encoding of the first value. Its capacity is its length, so that append cannot overwrite
// rest.
func raw(b []byte, depth int) (value, rest []byte, err error) {
	if _, rest, err = split(b, depth); err != nil {
		return nil, nil, err
	}
	n := len(b) - len(rest)
	return b[:n:n], rest, nil
}

// payload splits b, the bytes after the constructor code of an AMQP value that has no descriptor, into the
// data of the value and the rest.
func payload(code byte, b []byte) (it encodedValue, rest []byte, err error) {
	if !known(code) {
		return it, nil, bad("a constructor", "the byte %#02x", code)
	}
	it.code = code
	size := 0
	switch code >> 4 {
	case 0x4:
	case 0x5:
		size = 1
	case 0x6:
		size = 2
	case 0x7:
		size = 4
	case 0x8:
		size = 8
	case 0x9:
		size = 16
	case 0xa, 0xc, 0xe:
		if len(b) < 1 {
			return it, nil, bad("a size", "the end of the bytes")
		}
		size, b = int(b[0]), b[1:]
	case 0xb, 0xd, 0xf:
		if len(b) < 4 {
			return it, nil, bad("a size", "the end of the bytes")
		}
		n := binary.BigEndian.Uint32(b)
		if b = b[4:]; uint64(n) > uint64(len(b)) {
			return it, nil, bad("a value", "a size of %d, which is beyond the end,", n)
		}
		size = int(n)
	}
	if size > len(b) {
		return it, nil, bad("a value", "a size of %d, which is beyond the end,", size)
	}
	it.data, rest = b[:size:size], b[size:]
	if code >= codeList8 {
		err = it.elements()
	}
	return it, rest, err
}

// known reports whether the AMQP standard defines a byte as a constructor.
func known(code byte) bool {
	switch code >> 4 {
	case 0x4:
		return code <= codeList0
	case 0x5:
		return code <= codeBool
	case 0x6:
		return code <= codeShort
	case 0x7:
		return code <= codeDecimal32
	case 0x8:
		return code <= codeDecimal64
	case 0x9:
		return code == codeDecimal128 || code == codeUUID
	case 0xa, 0xb:
		return code&0xf <= 3 && code&0xf != 2
	case 0xc, 0xd:
		return code&0xf <= 1
	case 0xe, 0xf:
		return code&0xf == 0
	}
	return false
}

// elements reads the number of elements of a list, map or array, and checks that its data can hold so many.
func (it *encodedValue) elements() error {
	width := 1
	if it.code&0x10 != 0 {
		width = 4
	}
	if len(it.data) < width {
		return bad("a count", "the end of the value")
	}
	n := uint64(it.data[0])
	if width == 4 {
		n = uint64(binary.BigEndian.Uint32(it.data))
	}
	it.data = it.data[width:]
	limit := uint64(len(it.data))
	if it.code == codeArray8 || it.code == codeArray32 {
		limit = math.MaxInt32 // elements of some types have no bytes, so the data does not limit their number
	}
	if n > limit {
		return bad("a count", "%d, which is beyond the end of the value,", n)
	}
	it.count = int(n)
	return nil
}

// encodedArray is an encoded array, split into the constructor and the descriptor, which its elements have in
// common, and the elements.
type encodedArray struct {
	descriptor []byte // encoded; nil: none
	code       byte   // the elements' constructor
	elements   []byte // the elements without the constructor
}

func (it encodedValue) arrayHead(depth int) (h encodedArray, err error) {
	left := it.data
	if len(left) > 0 && left[0] == codeDescribed {
		if h.descriptor, left, err = raw(left[1:], depth+1); err != nil {
			return h, err
		}
	}
	if len(left) == 0 {
		return h, bad("the constructor of an array", "the end of the value")
	}
	if !known(left[0]) {
		return h, bad("the constructor of an array", "the byte %#02x", left[0])
	}
	h.code, h.elements = left[0], left[1:]
	return h, nil
}

// Raw returns the encoding of the first value.
func Raw(b []byte) (value, rest []byte, err error) { return raw(b, 0) }

// SplitDescribed splits the first value, which must be a described one. Its descriptor is either a number
// or a name; name is empty for a number.
func SplitDescribed(b []byte) (descriptor uint64, name Symbol, value, rest []byte, err error) {
	it, rest, err := split(b, 0)
	if err != nil {
		return 0, "", nil, nil, err
	}
	if it.descriptor == nil {
		return 0, "", nil, nil, bad("a described value", "the constructor %#02x", it.code)
	}
	d, _, err := split(it.descriptor, 0)
	if err != nil {
		return 0, "", nil, nil, err
	}
	switch d.code {
	case codeUlong0, codeUlongSmall, codeUlong:
		return d.unsigned(), "", it.value, rest, nil
	case codeSymbol8, codeSymbol32:
		return 0, Symbol(d.data), it.value, rest, nil
	}
	return 0, "", nil, nil, bad("a descriptor", "the constructor %#02x", d.code)
}

// EachPair calls fn with each encoded key and value of the map at the beginning of b, in order. Null is an
// empty map. rest is the data after the map.
func EachPair(b []byte, fn func(key, value []byte) error) (rest []byte, err error) {
	it, rest, err := split(b, 0)
	if err != nil || it.code == codeNull {
		return rest, err
	}
	if it.code != codeMap8 && it.code != codeMap32 || it.count%2 != 0 {
		return nil, bad("a map", "the constructor %#02x with %d elements", it.code, it.count)
	}
	left := it.data
	for range it.count / 2 {
		var key, value []byte
		if key, left, err = raw(left, 1); err != nil {
			return nil, err
		}
		if value, left, err = raw(left, 1); err != nil {
			return nil, err
		}
		if err := fn(key, value); err != nil {
			return nil, err
		}
	}
	return rest, nil
}
