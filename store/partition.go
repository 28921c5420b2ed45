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

// partition is a partition range and where its items lie. It lives as long as the range, through changes of
// state.
type partition struct {
	rec      record.Range
	id       string
	number   uint16
	scope    []byte
	parents  []string
	min, max []byte // EPK bytes; an empty max has no upper bound

	// Where the reaper's pass over the families w and x has come to. A write below it or a change of policy
	// sets rescan, and the next step begins anew.
	sweep.Passes
	announcing sweep.Passes // the same for the log of expiries, where purges are held back
	rescan     atomic.Bool
	begun      int64 // the second in which the pass last began at the head; the reaper's

	shapes    shapeBook
	reindexed atomic.Uint64 // how far documents have been indexed anew: a rid, or layout.AllReindexed
	// the LSN behind the last one of a range that has been split; 0: it has not been
	behind atomic.Uint64
	// what is written while a split copies the range; nil: none does. Changes under the gate
	noted atomic.Pointer[split.Notes]
	// the highest LSN that a read or a commit has told to be durable; 0: none has
	told atomic.Uint64
}

// tell notes how far the range has come, and returns how far that is.
func (s *partition) tell(lsn uint64) uint64 {
	for old := s.told.Load(); old < lsn; old = s.told.Load() {
		if s.told.CompareAndSwap(old, lsn) {
			return lsn
		}
	}
	return max(lsn, s.told.Load())
}

// last is the last LSN of a range that has been split.
func (s *partition) last() (lsn uint64, split bool) {
	n := s.behind.Load()
	return n - 1, n > 0
}

func newPartition(cid uint32, r record.Range) (s *partition, err error) {
	s = &partition{rec: r, id: strconv.Itoa(r.ID), number: r.Slot, scope: layout.SlotScope(cid, r.Slot),
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

// plain is the range as a plain value.
func (s *partition) plain() view.Range {
	return view.Range{ID: s.id, Number: s.number, Scope: s.scope, Min: s.min, Max: s.max, Parents: s.parents}
}

// isPast reports whether a pass of the reaper may have left a second of a family behind already.
func (s *partition) isPast(family byte, second int64) bool {
	return s.IsPast(family, second) || s.announcing.IsPast(family, second)
}

// answersFor reports whether the range has this id, or came from one that had it.
func (s *partition) answersFor(id string) bool { return s.id == id || slices.Contains(s.parents, id) }

// checkPositions refuses positions of a container that this store has never had, and those of which none is
// of a range that the container has or had. Positions of a former container of the name say nothing: what
// they tell of is gone, and no id of its ranges names another span of this one's.
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

// isFormer reports whether a position was given for a former container of the name.
func (c *Container) isFormer(p SessionPosition) bool {
	return p.Version > 0 && p.Version < c.SessionVersion()
}

var errSessionNotAvailable = fault.New(fault.CodeSessionNotAvailable,
	"The read session is not available for the input session token.")

// checkSession refuses a session token that is ahead of the range which serves: the client has seen a state
// that this store does not have.
func (c *Container) checkSession(s *partition, session []SessionPosition) error {
	for _, p := range session {
		if !s.answersFor(p.Range) || c.isFormer(p) {
			continue
		}
		if p.LSN > s.told.Load() && p.LSN > s.tell(c.ds.eng.Horizon(s.scope)) {
			return errSessionNotAvailable
		}
	}
	return nil
}

// loadPartitions reads what a container's slots have recorded: the store's time is not behind the last write
// and the last purge, and partition keys that are being deleted stay hidden.
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

// loadInto is loadPartitions for a state that is not the container's yet. It belongs to the record that r
// shows.
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

// loadMoments lets the clock not be behind what is stored in a slot, and returns the moment of the last
// write.
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
