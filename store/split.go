package store

import (
	"context"
	"errors"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/split"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// A split divides a partition range in two. The items of each half move to a new range, with their rids,
// LSNs and etags. The halves are new ranges with their own ids, and the old range no longer exists: a
// request that names it gets CodeRangeGone and must read the ranges again. Existing positions stay valid:
// continuations work in each of the halves, and so do session tokens and positions in the change feed,
// since both halves issue LSNs above all that the old range has issued.
//
// The steps, in the order in which they become durable:
//
//  1. The container's record says that a split has begun, and into which new ranges it copies.
//  2. The contents of the range are copied to the new ones, in pieces.
//  3. The container's record gets the new ranges, and the old range is emptied: the moment of the split.
//
// After a crash before step 3, Open deletes the copies. A split that fails deletes them itself; if it
// cannot, the next split, the next pass of the splitter or Open does. If several servers share the data and
// the one that makes the split ends, the splitter of another one finds that out and deletes the copies.
// Until then the writes of other servers to the range wait (afterSplit).
//
// While the range is copied, neither the catalog's lock nor the gate is held, so that requests to the range
// continue. Meanwhile each writer records which items it has written or removed, after its commit and before
// it leaves the gate. The split copies those items again, and those written during that, until few are left.
// Only then does it take the catalog's lock and the gate, copy the rest, and switch. The size of this last
// copy is limited (package store/internal/split): if more has been written in the meantime, the split opens
// the gate and copies without it first. So the gate is never held for longer than one such piece and two
// small transactions take, whatever the size of the range.
//
// A container has layout.MaxRanges ranges in its whole life, since rids contain the range's number. A split
// uses two.
//
// Other changes of the container do not wait for the copy, only for the piece of it that is being written.
// A change of the indexing policy makes the copy start again, since its index entries are those of the
// former policy. In a dropped container, the write of the next piece fails. A reader that uses an older
// snapshot, or has looked up a range before the split, compares its state with the container's and starts
// again.

// errUnwanted ends a split that is not needed any more, because the throughput has been lowered.
var errUnwanted = errors.New("store: a split is not wanted any more")

// Split divides the partition range with the id rangeID in two at the effective partition key at, in
// hexadecimal: the upper half begins with it. If at is empty, the split puts half of the documents into
// each half, as far as partition keys allow; a range without documents, or whose documents all have one
// partition key, is split in the middle of its key space. It returns the two new ranges.
//
// Requests continue during the split; they only wait while it switches to the new ranges. Splits of one
// container wait for each other. CodeRangeGone: there is no such range (any more). CodeBadRequest: at does
// not lie in it. CodeConflict: it cannot be split further. CodeOwnerNotFound: the container was dropped
// during the split. If ctx ends before the split is complete, nothing has changed.
func (c *Container) Split(ctx context.Context, rangeID, at string) ([]PartitionRange, error) {
	c.ds.in.Enter()
	defer c.ds.in.Leave()
	var halves []PartitionRange
	err := c.retryAfterSplit(ctx, func() error {
		return c.retryOutdated(ctx, func() (err error) {
			halves, err = c.split(ctx, rangeID, at, nil)
			return err
		})
	})
	return halves, classify.ToFault(err)
}

// split splits the partition range rangeID and returns the two new ranges. at is the effective partition key
// at which to split, in hexadecimal; if it is empty, each half gets half of the documents. wanted reports
// whether the split is still needed; nil means always. It is called under the catalog's lock; if it returns
// false, split stops with errUnwanted.
func (c *Container) split(ctx context.Context, rangeID, at string,
	wanted func() bool) ([]PartitionRange, error) {
	if err := c.splitting.Lock(ctx); err != nil {
		return nil, classify.ToFault(err)
	}
	tidy := true
	defer func() {
		c.splitting.Unlock()
		if !tidy {
			c.ds.splitter.Wake()
		}
	}()
	if err := c.followSplit(ctx); err != nil {
		return nil, err
	}
	st := c.state.Load()
	if err := c.usable(st); err != nil {
		return nil, err
	}
	s := st.RangeByID(rangeID)
	if s == nil {
		return nil, scan.RangeGone(rangeID)
	}
	bound, err := c.splitPoint(ctx, s, at)
	if err != nil {
		return nil, err
	}
	if err := c.ds.in.Renew(ctx); err != nil {
		return nil, err
	}
	defer s.Noted.Store(nil)
	m, err := c.beginSplit(ctx, s, bound, wanted)
	if err != nil {
		return nil, err
	}
	ids, err := c.finishSplit(ctx, m, wanted)
	if err != nil {
		left := c.tidySplit(ctx)
		tidy = left == nil
		return nil, errors.Join(err, left)
	}
	c.ds.in.WakeReaper()
	c.ds.reindexer.Wake()
	return slices.DeleteFunc(c.Ranges().Ranges,
		func(r PartitionRange) bool { return !slices.Contains(ids, r.ID) }), nil
}

// alone runs fn while nobody else changes the catalog or uses the container. fn must be short.
func (c *Container) alone(ctx context.Context, fn func(st container.State) error) error {
	if err := c.ds.lockCatalog(ctx); err != nil {
		return err
	}
	defer c.ds.in.Catalog().Unlock()
	if err := c.gate.Shut(ctx); err != nil {
		return classify.ToFault(err)
	}
	defer c.gate.Open()
	st := c.state.Load()
	if err := c.usable(st); err != nil {
		return err
	}
	return fn(*st)
}

// beginSplit stores that s is being split, and makes writers of s record what they write. The caller holds
// the lock splitting, which serializes the splits of a container.
func (c *Container) beginSplit(ctx context.Context, s *container.Partition, bound []byte,
	wanted func() bool) (m *rangeSplitOperation, err error) {
	err = c.alone(ctx, func(st container.State) error {
		if wanted != nil && !wanted() {
			return errUnwanted
		}
		if st.Elsewhere {
			return container.ErrSplitElsewhere
		}
		if !slices.Contains(st.Ranges, s) { // another server has split it since the split point was chosen
			return scan.RangeGone(s.ID)
		}
		if st.Rec.Split != nil { // an earlier one that failed and could not be undone
			if err := c.undoSplit(ctx, st); err != nil {
				return err
			}
			st = *c.state.Load()
		}
		number := st.Rec.NextRangeNumber()
		if number+1 >= layout.MaxRanges {
			return unsplittable(s.ID)
		}
		begun := record.RangeSplit{From: s.Number, Lower: uint16(number), To: uint16(number + 1),
			Owner: c.ds.in.ServerID()}
		next := st
		next.Rec.RangeNumbers, next.Rec.Split = number+2, &begun
		if m, err = c.newSplitting(&next, s, bound); err != nil {
			return err
		}
		if err := c.setContainer(ctx, &st, &next); err != nil {
			return err
		}
		s.Noted.Store(m.Written)
		c.state.Store(&next)
		return nil
	})
	return m, err
}

// rangeSplitOperation splits one partition range: it copies the range into two new ones while clients keep
// writing.
type rangeSplitOperation struct {
	*split.RangeCopier
	c     *Container
	from  *container.Partition
	recs  [2]record.PartitionRange // of the halves
	split *record.RangeSplit       // as stored in the container's record
}

// newSplitting prepares the split of s. The container's record already has the numbers of the new ranges.
func (c *Container) newSplitting(st *container.State, s *container.Partition,
	bound []byte) (*rangeSplitOperation, error) {
	m := &rangeSplitOperation{c: c, from: s, split: st.Rec.Split,
		recs: [2]record.PartitionRange{s.Rec, s.Rec}}
	m.recs[0].Max, m.recs[1].Min = definition.EPKHex(bound), definition.EPKHex(bound)
	m.recs[0].Number, m.recs[1].Number = st.Rec.Split.Lower, st.Rec.Split.To
	var halves [2]view.PartitionRange
	for i, rec := range m.recs {
		half, err := container.NewPartition(c.cid, rec)
		if err != nil {
			return nil, err
		}
		halves[i] = half.Plain()
	}
	from := s.Plain()
	m.RangeCopier = split.NewRangeCopier(m, &c.items.Keys, &from, halves, st.SplitPolicy())
	return m, nil
}

// View implements split.Container: it runs fn over a snapshot of the engine.
func (m *rangeSplitOperation) View(ctx context.Context, fn func(engine.Reader) error) error {
	return m.c.ds.view(ctx, fn)
}

// Horizon implements split.Container: it returns the highest LSN of an engine scope up to which all writes
// are durable.
func (m *rangeSplitOperation) Horizon(scope []byte) uint64 { return m.c.ds.eng.Horizon(scope) }

// Write implements split.Container: it runs fn as one transaction in scopes. It holds the container's gate
// (its lock) shared, unless alone says that the caller holds it exclusively. It fails with
// split.ErrReindexed if the number of changes of the container's indexing policy (IndexRound) is not round
// any more.
func (m *rangeSplitOperation) Write(ctx context.Context, round uint32, alone bool, scopes [][]byte,
	fn func(engine.Txn)) error {
	if !alone {
		st, _, err := m.c.enter(ctx)
		if err != nil {
			return err
		}
		defer m.c.leave()
		if st.Rec.IndexRound != round {
			return split.ErrReindexed
		}
	}
	_, err := m.c.ds.eng.Update(ctx, scopes, func(t engine.Txn) error {
		err := m.checkOngoing(t)
		if err == nil {
			fn(t)
		}
		return err
	})
	return err
}

// checkOngoing fails with *container.OutdatedStateError if another server has undone the split, which it does
// if it takes this server for dead.
func (m *rangeSplitOperation) checkOngoing(r engine.Reader) error {
	rec, err := m.c.storedRecord(r)
	if err != nil && !isAbsent(err) {
		return err
	}
	if err != nil || rec.CID != m.c.cid || !m.isOngoing(&rec) {
		return &container.OutdatedStateError{Version: m.c.state.Load().Version}
	}
	return nil
}

// isOngoing reports whether the container's record still says that this split is in progress.
func (m *rangeSplitOperation) isOngoing(rec *record.Container) bool {
	return rec.Split != nil && *rec.Split == *m.split
}

// finishSplit copies the range and switches to the halves. It returns their ids. If wanted is not nil and
// returns false, the split is no longer needed, and it stops with errUnwanted.
func (c *Container) finishSplit(ctx context.Context, m *rangeSplitOperation,
	wanted func() bool) (ids []string,
	err error) {
	for {
		err := m.Copy(ctx)
		for ids == nil && err == nil {
			ids, err = c.trySwitch(ctx, m, wanted)
		}
		if err == nil {
			return ids, nil
		}
		for errors.Is(err, split.ErrReindexed) {
			err = m.Restart(ctx, c.state.Load().SplitPolicy())
		}
		if err != nil {
			return nil, err
		}
	}
}

// trySwitch copies the rest of the range, including what has been written meanwhile, and replaces the range
// by the two halves. If the rest is more than may be copied under the locks, it copies a part of it and
// returns nil without replacing the range.
func (c *Container) trySwitch(ctx context.Context, m *rangeSplitOperation,
	wanted func() bool) (ids []string, err error) {
	err = c.alone(ctx, func(st container.State) error {
		if wanted != nil && !wanted() {
			return errUnwanted
		}
		// Another server undoes the split, and deletes the copies, if this server was stopped for so long
		// that its lease has expired. Taking the catalog's lock has brought the record up to date.
		if !m.isOngoing(&st.Rec) {
			return &container.OutdatedStateError{Version: st.Version}
		}
		if st.Rec.IndexRound != m.Round() {
			return split.ErrReindexed
		}
		left, err := m.Rest(ctx)
		if err != nil || left > 0 {
			return err
		}
		next, err := c.halves(st, m)
		if err != nil {
			return err
		}
		if err = c.switchRanges(ctx, m, &st, &next); err != nil {
			return err
		}
		m.from.Behind.Store(c.ds.eng.Horizon(m.from.Scope) + 1)
		c.state.Store(&next)
		ids = nil
		for _, s := range next.Ranges {
			if !slices.Contains(st.Ranges, s) {
				ids = append(ids, s.ID)
			}
		}
		return nil
	})
	return ids, err
}

// halves returns the state that the container will have after the split.
func (c *Container) halves(st container.State, m *rangeSplitOperation) (next container.State, err error) {
	next = st
	i := slices.Index(st.Ranges, m.from)
	id := max(record.HighestID(st.Rec.Ranges)+1, st.Rec.NextRange, int(c.ds.in.Catalog().Floor()))
	next.Rec.Ranges, next.Rec.NextRange = slices.Clone(st.Rec.Ranges), id+len(m.recs)
	for j, r := range next.Rec.Ranges {
		if r.LSN == 0 {
			next.Rec.Ranges[j].LSN = st.Rec.RangeLSN // the range counts as created with the container
		}
	}
	next.Ranges = slices.Clone(st.Ranges)
	var recs []record.PartitionRange
	var partitions []*container.Partition
	for n, rec := range m.recs {
		rec.ID, rec.TS = id+n, c.moment()
		rec.Parents = append(slices.Clip(m.from.Rec.Parents), m.from.Rec.ID)
		s, err := container.NewPartition(c.cid, rec)
		if err != nil {
			return next, err
		}
		s.Reindexed.Store(layout.AllReindexed)
		s.Shapes.Known = m.Halves[n].Shapes
		recs, partitions = append(recs, rec), append(partitions, s)
	}
	next.Rec.Ranges = slices.Replace(next.Rec.Ranges, i, i+1, recs...)
	next.Ranges = slices.Replace(next.Ranges, i, i+1, partitions...)
	next.Rec.Split = nil
	// New indexers, although they are equal: plans, prepared index entries and the reindexer's pass compare
	// indexers by identity, and must be computed again for the new ranges.
	return next, next.Compile()
}

// tidySplit deletes the copies that a failed split has left. The caller holds the lock splitting, which
// serializes the splits of a container.
func (c *Container) tidySplit(ctx context.Context) error {
	err := c.alone(ctx, func(st container.State) error {
		if st.Rec.Split == nil {
			return nil
		}
		if st.Elsewhere {
			if runs, err := c.ds.in.Running(ctx, st.Rec.Split.Owner); runs || err != nil {
				return err
			}
			st.Elsewhere = false
		}
		return c.undoSplit(context.WithoutCancel(ctx), st)
	})
	if fault.ErrorCode(err) == fault.CodeOwnerNotFound { // the container was dropped with everything in it
		return nil
	}
	return err
}
