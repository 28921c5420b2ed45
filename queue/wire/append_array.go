package wire

import (
	"encoding/binary"
	"fmt"
)

// appendArray writes an array. It always uses sizes of four bytes, because some clients do not accept
// others.
func appendArray(dst []byte, a Array, depth int) (out []byte, err error) {
	if depth > maxDepth {
		return dst, tooDeep()
	}
	at := len(dst)
	dst = append(dst, codeArray32, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(a.Elements)))
	elements := a.Elements
	if len(elements) > 0 {
		if d, ok := elements[0].(Described); ok {
			if dst, elements, err = appendSharedDescriptor(dst, d.Descriptor, elements, depth); err != nil {
				return dst, err
			}
		}
	}
	code := a.Code
	if len(elements) > 0 {
		if code, err = elementCode(elements[0]); err != nil {
			return dst, err
		}
	} else if code == 0 {
		code = codeNull
	}
	dst = append(dst, code)
	for _, e := range elements {
		if c, err := elementCode(e); err != nil || c != code {
			return dst, bad("an element of an array of "+fmt.Sprintf("%T", elements[0]), "a %T", e)
		}
		if dst, err = appendElement(dst, e, depth+1); err != nil {
			return dst, err
		}
	}
	binary.BigEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-5))
	return dst, nil
}

// appendSharedDescriptor writes the descriptor that all elements of an array have in common, and returns the
// elements without it.
func appendSharedDescriptor(dst []byte, descriptor any, elements []any, depth int) ([]byte, []any, error) {
	bare := make([]any, len(elements))
	for i, e := range elements {
		d, ok := e.(Described)
		if !ok || !sameDescriptor(d.Descriptor, descriptor) {
			return dst, nil, bad("one descriptor for all elements of an array", "another")
		}
		if bare[i] = d.Value; isDescribed(d.Value) {
			return dst, nil, bad("an element of an array", "a descriptor of a described value")
		}
	}
	dst, err := appendValue(append(dst, codeDescribed), descriptor, depth+1)
	return dst, bare, err
}

func isDescribed(v any) bool { _, ok := v.(Described); return ok }

func sameDescriptor(a, b any) bool {
	switch a := a.(type) {
	case uint64:
		n, ok := b.(uint64)
		return ok && n == a
	case Symbol:
		s, ok := b.(Symbol)
		return ok && s == a
	}
	return false
}

// elementCode returns the constructor (type code) with which an array encodes elements of v's type: the one
// of the widest encoding of the type.
func elementCode(v any) (byte, error) {
	switch v.(type) {
	case nil:
		return codeNull, nil
	case []byte:
		return codeBinary32, nil
	case string:
		return codeString32, nil
	case Symbol:
		return codeSymbol32, nil
	case List:
		return codeList32, nil
	case Map:
		return codeMap32, nil
	case Array:
		return codeArray32, nil
	}
	if code, ok := fixedCode(v); ok {
		return code, nil
	}
	return 0, bad("an element of an array", "a %T", v)
}

// appendElement writes an element without its constructor.
func appendElement(dst []byte, v any, depth int) (out []byte, err error) {
	switch v := v.(type) {
	case nil:
		return dst, nil
	case []byte:
		return append(binary.BigEndian.AppendUint32(dst, uint32(len(v))), v...), nil
	case string:
		return append(binary.BigEndian.AppendUint32(dst, uint32(len(v))), v...), nil
	case Symbol:
		return append(binary.BigEndian.AppendUint32(dst, uint32(len(v))), v...), nil
	case Array:
		whole, err := appendArray(nil, v, depth)
		if err != nil {
			return dst, err
		}
		return append(dst, whole[1:]...), nil
	case List:
		return appendWide(dst, len(v), func(i int) any { return v[i] }, depth)
	case Map:
		return appendWide(dst, 2*len(v), func(i int) any {
			if i%2 == 0 {
				return v[i/2].Key
			}
			return v[i/2].Value
		}, depth)
	}
	return appendFixed(dst, v), nil
}

// appendWide writes the size, the count and the elements of a list or map. Size and count have four bytes
// each. at returns the i-th element.
func appendWide(dst []byte, count int, at func(int) any, depth int) (out []byte, err error) {
	begin := len(dst)
	dst = binary.BigEndian.AppendUint32(append(dst, 0, 0, 0, 0), uint32(count))
	for i := range count {
		if dst, err = appendValue(dst, at(i), depth+1); err != nil {
			return dst, err
		}
	}
	binary.BigEndian.PutUint32(dst[begin:], uint32(len(dst)-begin-4))
	return dst, nil
}

// Arrays of the element types of requests and responses.

// Longs returns an AMQP array of longs (signed integers of 64 bits).
func Longs(list []int64) Array { return arrayOf(codeLong, list) }

// UUIDs returns an array of UUIDs.
func UUIDs(list []UUID) Array { return arrayOf(codeUUID, list) }

// Timestamps returns an array of timestamps.
func Timestamps(list []Timestamp) Array { return arrayOf(codeTimestamp, list) }

// Strings returns an array of strings.
func Strings(list []string) Array { return arrayOf(codeString32, list) }

// Symbols returns an array of symbols.
func Symbols(list []Symbol) Array { return arrayOf(codeSymbol32, list) }

func arrayOf[T any](code byte, list []T) Array {
	a := Array{Code: code, Elements: make([]any, len(list))}
	for i, v := range list {
		a.Elements[i] = v
	}
	return a
}
