package eval

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
)

// OrderByValue is a value that rows are ordered by. For arrays and objects it holds only a hash: Cosmos DB
// orders arrays, and objects, by their hashes. The SDK for .NET does the same when it merges ranges: of the
// last returned row it keeps only this hash.
type OrderByValue struct {
	kind  jsondoc.Kind
	value jsondoc.Value         // unless it is an array or an object
	hash  jsondoc.MurmurHash128 // of arrays and objects
}

// OrderedBy returns v in the form in which ORDER BY compares values: an array or an object is replaced by its
// hash.
func OrderedBy(v jsondoc.Value) OrderByValue {
	if k := v.Kind(); k >= jsondoc.Array {
		return OrderedByHash(k, jsondoc.HashOf(v))
	}
	return OrderByValue{kind: v.Kind(), value: v}
}

// OrderedByHash returns the OrderByValue of an array or an object, according to k, with the hash h.
func OrderedByHash(k jsondoc.Kind, h jsondoc.MurmurHash128) OrderByValue {
	return OrderByValue{kind: k, hash: h}
}

// hashSize is the length in bytes of the hash of an array or object in an encoded ORDER BY key.
const hashSize = 16

// Append appends an encoding of v. Comparing encodings as bytes gives the order of the rows.
func (v OrderByValue) Append(dst []byte) []byte {
	if v.kind < jsondoc.Array {
		return jsondoc.AppendOrdered(dst, v.value)
	}
	first, _ := jsondoc.KindBounds(v.kind)
	return v.hash.AppendTo(append(dst, first))
}

// DecodeOrderValue decodes the result of Append and returns it with the bytes that follow. Arrays and objects
// are returned as empty ones, since only their hashes are stored. ok is false if b is invalid.
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

// lastKey encodes a value that sorts after all others. No other encoding begins with this byte.
const lastKey = 0xFE

// AppendKey appends the encoding of v, the value of the ORDER BY expression k, to the sort key of a row.
func AppendKey(k *bind.OrderKey, dst []byte, v OrderByValue) []byte {
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
