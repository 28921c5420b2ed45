package record

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// Database is the record of a database. Its key holds the id.
type Database struct {
	ID  string `json:"id"`
	Num uint32 `json:"num"`
	TS  int64  `json:"ts"`
	LSN uint64 `json:"lsn"`
}

// Container is the record of a container. Its key holds the number of the database and the container's
// id.
type Container struct {
	CID      uint32           `json:"cid"`
	TS       int64            `json:"ts"`
	LSN      uint64           `json:"lsn"`
	Spec     json.RawMessage  `json:"spec"`
	Policy   ttl.Policy       `json:"policy"`
	Ranges   []PartitionRange `json:"ranges"`
	RangeLSN uint64           `json:"rangeLSN"` // catalog LSN of the last change of Ranges
	// RangeNumbers is higher than every number that ranges of the container have had in keys; 0 before the
	// first split.
	RangeNumbers int `json:"slots,omitempty"`
	// NextRange is higher than every range id that was ever used under the container's name; 0: unknown.
	NextRange int `json:"nextRange,omitempty"`
	// Former are ranges of earlier containers of the same name. No range in Ranges has one of their ids.
	Former []RangeOfDroppedContainer `json:"former,omitempty"`
	// Version is the version number in session tokens; 0: the tokens have none.
	Version int64       `json:"version,omitempty"`
	Split   *RangeSplit `json:"split,omitempty"`

	// IndexedBy are older specs by which documents may still be indexed; empty if all documents are
	// indexed by Spec. IndexRound counts the changes of the indexing policy.
	IndexedBy  []json.RawMessage `json:"indexedBy,omitempty"`
	IndexRound uint32            `json:"indexRound,omitempty"`
	// Basis is the ttlPropertyPath for items that are written now. Eras are the earlier paths, oldest
	// first, as long as items written under them may exist: see TTLStartPropertyEra.
	Basis string                `json:"basis,omitempty"`
	Eras  []TTLStartPropertyEra `json:"eras,omitempty"`
	// Recent reports whether the documents of a partition are indexed by their _ts in addition to the
	// indexing policy.
	Recent bool `json:"recent,omitempty"`

	// Backup reports whether the container was created while continuous backup was on.
	Backup bool `json:"backup,omitempty"`

	Settings definition.ContainerSettings `json:"settings,omitzero"`
	// MovesSince is the second since which expired items are moved to an archive, as the settings say.
	// Items that had expired before it are not moved. 0: there is no archive.
	MovesSince int64 `json:"movesSince,omitempty"`
	// Log is not nil while the container keeps a log of expiries.
	Log *ExpiryLogStart `json:"log,omitempty"`
}

// PartitionRange is a partition range in a container's record. ID is the id that clients see. Number is the
// range's number in keys.
type PartitionRange struct {
	ID      int    `json:"id"`
	Number  uint16 `json:"slot"`
	Min     string `json:"min"` // EPK, upper-case hexadecimal
	Max     string `json:"max"`
	Parents []int  `json:"parents,omitempty"` // all ancestors; the direct parent is last
	TS      int64  `json:"ts"`
	// catalog LSN of its creation; 0: created with the container
	LSN uint64 `json:"lsn,omitempty"`
}

// Offer is the record of a throughput of a container or a database.
type Offer struct {
	Num      uint32                `json:"num"`
	Database uint32                `json:"database"`
	CID      uint32                `json:"cid,omitempty"` // 0: the throughput of the database itself
	TS       int64                 `json:"ts"`
	LSN      uint64                `json:"lsn"`
	Asked    definition.Throughput `json:"throughput"`
	// Ranges is the number of partition ranges that the container shall have because its throughput was
	// raised, even if they do not exist yet; 0: the throughput was never raised.
	Ranges int `json:"ranges,omitempty"`
}

// Same reports whether two records have the same encoding.
func Same(a, b *Container) (bool, error) {
	one, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	two, err := json.Marshal(b)
	return bytes.Equal(one, two), err
}

// HighestID returns the highest id of ranges, which must not be empty.
func HighestID(ranges []PartitionRange) int {
	return slices.MaxFunc(ranges, func(a, b PartitionRange) int { return a.ID - b.ID }).ID
}

// RangeSplit is a running split. The container's record holds it from before the first item is copied until
// the switch to the halves. Until then the halves' ranges contain copies that are not read.
type RangeSplit struct {
	From  uint16 `json:"from"`  // the number of the range that is split
	Lower uint16 `json:"lower"` // the number of the lower half
	To    uint16 `json:"to"`    // the number of the upper half
	// LSN is the catalog LSN at the start of the split. It distinguishes splits that use the same range
	// numbers.
	LSN uint64 `json:"lsn,omitempty"`
	// Owner is the id of the server that makes the split; empty if no other server can have the data open.
	// Another server undoes the split when the owner has ended.
	Owner string `json:"owner,omitempty"`
}

// ExpiryLogStart is the part of a container's record that exists while the container keeps a log of expiries.
type ExpiryLogStart struct {
	Since  int64      `json:"since"`  // the second in which the log began
	Policy ttl.Policy `json:"policy"` // the expiry policy in that second
}

// Knows reports whether an expired item had already expired when the log began, so that the log has no entry
// for it. l is the life of the item and p the current policy.
func (rec *ExpiryLogStart) Knows(l ttl.Lifetime, p *ttl.Policy) bool {
	switch {
	case l.Ended:
		return l.Base <= rec.Since
	case p.BasedAt > 0 && rec.Policy.BasedAt < p.BasedAt:
		return false // it was live when the ttlPropertyPath was changed, which was after the log began
	case l.Based && l.TS >= rec.Since:
		return false // it was written after the log began
	default:
		return rec.Policy.Expired(l, rec.Since)
	}
}

// NextRangeNumber returns the first range number that no range has used yet.
func (rec *Container) NextRangeNumber() int {
	n := rec.RangeNumbers
	for _, r := range rec.Ranges {
		n = max(n, int(r.Number)+1)
	}
	return n
}

// CheckChange fails with CodeBadRequest if an offer cannot become t: t must not be empty, and only a
// migration changes between manual and autoscale throughput.
func (o *Offer) CheckChange(t definition.Throughput, migrate bool) error {
	if t.IsZero() {
		return fault.New(fault.CodeBadRequest, "The offer's throughput is missing.")
	}
	if (t.Autoscale > 0) != (o.Asked.Autoscale > 0) && !migrate {
		return fault.New(fault.CodeBadRequest,
			"An offer cannot change between manual and autoscale throughput without a migration.")
	}
	return nil
}

// Target returns the number of partition ranges that an offer's container should get if its throughput
// changes to t. For a higher throughput that is one range per 10,000 RU/s, up to layout.MaxRanges, but not
// less than the former target. For the same throughput it is the former target. For a lower throughput Target
// returns 0, which cancels splits that have not begun. For a database's shared throughput it also returns 0,
// because its containers always have one range.
func (o *Offer) Target(t definition.Throughput) int {
	was, is := o.Asked.Most(), t.Most()
	switch {
	case is < was || o.CID == 0:
		return 0
	case is == was:
		return o.Ranges
	}
	return max(o.Ranges, min((is+definition.RangeThroughput-1)/definition.RangeThroughput, layout.MaxRanges))
}

// TTLStartPropertyEra is a span of time in which the times to live of a container's items counted from the
// property at Path. A change of its ttlPropertyPath ends it. Times to live of items written in it are
// stored as counted from Path.
type TTLStartPropertyEra struct {
	ttl.PropertyPathPeriod
	Path string `json:"path,omitempty"` // "": the _ts
}
