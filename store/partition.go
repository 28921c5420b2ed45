package store

import (
	"context"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// checkPositions checks the positions of a session token. It fails with CodeSessionNotAvailable if a
// position belongs to a newer container of this name than the one that the store has, with
// CodeRangeGone if no position belongs to a present or former range of the container, and instead of both
// with CodeOwnerNotFound if another server has deleted the container. It ignores positions
// of an earlier container of the name: that container's data is gone, and the ids of its ranges never name
// other spans of keys in this one.
func (c *Container) checkPositions(ctx context.Context, session []SessionTokenEntry) error {
	for {
		st := c.state.Load()
		own, known, newer := false, false, false
		for _, p := range session {
			newer = newer || p.Version > max(c.SessionVersion(), 0)
			if !c.isFormer(p) {
				own = true
				known = known || slices.ContainsFunc(st.Ranges,
					func(s *container.Partition) bool { return s.AnswersFor(p.Range) })
			}
		}
		if !newer && (known || !own) {
			return nil
		}
		if c.outdated(ctx, st) {
			continue
		}
		// Another server may have deleted the container, and created the one that the client knows.
		if err := c.usable(c.state.Load()); err != nil {
			return err
		}
		if newer {
			return errSessionNotAvailable
		}
		return scan.RangeGone(session[0].Range)
	}
}

// isFormer reports whether a position of a session token belongs to an earlier container of the same name.
func (c *Container) isFormer(p SessionTokenEntry) bool {
	return p.Version > 0 && p.Version < c.SessionVersion()
}

var errSessionNotAvailable = fault.New(fault.CodeSessionNotAvailable,
	"The read session is not available for the input session token.")

// checkSession fails with CodeSessionNotAvailable if a session token is ahead of range s: the client has
// read a state that this store does not have.
func (c *Container) checkSession(s *container.Partition, session []SessionTokenEntry) error {
	for _, p := range session {
		if !s.AnswersFor(p.Range) || c.isFormer(p) {
			continue
		}
		if p.LSN > s.Shown.Load() && p.LSN > s.Show(c.ds.eng.Horizon(s.Scope)) {
			return errSessionNotAvailable
		}
	}
	return nil
}

// loadPartitions reads the records of a container's ranges. It makes sure that the clock is not behind the
// last write and the last purge, and that partition keys which are being deleted stay hidden.
func (c *Container) loadPartitions(r engine.Reader) error {
	st := *c.state.Load()
	if err := c.loadInto(r, &st); err != nil {
		return err
	}
	for _, s := range st.Ranges {
		if err := st.LoadReindexed(r, s); err != nil {
			return err
		}
	}
	c.state.Store(&st)
	return c.loadUse(r)
}

// loadInto reads the records of the ranges of st, a state that is not yet the container's. r must show the
// data at the time of the record from which st was built.
func (c *Container) loadInto(r engine.Reader, st *container.State) error {
	c.recordTime(container.MarkSettings, st.Rec.TS)
	c.recordTime(container.MarkSettings, st.Rec.Policy.ChangedAt)
	c.recordTime(container.MarkSettings, st.Rec.MovesSince)
	container.Raise(&c.used, st.Rec.TS)
	if far := work.Far(r); far != nil { // one round trip for all keys below, and those of loadPartitions
		keys := [][]byte{layout.UsedKey(c.cid), engine.MarkKey(st.Ranges[0].Scope)}
		for _, s := range st.Ranges {
			keys = append(keys, s.StoredKeys()...)
		}
		far.Prefetch(keys)
	}
	for _, s := range st.Ranges {
		last, err := c.loadMoments(r, s)
		if err != nil {
			return err
		}
		container.Raise(&c.used, last)
	}
	mark, err := engine.Mark(r, st.Ranges[0].Scope)
	if err != nil {
		return err
	}
	st.Version = container.VersionOf(mark)
	st.Tombstones, err = container.LoadTombstones(r, c.cid)
	return err
}

// loadMoments moves the clock to the moments stored in a range if it is behind them. It returns the second
// of the last write.
func (c *Container) loadMoments(r engine.Reader, s *container.Partition) (wrote int64, err error) {
	err = s.Moments(r, func(k container.ClockLimitingEventKind, t int64) {
		c.recordTime(k, t)
		if k == container.MarkWrite {
			wrote = max(wrote, t)
		}
	})
	return wrote, err
}
