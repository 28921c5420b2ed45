package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/split"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// partition is a partition key range and its state in memory. It lives as long as the range; changes of the
// container's state keep it.
type partition struct {
	rec      record.Range
	ID       string
	number   uint16
	scope    []byte
	parents  []string
	min, max []byte // EPK bytes; an empty max has no upper bound

	// Passes is the position of the reaper in the families w and x. A write before that position or a
	// change of policy sets rescan; then the next step starts from the beginning.
	sweep.Passes
	announcing sweep.Passes // the same for the log of expiries, while purges are held back
	rescan     atomic.Bool
	begun      int64 // the second in which the pass last started at the beginning; the reaper's

	shapes    shapeBook
	reindexed atomic.Uint64 // reindexed up to this rid; layout.AllReindexed when done
	// behind is the last LSN of a range that has been split, plus one; 0 if the range has not been split
	behind atomic.Uint64
	// noted records what is written while a split copies the range; nil if none does. Changes under the
	// gate
	noted atomic.Pointer[split.Notes]
	// shown is the highest LSN that a read or a commit has found to be durable; 0 if there was none
	shown atomic.Uint64
}

// tell raises shown to lsn, if that is higher, and returns the new value.
func (s *partition) tell(lsn uint64) uint64 {
	for old := s.shown.Load(); old < lsn; old = s.shown.Load() {
		if s.shown.CompareAndSwap(old, lsn) {
			return lsn
		}
	}
	return max(lsn, s.shown.Load())
}

// last returns the last LSN of a range that has been split.
func (s *partition) last() (lsn uint64, split bool) {
	n := s.behind.Load()
	return n - 1, n > 0
}

func newPartition(cid uint32, r record.Range) (s *partition, err error) {
	s = &partition{rec: r, ID: strconv.Itoa(r.ID), number: r.Slot, scope: layout.SlotScope(cid, r.Slot),
		parents: []string{}}
	for _, p := range r.Parents {
		s.parents = append(s.parents, strconv.Itoa(p))
	}
	if s.min, err = hex.DecodeString(r.Min); err != nil {
		return nil, fmt.Errorf("%w: range bound %q", engine.ErrCorrupt, r.Min)
	}
	if r.Max != definition.MaxEPK {
		if s.max, err = hex.DecodeString(r.Max); err != nil {
			return nil, fmt.Errorf("%w: range bound %q", engine.ErrCorrupt, r.Max)
		}
	}
	return s, nil
}

// plain returns the range as a plain value.
func (s *partition) plain() view.Range {
	return view.Range{ID: s.ID, Number: s.number, Scope: s.scope, Min: s.min, Max: s.max, Parents: s.parents}
}

// isPast reports whether a pass of the reaper may already be beyond the given second of a family.
func (s *partition) hasPassed(family byte, second int64) bool {
	return s.IsPast(family, second) || s.announcing.IsPast(family, second)
}

// answersFor reports whether the range or one of its ancestors has this id.
func (s *partition) answersFor(id string) bool { return s.ID == id || slices.Contains(s.parents, id) }

// checkPositions checks the positions of a session token. It fails with CodeSessionNotAvailable for a
// position of a later container of this name than the store has. It fails with CodeRangeGone if no position
// belongs to a present or former range of the container. Positions of an earlier container of the name are
// ignored: that container's data is gone, and the ids of its ranges never name other spans in this one.
func (c *Container) checkPositions(ctx context.Context, session []SessionPosition) error {
	for {
		st := c.state.Load()
		own, known := false, false
		for _, p := range session {
			if p.Version > max(c.SessionVersion(), 0) {
				return errSessionNotAvailable
			}
			if !c.isFormer(p) {
				own = true
				known = known || slices.ContainsFunc(st.ranges,
					func(s *partition) bool { return s.answersFor(p.Range) })
			}
		}
		if known || !own {
			return nil
		}
		if !c.outdated(ctx, st) {
			return scan.RangeGone(session[0].Range)
		}
	}
}

// isFormer reports whether a position belongs to an earlier container of the name.
func (c *Container) isFormer(p SessionPosition) bool {
	return p.Version > 0 && p.Version < c.SessionVersion()
}

var errSessionNotAvailable = fault.New(fault.CodeSessionNotAvailable,
	"The read session is not available for the input session token.")

// checkSession fails with CodeSessionNotAvailable if a session token is ahead of range s: the client has
// seen a state that this store does not have.
func (c *Container) checkSession(s *partition, session []SessionPosition) error {
	for _, p := range session {
		if !s.answersFor(p.Range) || c.isFormer(p) {
			continue
		}
		if p.LSN > s.shown.Load() && p.LSN > s.tell(c.ds.eng.Horizon(s.scope)) {
			return errSessionNotAvailable
		}
	}
	return nil
}

// loadPartitions reads the records of a container's slots. It makes sure that the clock is not behind the
// last write and the last purge, and that partition keys which are being deleted stay hidden.
func (c *Container) loadPartitions(r engine.Reader) error {
	st := *c.state.Load()
	if err := c.loadInto(r, &st); err != nil {
		return err
	}
	for _, s := range st.ranges {
		if err := st.loadReindexed(r, s); err != nil {
			return err
		}
	}
	c.state.Store(&st)
	return c.loadUse(r)
}

// loadInto is loadPartitions for a state that is not yet the container's. st must belong to the record in
// r.
func (c *Container) loadInto(r engine.Reader, st *containerState) error {
	c.note(markSettings, st.rec.TS)
	c.note(markSettings, st.rec.Policy.ChangedAt)
	c.note(markSettings, st.rec.MovesSince)
	raise(&c.used, st.rec.TS)
	for _, s := range st.ranges {
		last, err := c.loadMoments(r, s)
		if err != nil {
			return err
		}
		raise(&c.used, last)
	}
	mark, err := engine.Mark(r, st.ranges[0].scope)
	if err != nil {
		return err
	}
	st.version = versionOf(mark)
	st.tombstones, err = loadTombstones(r, c.cid)
	return err
}

// loadMoments makes sure that the clock is not behind the moments stored in a slot. It returns the second
// of the last write.
func (c *Container) loadMoments(r engine.Reader, s *partition) (wrote int64, err error) {
	last, err := lastFeedEntry(r, s.scope)
	if err != nil {
		return 0, err
	}
	c.note(markWrite, last.TS)
	version, err := lastVersionTime(r, s.scope)
	if err != nil {
		return 0, err
	}
	c.note(markWrite, version)
	swept, err := r.Get(layout.SweptKey(s.scope))
	if err != nil && !isAbsent(err) {
		return 0, err
	}
	if n, ok := layout.NumberOf(swept); ok {
		c.note(markPurge, int64(n))
	}
	leased, err := r.Get(layout.LeasedKey(s.scope))
	if err != nil && !isAbsent(err) {
		return 0, err
	}
	if n, ok := layout.NumberOf(leased); ok {
		c.note(markLease, int64(n))
	}
	return max(last.TS, version), nil
}

func lastFeedEntry(r engine.Reader, scope []byte) (last layout.FeedEntry, err error) {
	it := r.Scan(layout.SlotFamily(scope, layout.FamilyFeed), true)
	if it.Next() {
		last, err = layout.DecodeFeed(it.Value())
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return last, err
}
