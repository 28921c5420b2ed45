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

// Never is a second that does not come.
const Never = math.MaxInt64

// State is one state of a container and a moment of its clock that belongs to it. It must not be changed.
type State struct {
	Database, Name string
	Identity       Identity
	Keys           Keys
	Spec           *definition.ContainerSpec
	Policy         *ttl.Policy
	Lives          Lives            // what Policy is to be asked about items
	Now            int64            // seconds since 1970
	Terms          *index.Indexer   // of Spec, beside Olders
	Olders         []*index.Indexer // by which documents may still be indexed
	Ranges         []Range          // by effective partition key
	Tombstones     map[string]uint64
	Copies         []uint16 // slots that a split fills; nobody reads them

	Versions int64 // for how many seconds all versions are kept; 0: they are not
	Expiries int64 // for how many seconds expiries are kept in a log; 0: they are not
	Logs     bool  // there is a log of expiries
}

// Range is a partition range and where its items lie.
type Range struct {
	ID       string
	Number   uint16   // of its slot
	Scope    []byte   // what the keys of the slot begin with
	Min, Max []byte   // effective partition keys; an empty Max has no upper bound
	Parents  []string // ids of the ranges that it was split from
}

// Holds reports whether an effective partition key lies in the range.
func (r *Range) Holds(epk []byte) bool {
	return bytes.Compare(r.Min, epk) <= 0 && (len(r.Max) == 0 || bytes.Compare(epk, r.Max) < 0)
}

// RangeOf is the range that an effective partition key lies in.
func (s *State) RangeOf(epk []byte) *Range {
	i := len(s.Ranges) - 1
	for i > 0 && bytes.Compare(s.Ranges[i].Min, epk) > 0 {
		i--
	}
	return &s.Ranges[i]
}

// RangeByID is the range of an id; nil where there is none.
func (s *State) RangeByID(id string) *Range {
	for i := range s.Ranges {
		if s.Ranges[i].ID == id {
			return &s.Ranges[i]
		}
	}
	return nil
}

// Expired reports whether an item has expired.
func (s *State) Expired(h *layout.Header, body []byte) bool {
	if s.Lives.Settled() { // as nearly always: nothing is to be worked out
		return s.Policy.Expired(h.Life, s.Now)
	}
	return s.Policy.Expired(s.Lives.Of(h, body), s.Now)
}

// Live reports whether an item has neither expired nor was deleted with its whole partition key.
func (s *State) Live(item *Item) bool {
	return !s.Expired(&item.Head, item.Body) && !s.Tombstoned(item.Head, func() []byte { return item.PK })
}

// Tombstoned reports whether an item was deleted with its whole partition key.
func (s *State) Tombstoned(h layout.Header, pk func() []byte) bool {
	return Tombstoned(s.Tombstones, h, pk)
}

// Tombstoned reports whether one of the tombstones lies above an item. pk is the ordered encoding of its
// partition key; it is only asked for where a partition key of the same hash was deleted.
func Tombstoned(tombstones map[string]uint64, h layout.Header, pk func() []byte) bool {
	if len(tombstones) == 0 {
		return false
	}
	lsn, ok := tombstones[layout.TombstoneName(h.EPK, pk())]
	return ok && h.Sequence.LSN() <= lsn
}

// Count counts the keys of a range, up to a limit.
func Count(r engine.Reader, rg engine.Range, limit int64) (n int64, err error) {
	it := r.Scan(rg, false)
	for n < limit && it.Next() {
		n++
	}
	return n, it.Close()
}

// MaxGhosts is how many entries that may belong to the dead a count looks at one by one, in one range.
const MaxGhosts = 10_000

// KeyLife is a life that a policy judges as it does that of the item whose key in family w or x holds second.
// An item's own ttl is not in its key, but only the sum counts. Of the first policy's generation, it is dead
// by every floor at or above it.
func KeyLife(family byte, second int64) ttl.Life {
	if family == layout.FamilyDeadline {
		return ttl.Life{TS: second - 1, Own: 1}
	}
	return ttl.Life{TS: second}
}

// ClockText writes a moment, in seconds since 1970, for people.
func ClockText(t int64) string { return time.Unix(t, 0).UTC().Format(time.RFC3339) }
