package postgres

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/prefix"
)

const (
	longKeyPrefix = 2560 // number of bytes of a long key that are stored unchanged
	// longKey is the length in bytes from which keys are shortened in the table. It is also the length of
	// a shortened key: its first bytes, a separator and a hash.
	longKey = longKeyPrefix + 1 + sha256.Size
)

// keyValue is a key with its value.
type keyValue struct{ key, value []byte }

// storedKey returns the key as it is stored in the table. A key too long for PostgreSQL's index is replaced
// by its first bytes and its SHA-256.
func storedKey(key []byte) []byte {
	if len(key) < longKey {
		return key
	}
	sum := sha256.Sum256(key)
	return append(append(append(make([]byte, 0, longKey), key[:longKeyPrefix]...), 0xFF), sum[:]...)
}

// storedValue returns the value of a key as it is stored in the table. For a key that storedKey shortens, it
// begins with the whole key.
func storedValue(key, value []byte) []byte {
	if value == nil {
		value = []byte{} // SQL's NULL is not a valid value
	}
	if len(key) < longKey {
		return value
	}
	b := binary.AppendUvarint(make([]byte, 0, len(key)+len(value)+binary.MaxVarintLen32), uint64(len(key)))
	return append(append(b, key...), value...)
}

// load decodes a stored row. It returns false if the row is invalid.
func load(k, v []byte) (keyValue, bool) {
	if len(k) < longKey {
		return keyValue{k, v}, true
	}
	n, used := binary.Uvarint(v)
	if used <= 0 || n > uint64(len(v)-used) {
		return keyValue{}, false
	}
	v = v[used:]
	return keyValue{v[:n:n], v[n:]}, true
}

// lowest returns the key of the table at which a scan for all keys >= key can begin. A long key is stored in
// a shortened form, as its first bytes and a hash (see storedKey), so the scan begins at these first bytes.
func lowest(key []byte) []byte {
	if len(key) < longKey {
		return key
	}
	return key[:longKeyPrefix]
}

// highest returns an upper bound for the rows of the table that can belong to keys below key. Long keys are
// stored as their first bytes and a hash, so the bound of a long key is the end of all keys with its first
// bytes. It returns nil if there is no bound.
func highest(key []byte) []byte {
	if len(key) < longKey {
		return key
	}
	return prefix.End(key[:longKeyPrefix])
}

// within reports whether a key is in a range.
func within(r engine.Range, key []byte) bool {
	return bytes.Compare(key, r.Start) >= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0)
}
