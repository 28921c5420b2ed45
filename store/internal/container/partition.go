package container

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/split"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Partition is a partition key range and its state in memory. It lives as long as the range; changes of the
// container's state keep it.
type Partition struct {
	Rec      record.PartitionRange
	ID       string
	Number   uint16
	Scope    []byte
	Parents  []string
	Min, max []byte // EPK bytes; an empty max has no upper bound

	// ExpiryPassPositions are the positions of the reaper in the index of expiry (the key families w and x).
	// A write of a key before these positions, or a change of the policy, sets Rescan; then the next step
	// starts from the beginning.
	sweep.ExpiryPassPositions
	Announcing sweep.ExpiryPassPositions // the positions of announcing expiries in the log, while purges are delayed
	Rescan     atomic.Bool
	Begun      int64 // the second in which the reaper's pass last started at the beginning
	// Purged counts the purged items whose deleted keys the reaper has not yet covered by a range
	// deletion, and FirstPurged is the first of these items: see transaction.ClearAround. Only the reaper
	// uses both.
	Purged      int
	FirstPurged sweep.ExpiryCandidate

	Shapes    DocumentShapeRecordCache
	Reindexed atomic.Uint64 // reindexed up to this rid; layout.AllReindexed when done
	// Behind is the last LSN of a range that has been split, plus one; 0 if the range has not been split
	Behind atomic.Uint64
	// Noted records which items are written while a split copies the range; nil if there is no split. It
	// changes under the gate only
	Noted atomic.Pointer[split.ConcurrentlyWrittenRIDs]
	// Shown is the highest LSN that a read or a commit has found to be durable; 0 if there was none
	Shown atomic.Uint64
}

// NewPartition returns the partition range with record r in the container with number cid. It fails with
// engine.ErrCorrupt for a malformed record.
func NewPartition(cid uint32, r record.PartitionRange) (s *Partition, err error) {
	s = &Partition{Rec: r, ID: strconv.Itoa(r.ID), Number: r.Number, Scope: layout.RangeScope(cid, r.Number),
		Parents: []string{}}
	for _, p := range r.Parents {
		s.Parents = append(s.Parents, strconv.Itoa(p))
	}
	if s.Min, err = hex.DecodeString(r.Min); err != nil {
		return nil, fmt.Errorf("%w: range bound %q", engine.ErrCorrupt, r.Min)
	}
	if r.Max != definition.MaxEPK {
		if s.max, err = hex.DecodeString(r.Max); err != nil {
			return nil, fmt.Errorf("%w: range bound %q", engine.ErrCorrupt, r.Max)
		}
	}
	return s, nil
}

// Show raises Shown, the highest LSN found to be durable, to lsn if that is higher, and returns the new
// value.
func (s *Partition) Show(lsn uint64) uint64 {
	for old := s.Shown.Load(); old < lsn; old = s.Shown.Load() {
		if s.Shown.CompareAndSwap(old, lsn) {
			return lsn
		}
	}
	return max(lsn, s.Shown.Load())
}

// last returns the last LSN of a range that has been split. split is false if the range has not been split.
func (s *Partition) last() (lsn uint64, split bool) {
	n := s.Behind.Load()
	return n - 1, n > 0
}

// Clamp returns lsn. If the range has been split, it returns at most the last LSN before the split.
func (s *Partition) Clamp(lsn uint64) uint64 {
	if last, split := s.last(); split {
		return min(lsn, last)
	}
	return lsn
}

// Plain returns the range as a view.PartitionRange, without its state in memory.
func (s *Partition) Plain() view.PartitionRange {
	return view.PartitionRange{ID: s.ID, Number: s.Number, Scope: s.Scope, Min: s.Min, Max: s.max, Parents: s.Parents}
}

// HasPassed reports whether the reaper's current pass over one of the two expiry indexes may already be past
// the given second, so that it would not see a new entry there. family is the key letter of the index: w for
// items without a ttl of their own, x for items with one.
func (s *Partition) HasPassed(family byte, second int64) bool {
	return s.IsPast(family, second) || s.Announcing.IsPast(family, second)
}

// AnswersFor reports whether the range or one of its ancestors has this id.
func (s *Partition) AnswersFor(id string) bool { return s.ID == id || slices.Contains(s.Parents, id) }

// Holds reports whether an effective partition key lies in the range.
func (s *Partition) Holds(epk []byte) bool {
	return bytes.Compare(s.Min, epk) <= 0 && (len(s.max) == 0 || bytes.Compare(epk, s.max) < 0)
}

// StoredKeys returns the keys from which the state of a range is loaded.
func (s *Partition) StoredKeys() [][]byte {
	return [][]byte{layout.SweptKey(s.Scope), layout.LeasedKey(s.Scope), layout.IndexedKey(s.Scope)}
}

// Moments calls note with the times, in seconds since 1970, of the latest write, the latest purge and the
// latest lease that are stored in the range. The container's clock cannot be set back behind them.
func (s *Partition) Moments(r engine.Reader, note func(k ClockLimitingEventKind, t int64)) error {
	for _, last := range []func(engine.Reader, []byte) (int64, error){lastFeedTime, lastVersionTime} {
		t, err := last(r, s.Scope)
		if err != nil {
			return err
		}
		note(MarkWrite, t)
	}
	for _, k := range []struct {
		mark ClockLimitingEventKind
		key  []byte
	}{{MarkPurge, layout.SweptKey(s.Scope)}, {MarkLease, layout.LeasedKey(s.Scope)}} {
		v, err := r.Get(k.key)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		if t, ok := layout.NumberOf(v); ok {
			note(k.mark, int64(t))
		}
	}
	return nil
}

// lastFeedTime returns the second of the newest entry in a range's feed of latest versions; 0 if it has
// none.
func lastFeedTime(r engine.Reader, scope []byte) (ts int64, err error) {
	it := r.Scan(layout.ScopeFamily(scope, layout.FamilyFeed), true)
	if it.Next() {
		var last layout.FeedEntry
		last, err = layout.DecodeFeed(it.Value())
		ts = last.TS
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return ts, err
}

// lastVersionTime returns the second of the newest entry in a range's feed of all versions; 0 if it has
// none.
func lastVersionTime(r engine.Reader, scope []byte) (ts int64, err error) {
	it := r.Scan(layout.ScopeFamily(scope, layout.FamilyVersions), true)
	if it.Next() {
		var v layout.AllVersionsFeedEntry
		v, err = layout.DecodeVersion(it.Value())
		ts = v.TS
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return ts, err
}
