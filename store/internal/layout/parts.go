package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// This file reads the parts of keys and of small values, and builds ranges of keys for scans.

// CatalogParent returns the number of the parent of a catalog record: the database for a container's
// record, the container for a drop record.
func CatalogParent(key []byte) uint32 { return binary.BigEndian.Uint32(key[2:]) }

// CatalogName returns the name of a catalog record.
func CatalogName(key []byte) (string, error) {
	name, rest, err := jsondoc.DecodeEscaped(key[host.CatalogHead:])
	if err != nil || len(rest) > 0 {
		return "", fmt.Errorf("%w: catalog key %x", engine.ErrCorrupt, key)
	}
	return string(name), nil
}

// CatalogChildren returns the key range of the catalog records of one kind that belong to one parent.
func CatalogChildren(kind byte, parent uint32) engine.Range {
	return engine.Prefix(host.AppendCatalogHead(nil, kind, parent))
}

// KeyCID returns the id of the container that a key belongs to; ok is false if the key is too short.
func KeyCID(key []byte) (cid uint32, ok bool) {
	if len(key) < CIDLen {
		return 0, false
	}
	return binary.BigEndian.Uint32(key), true
}

// KeyRangeNumber returns the number of the partition range that a key belongs to; ok is false if the key is
// too short.
func KeyRangeNumber(key []byte) (number uint16, ok bool) {
	if len(key) < ScopeLen {
		return 0, false
	}
	return binary.BigEndian.Uint16(key[CIDLen:]), true
}

// MoveKey overwrites the container id in a key with cid.
func MoveKey(key []byte, cid uint32) { binary.BigEndian.PutUint32(key, cid) }

// AllScopes returns the key range that contains the keys of all partition ranges of a container.
func AllScopes(cid uint32) engine.Range {
	rg := ContainerRange(cid)
	rg.End = binary.BigEndian.AppendUint16(AppendCID(nil, cid), MaxRanges)
	return rg
}

// PointsBetween returns the range of the point keys (the keys that a point read looks up first) of a
// container's items whose effective partition key is in [low, high). An empty high means no upper bound.
func PointsBetween(cid uint32, low, high []byte) engine.Range {
	rg := ContainerFamily(cid, FamilyPoint)
	bound := func(epk []byte) []byte {
		k := jsondoc.AppendEscaped(append(AppendCID(nil, cid), FamilyPoint), epk)
		return k[:len(k)-2] // without the end mark
	}
	if rg.Start = bound(low); len(high) > 0 {
		rg.End = bound(high)
	}
	return rg
}

// PointEPK returns the effective partition key in a point key.
func PointEPK(key []byte) ([]byte, error) {
	epk, _, err := jsondoc.DecodeEscaped(key[CIDLen+1:])
	if err != nil {
		return nil, fmt.Errorf("%w: a point key %x", engine.ErrCorrupt, key)
	}
	return epk, nil
}

// TombstoneName returns the name of a partition key among a container's tombstones, the records of deleted
// partition keys: its tombstone key without the container id and the family.
func TombstoneName(epk, pk []byte) string {
	return string(append(jsondoc.AppendEscaped(make([]byte, 0, len(epk)+len(pk)+4), epk), pk...))
}

// KeyTombstone returns the name of a deleted partition key, from the key of its tombstone (the record of the
// deletion). The name, which TombstoneName builds, is that key without the container id and the family.
func KeyTombstone(key []byte) string { return string(key[CIDLen+1:]) }

// TombstonePostings returns the prefix of the index keys (family k) of the items of a partition key, which is
// given by its TombstoneName. In each key a rid follows the prefix.
func TombstonePostings(cid uint32, name string) []byte {
	return append(append(AppendCID(nil, cid), FamilyPartition), name...)
}

// DecodeReindexed decodes a ReindexedValue: the documents of a partition range up to rid have been indexed
// again in the change of the indexing policy with the number round. ok is false if value is malformed.
func DecodeReindexed(value []byte) (round uint32, rid uint64, ok bool) {
	if len(value) != 12 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint32(value), binary.BigEndian.Uint64(value[4:]), true
}
