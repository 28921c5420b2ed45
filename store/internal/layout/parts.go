package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// The parts of keys and of small values, for those who walk over a range of keys, or want one.

// CatalogParent is the number of what a catalog record belongs to: of a container's its database's, of a
// drop's the container's.
func CatalogParent(key []byte) uint32 { return binary.BigEndian.Uint32(key[2:]) }

// CatalogName is the name of a catalog record.
func CatalogName(key []byte) (string, error) {
	name, rest, err := jsondoc.DecodeEscaped(key[host.CatalogHead:])
	if err != nil || len(rest) > 0 {
		return "", fmt.Errorf("%w: catalog key %x", engine.ErrCorrupt, key)
	}
	return string(name), nil
}

// CatalogChildren are the catalog records of one kind that belong to one parent.
func CatalogChildren(kind byte, parent uint32) engine.Range {
	return engine.Prefix(host.AppendCatalogHead(nil, kind, parent))
}

// KeyCID is the number of the container that a key belongs to; ok is false where it is too short to have one.
func KeyCID(key []byte) (cid uint32, ok bool) {
	if len(key) < CIDLen {
		return 0, false
	}
	return binary.BigEndian.Uint32(key), true
}

// KeySlot is the slot that a key belongs to; ok is false where it is too short to have one.
func KeySlot(key []byte) (slot uint16, ok bool) {
	if len(key) < ScopeLen {
		return 0, false
	}
	return binary.BigEndian.Uint16(key[CIDLen:]), true
}

// MoveKey makes a key one of another container.
func MoveKey(key []byte, cid uint32) { binary.BigEndian.PutUint32(key, cid) }

// SlotsRange is every key that lies in a slot of a container.
func SlotsRange(cid uint32) engine.Range {
	rg := ContainerRange(cid)
	rg.End = binary.BigEndian.AppendUint16(AppendCID(nil, cid), MaxSlots)
	return rg
}

// PointsBetween are the point keys of a container with an effective partition key in [low, high); an empty
// high is no bound.
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

// PointEPK is the effective partition key in a point key.
func PointEPK(key []byte) ([]byte, error) {
	epk, _, err := jsondoc.DecodeEscaped(key[CIDLen+1:])
	if err != nil {
		return nil, fmt.Errorf("%w: a point key %x", engine.ErrCorrupt, key)
	}
	return epk, nil
}

// TombstoneName is the name of a partition key among a container's tombstones: its tombstone key without the
// container.
func TombstoneName(epk, pk []byte) string {
	return string(append(jsondoc.AppendEscaped(make([]byte, 0, len(epk)+len(pk)+4), epk), pk...))
}

// KeyTombstone is the name in a tombstone's key.
func KeyTombstone(key []byte) string { return string(key[CIDLen+1:]) }

// TombstonePostings is what the postings of the partition key with that name begin with; a rid follows.
func TombstonePostings(cid uint32, name string) []byte {
	return append(append(AppendCID(nil, cid), FamilyPartition), name...)
}

// DecodeReindexed reads a ReindexedValue; ok is false where it is none.
func DecodeReindexed(value []byte) (round uint32, rid uint64, ok bool) {
	if len(value) != 12 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint32(value), binary.BigEndian.Uint64(value[4:]), true
}
