package eval

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
)

// OrderValue is what a row is ordered by: a value, but of an array or an object no more than a hash. Cosmos
// DB orders arrays among themselves, and objects, by their hashes, and so does the SDK for .NET when it
// merges ranges: it knows the last row that it has given out by the hash alone.
type OrderValue struct {
	kind  jsondoc.Kind
	value jsondoc.Value // of all kinds but arrays and objects
	hash  jsondoc.Hash  // of those
}

// OrderedBy is what a row is ordered by that has the value.
func OrderedBy(v jsondoc.Value) OrderValue {
	if k := v.Kind(); k >= jsondoc.Array {
		return OrderedByHash(k, jsondoc.HashOf(v))
	}
	return OrderValue{kind: v.Kind(), value: v}
}

// OrderedByHash is what a row is ordered by that has an array or an object, as the kind says, with the hash.
func OrderedByHash(k jsondoc.Kind, h jsondoc.Hash) OrderValue { return OrderValue{kind: k, hash: h} }

// hashSize is the length of a hash in a key.
const hashSize = 16

// Append appends an encoding whose bytes compare as rows are ordered.
func (v OrderValue) Append(dst []byte) []byte {
	if v.kind < jsondoc.Array {
		return jsondoc.AppendOrdered(dst, v.value)
	}
	first, _ := jsondoc.KindBounds(v.kind)
	return v.hash.AppendTo(append(dst, first))
}

// DecodeOrderValue reads what append wrote and returns it with the bytes that follow; an array or an object
// as an empty one.
func DecodeOrderValue(b []byte) (v jsondoc.Value, rest []byte, ok bool) {
	for kind, empty := range map[jsondoc.Kind]string{jsondoc.Array: "[]", jsondoc.Object: "{}"} {
		if first, _ := jsondoc.KindBounds(kind); len(b) > 0 && b[0] == first {
			if len(b) <= hashSize {
				return jsondoc.Value{}, b, false
			}
			return jsondoc.Of([]byte(empty)), b[1+hashSize:], true
		}
	}
	v, rest, err := jsondoc.DecodeOrdered(b)
	return v, rest, err == nil
}

// lastKey is what stands for a value that comes after all others. No ordered encoding begins with it.
const lastKey = 0xFE

// AppendKey appends the part of a key that stands for the value of one expression.
func AppendKey(k *bind.OrderKey, dst []byte, v OrderValue) []byte {
	if k.Distance && !k.Desc && v.kind == jsondoc.Undefined {
		return append(dst, lastKey)
	}
	n := len(dst)
	dst = v.Append(dst)
	if k.Desc {
		for j := n; j < len(dst); j++ {
			dst[j] = ^dst[j]
		}
	}
	return dst
}
