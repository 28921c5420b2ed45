package wire

import (
	"encoding/binary"
	"math"
)

// AppendNull writes null.
func AppendNull(dst []byte) []byte { return append(dst, codeNull) }

// AppendBool writes a boolean.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, codeTrue)
	}
	return append(dst, codeFalse)
}

// AppendUint8 writes a ubyte.
func AppendUint8(dst []byte, v uint8) []byte { return append(dst, codeUbyte, v) }

// AppendUint16 writes a ushort.
func AppendUint16(dst []byte, v uint16) []byte {
	return binary.BigEndian.AppendUint16(append(dst, codeUshort), v)
}

// AppendUint32 appends an AMQP uint (an unsigned integer of 32 bits) in its shortest encoding.
func AppendUint32(dst []byte, v uint32) []byte {
	switch {
	case v == 0:
		return append(dst, codeUint0)
	case v <= math.MaxUint8:
		return append(dst, codeUintSmall, byte(v))
	}
	return binary.BigEndian.AppendUint32(append(dst, codeUint), v)
}

// AppendUint64 writes a ulong.
func AppendUint64(dst []byte, v uint64) []byte {
	switch {
	case v == 0:
		return append(dst, codeUlong0)
	case v <= math.MaxUint8:
		return append(dst, codeUlongSmall, byte(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, codeUlong), v)
}

// AppendInt32 appends an AMQP int (a signed integer of 32 bits) in its shortest encoding.
func AppendInt32(dst []byte, v int32) []byte {
	if v >= math.MinInt8 && v <= math.MaxInt8 {
		return append(dst, codeIntSmall, byte(v))
	}
	return binary.BigEndian.AppendUint32(append(dst, codeInt), uint32(v))
}

// AppendInt64 writes a long.
func AppendInt64(dst []byte, v int64) []byte {
	if v >= math.MinInt8 && v <= math.MaxInt8 {
		return append(dst, codeLongSmall, byte(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, codeLong), uint64(v))
}

// AppendTimestamp writes a time in milliseconds since 1970.
func AppendTimestamp(dst []byte, ms int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, codeTimestamp), uint64(ms))
}

// AppendUUID writes a UUID.
func AppendUUID(dst []byte, v UUID) []byte { return append(append(dst, codeUUID), v[:]...) }

// AppendBinary writes a binary; nil is written as an empty one.
func AppendBinary(dst, v []byte) []byte {
	return append(appendSize(dst, codeBinary8, codeBinary32, len(v)), v...)
}

// AppendString writes a string.
func AppendString(dst []byte, v string) []byte {
	return append(appendSize(dst, codeString8, codeString32, len(v)), v...)
}

// AppendSymbol writes a symbol.
func AppendSymbol(dst []byte, v Symbol) []byte {
	return append(appendSize(dst, codeSymbol8, codeSymbol32, len(v)), v...)
}

func appendSize(dst []byte, small, large byte, n int) []byte {
	if n <= math.MaxUint8 {
		return append(dst, small, byte(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, large), uint32(n))
}

// AppendDescriptor writes the beginning of a described value: its descriptor. The caller appends the value.
// The descriptor 0 is not written in the shortest encoding (ulong0), which some clients do not accept.
func AppendDescriptor(dst []byte, descriptor uint64) []byte {
	if descriptor <= math.MaxUint8 {
		return append(dst, codeDescribed, codeUlongSmall, byte(descriptor))
	}
	return binary.BigEndian.AppendUint64(append(dst, codeDescribed, codeUlong), descriptor)
}

// CompoundBeingWritten is an AMQP list or map that is being written: it holds its position, from OpenList or
// OpenMap to CloseWith.
type CompoundBeingWritten struct {
	at    int
	small byte
	large byte
}

// OpenList begins a list. The caller appends the elements and calls CloseWith.
func OpenList(dst []byte) ([]byte, CompoundBeingWritten) { return open(dst, codeList8, codeList32) }

// OpenMap begins a map. The caller appends keys and values alternately and calls CloseWith.
func OpenMap(dst []byte) ([]byte, CompoundBeingWritten) { return open(dst, codeMap8, codeMap32) }

func open(dst []byte, small, large byte) ([]byte, CompoundBeingWritten) {
	return append(dst, small, 0, 0), CompoundBeingWritten{len(dst), small, large}
}

// CloseWith ends a list of count elements, or a map of count keys and values.
func (o CompoundBeingWritten) CloseWith(dst []byte, count int) []byte {
	body := len(dst) - o.at - 3
	if body+1 <= math.MaxUint8 && count <= math.MaxUint8 {
		dst[o.at+1], dst[o.at+2] = byte(body+1), byte(count)
		return dst
	}
	dst = append(dst, 0, 0, 0, 0, 0, 0) // space for a wider size and count
	copy(dst[o.at+9:], dst[o.at+3:o.at+3+body])
	dst[o.at] = o.large
	binary.BigEndian.PutUint32(dst[o.at+1:], uint32(body+4))
	binary.BigEndian.PutUint32(dst[o.at+5:], uint32(count))
	return dst
}
