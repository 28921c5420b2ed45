package view

import (
	"bytes"
	"math"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// Never is a time in seconds since 1970 that no clock reaches.
const Never = math.MaxInt64

// ContainerAtTime describes a container at one moment: its definition, expiry policy, partition ranges
// and tombstones, and the time of its clock. It must not be modified.
type ContainerAtTime struct {
	Database, Name string
	Identity       ContainerIdentity
	Keys           ItemKeyBuilder
	Spec           *definition.ContainerSpec
	Policy         *ttl.Policy
	Lives          LifetimeRules    // computes the life of an item for Policy
	Now            int64            // seconds since 1970
	Terms          *index.Indexer   // the indexer of Spec; queries use only paths that Olders index too
	Olders         []*index.Indexer // the indexers of older policies by which documents may still be indexed
	Ranges         []PartitionRange // sorted by effective partition key
	Tombstones     map[string]uint64
	Copies         []uint16 // ranges into which a split copies; they are not read

	Versions int64 // how many seconds all versions are kept; 0: not kept
	Expiries int64 // how many seconds expiries are kept in the log; 0: not kept
	Logs     bool  // the container has a log of expiries
}

// PartitionRange describes a partition range of a container: its id, its number and prefix in keys, its
// bounds as effective partition keys, and the ranges that it was split from.
type PartitionRange struct {
	ID       string
	Number   uint16   // its number in keys
	Scope    []byte   // the prefix of the range's keys
	Min, Max []byte   // effective partition keys; an empty Max has no upper bound
	Parents  []string // ids of the ranges that it was split from
}

// Holds reports whether an effective partition key lies in the range.
func (r *PartitionRange) Holds(epk []byte) bool {
	return bytes.Compare(r.Min, epk) <= 0 && (len(r.Max) == 0 || bytes.Compare(epk, r.Max) < 0)
}

// RangeOf returns the range that contains an effective partition key.
func (s *ContainerAtTime) RangeOf(epk []byte) *PartitionRange {
	i := len(s.Ranges) - 1
	for i > 0 && bytes.Compare(s.Ranges[i].Min, epk) > 0 {
		i--
	}
	return &s.Ranges[i]
}

// RangeByID returns the range with an id, or nil.
func (s *ContainerAtTime) RangeByID(id string) *PartitionRange {
	for i := range s.Ranges {
		if s.Ranges[i].ID == id {
			return &s.Ranges[i]
		}
	}
	return nil
}

// Expired reports whether an item has expired.
func (s *ContainerAtTime) Expired(h *layout.ItemHeader, body []byte) bool {
	if s.Lives.Settled() { // the common case: no life has to be computed
		return s.Policy.Expired(h.Life, s.Now)
	}
	return s.Policy.Expired(s.Lives.Of(h, body), s.Now)
}

// Live reports whether an item has neither expired nor was deleted with its whole partition key.
func (s *ContainerAtTime) Live(item *DecodedItem) bool {
	return !s.Expired(&item.Head, item.Body) && !s.Tombstoned(item.Head, func() []byte { return item.PK })
}

// Tombstoned reports whether an item was deleted with its whole partition key. It calls the function
// Tombstoned with the tombstones of the state.
func (s *ContainerAtTime) Tombstoned(h layout.ItemHeader, pk func() []byte) bool {
	return Tombstoned(s.Tombstones, h, pk)
}

// Tombstoned reports whether an item was deleted with its whole partition key. tombstones maps names of
// partition keys (layout.TombstoneName) to the LSN up to which their items are deleted. pk returns the
// ordered encoding of the item's partition key; it is not called if there are no tombstones.
func Tombstoned(tombstones map[string]uint64, h layout.ItemHeader, pk func() []byte) bool {
	if len(tombstones) == 0 {
		return false
	}
	lsn, ok := tombstones[layout.TombstoneName(h.EPK, pk())]
	return ok && h.Sequence.LSN() <= lsn
}

// Count returns the number of keys in a key range, but at most limit.
func Count(r engine.Reader, rg engine.Range, limit int64) (n int64, err error) {
	it := r.Scan(rg, false)
	n = int64(engine.Skip(it, int(min(limit, math.MaxInt))))
	return n, it.Close()
}

// MaxGhosts is the maximum number of items in a range that a count reads because they may have expired
// without being purged yet (ghosts). If there are more, the count is estimated or made in another way.
const MaxGhosts = 10_000

// KeyLife returns a Lifetime with the same expiry as the item whose key in the index of expiry (family w
// or x) has the given second. Such a key does not contain the item's _ts and ttl separately, but expiry
// depends on their sum only. The result counts as written under the container's first policy, so every
// change of the default TTL counts as later.
func KeyLife(family byte, second int64) ttl.Lifetime {
	if family == layout.FamilyDeadline {
		return ttl.Lifetime{TS: second - 1, Own: 1}
	}
	return ttl.Lifetime{TS: second}
}

// ClockText formats a moment, in seconds since 1970, for messages.
func ClockText(t int64) string { return time.Unix(t, 0).UTC().Format(time.RFC3339) }
