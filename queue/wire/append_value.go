package wire

import (
	"encoding/binary"
	"math"
)

// Append writes a value of a type that Value returns, or an int, which is written as a long. It fails with
// an *Error for other types, and for an array with elements of different types.
func Append(dst []byte, v any) ([]byte, error) { return appendValue(dst, v, 0) }

func appendValue(dst []byte, v any, depth int) (out []byte, err error) {
	if depth > maxDepth {
		return dst, tooDeep()
	}
	switch v := v.(type) {
	case nil:
		return append(dst, codeNull), nil
	case bool:
		return AppendBool(dst, v), nil
	case uint32:
		return AppendUint32(dst, v), nil
	case uint64:
		return AppendUint64(dst, v), nil
	case int32:
		return AppendInt32(dst, v), nil
	case int64:
		return AppendInt64(dst, v), nil
	case int:
		return AppendInt64(dst, int64(v)), nil
	case List:
		return appendList(dst, v, depth)
	case Map:
		return appendMap(dst, v, depth)
	case Array:
		return appendArray(dst, v, depth)
	case Described:
		return appendDescribed(dst, v, depth)
	case []byte:
		return AppendBinary(dst, v), nil
	case string:
		return AppendString(dst, v), nil
	case Symbol:
		return AppendSymbol(dst, v), nil
	}
	code, ok := fixedCode(v)
	if !ok {
		return dst, bad("a value of AMQP", "a %T", v)
	}
	return appendFixed(append(dst, code), v), nil
}

// fixedCode returns the AMQP constructor of a value's type, if the type has a fixed width: the one for the
// full encoding, not for a shorter one.
func fixedCode(v any) (code byte, ok bool) {
	switch v.(type) {
	case bool:
		return codeBool, true
	case uint8:
		return codeUbyte, true
	case int8:
		return codeByte, true
	case uint16:
		return codeUshort, true
	case int16:
		return codeShort, true
	case uint32:
		return codeUint, true
	case int32:
		return codeInt, true
	case float32:
		return codeFloat, true
	case Char:
		return codeChar, true
	case Decimal32:
		return codeDecimal32, true
	case uint64:
		return codeUlong, true
	case int64:
		return codeLong, true
	case float64:
		return codeDouble, true
	case Timestamp:
		return codeTimestamp, true
	case Decimal64:
		return codeDecimal64, true
	case Decimal128:
		return codeDecimal128, true
	case UUID:
		return codeUUID, true
	}
	return 0, false
}

// appendFixed writes a value of a type with a fixed width, without its constructor.
func appendFixed(dst []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return append(dst, 1)
		}
		return append(dst, 0)
	case uint8:
		return append(dst, v)
	case int8:
		return append(dst, byte(v))
	case uint16:
		return binary.BigEndian.AppendUint16(dst, v)
	case int16:
		return binary.BigEndian.AppendUint16(dst, uint16(v))
	case uint32:
		return binary.BigEndian.AppendUint32(dst, v)
	case int32:
		return binary.BigEndian.AppendUint32(dst, uint32(v))
	case float32:
		return binary.BigEndian.AppendUint32(dst, math.Float32bits(v))
	case Char:
		return binary.BigEndian.AppendUint32(dst, uint32(v))
	case Decimal32:
		return append(dst, v[:]...)
	case uint64:
		return binary.BigEndian.AppendUint64(dst, v)
	case int64:
		return binary.BigEndian.AppendUint64(dst, uint64(v))
	case float64:
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(v))
	case Timestamp:
		return binary.BigEndian.AppendUint64(dst, uint64(v))
	case Decimal64:
		return append(dst, v[:]...)
	case Decimal128:
		return append(dst, v[:]...)
	case UUID:
		return append(dst, v[:]...)
	}
	return dst
}

func appendList(dst []byte, list List, depth int) (out []byte, err error) {
	dst, o := OpenList(dst)
	for _, e := range list {
		if dst, err = appendValue(dst, e, depth+1); err != nil {
			return dst, err
		}
	}
	return o.CloseWith(dst, len(list)), nil
}

func appendMap(dst []byte, m Map, depth int) (out []byte, err error) {
	dst, o := OpenMap(dst)
	for _, p := range m {
		for _, part := range [2]any{p.Key, p.Value} {
			if dst, err = appendValue(dst, part, depth+1); err != nil {
				return dst, err
			}
		}
	}
	return o.CloseWith(dst, 2*len(m)), nil
}

func appendDescribed(dst []byte, d Described, depth int) (out []byte, err error) {
	if n, ok := d.Descriptor.(uint64); ok {
		dst = AppendDescriptor(dst, n)
	} else if dst, err = appendValue(append(dst, codeDescribed), d.Descriptor, depth+1); err != nil {
		return dst, err
	}
	return appendValue(dst, d.Value, depth+1)
}
