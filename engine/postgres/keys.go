package postgres

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/prefix"
)

const (
	keptOfLong = 2560 // bytes of a long key that are stored as they are
	// longKey is how long a long key is as it is stored; keys that are as long are long ones.
	longKey = keptOfLong + 1 + sha256.Size
)

// row is a key with its value.
type row struct{ key, value []byte }

// storedKey is what a key is stored as.
func storedKey(key []byte) []byte {
	if len(key) < longKey {
		return key
	}
	sum := sha256.Sum256(key)
	return append(append(append(make([]byte, 0, longKey), key[:keptOfLong]...), 0xFF), sum[:]...)
}

// storedValue is what the value of a key is stored as.
func storedValue(key, value []byte) []byte {
	if value == nil {
		value = []byte{} // a null is no value
	}
	if len(key) < longKey {
		return value
	}
	b := binary.AppendUvarint(make([]byte, 0, len(key)+len(value)+binary.MaxVarintLen32), uint64(len(key)))
	return append(append(b, key...), value...)
}

// load reads a row as it is stored; false where that is no row.
func load(k, v []byte) (row, bool) {
	if len(k) < longKey {
		return row{k, v}, true
	}
	n, used := binary.Uvarint(v)
	if used <= 0 || n > uint64(len(v)-used) {
		return row{}, false
	}
	v = v[used:]
	return row{v[:n:n], v[n:]}, true
}

// lowest is where the stored keys begin among which those from key on are, in the order of what is stored.
func lowest(key []byte) []byte {
	if len(key) < longKey {
		return key
	}
	return key[:keptOfLong]
}

// highest is where the stored keys end among which those below key are; nil for no end.
func highest(key []byte) []byte {
	if len(key) < longKey {
		return key
	}
	return prefix.End(key[:keptOfLong])
}

// within reports whether a key is in a range.
func within(r engine.Range, key []byte) bool {
	return bytes.Compare(key, r.Start) >= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0)
}
