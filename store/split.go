package store

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/scan"
)

// A split divides a partition range in two. The items of each half move to a new slot, with their rids, LSNs
// and etags. The halves are new ranges with ids of their own, and the range that was split is no more: who
// names it gets CodeRangeGone and reads the ranges again. What was made under it goes on to work:
// continuations in each of the halves, session tokens and positions in the change feed too, since both halves
// take LSNs from above all that it has issued.
//
// In the order of what is durable:
//
//  1. The container's record says that a split begins, and which slots it fills.
//  2. What is in the range's slot is copied to the new ones, in pieces.
//  3. The container's record has the new ranges, and the old slot is empty: this is the moment of the split.
//
// A crash before 3 makes Open delete the copies. A split that gives up deletes them itself; if it cannot, the
// next split, the background's next pass or Open does.
//
// The copying holds neither the catalog's lock nor the gate: everybody goes on to work with the range.
// Meanwhile writers note which items they have written or removed, when they have committed and before they
// leave the gate. The split copies those again, and what they have written since, until little is left. Only
// then it takes the catalog's lock and the gate, copies the rest, and switches. What it copies then is
// bounded (switchKeys, stepBytes): if more has come meanwhile it opens the gate and goes on. So the gate is
// never held for longer than one such piece and two small transactions take, whatever the size of the range.
//
// A container has maxSlots slots in all its life, since rids name them, and a split takes two.
//
// Others who change the container meanwhile do not wait for the copy, but for one piece of it that is being
// written. A change of the indexing policy makes the copy begin again, since its index entries are of the
// former policy. A container that is dropped refuses the next piece. A reader that holds a snapshot of
// before, or has looked up a slot before, sees that by the state and looks again.

// errUnwanted means that a split in the background is not asked for any more.
var errUnwanted = errors.New("store: a split is not wanted any more")

// Split divides the partition range with the id rangeID in two at the effective partition key at, in
// hexadecimal: the upper half begins with it. Where at is empty half of the documents go either way, as far
// as partition keys allow, and a range whose documents have one partition key, or that has none, is split in
// its middle. It returns the two new ranges.
//
// Requests go on meanwhile; they wait for the moment of the split alone. Splits of one container wait for
// each other. CodeRangeGone: there is no such range (any more); CodeBadRequest: at does not lie in it;
// CodeConflict: it cannot be split further; CodeOwnerNotFound: the container was dropped meanwhile. If ctx
// ends early nothing has changed.
func (c *Container) Split(ctx context.Context, rangeID, at string) ([]Range, error) {
	c.ds.in.Enter()
	defer c.ds.in.Leave()
	var halves []Range
	err := c.again(ctx, func() (err error) {
		halves, err = c.split(ctx, rangeID, at, nil)
		return err
	})
	return halves, classify.ToFault(err)
}

// split does the work of Split. wanted, if there is one, is asked under the catalog's lock whether it is
// still to be done: errUnwanted.
func (c *Container) split(ctx context.Context, rangeID, at string, wanted func() bool) ([]Range, error) {
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
	s := st.rangeByID(rangeID)
	if s == nil {
		return nil, scan.RangeGone(rangeID)
	}
	bound, err := c.splitPoint(ctx, s, at)
	if err != nil {
		return nil, err
	}
	defer s.noted.Store(nil)
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
		func(r Range) bool { return !slices.Contains(ids, r.ID) }), nil
}

// alone runs fn while nobody else changes the catalog and nobody is in the container. What fn does is
// bounded.
func (c *Container) alone(ctx context.Context, fn func(st containerState) error) error {
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

// beginSplit notes that s is being split, and makes its writers note what they write. The caller holds
// splitting.
func (c *Container) beginSplit(ctx context.Context, s *partition, bound []byte, wanted func() bool) (m *mover,
	err error) {
	err = c.alone(ctx, func(st containerState) error {
		if wanted != nil && !wanted() {
			return errUnwanted
		}
		if st.elsewhere {
			return errSplitElsewhere
		}
		if st.rec.Split != nil { // one that failed, and could not be undone then
			if err := c.undoSplit(ctx, st); err != nil {
				return err
			}
			st = *c.state.Load()
		}
		number := st.rec.NextSlot()
		if number+1 >= layout.MaxSlots {
			return unsplittable(s.id)
		}
		split := record.Split{From: s.number, Lower: uint16(number), To: uint16(number + 1)}
		next := st
		next.rec.Slots, next.rec.Split = number+2, &split
		if m, err = newMover(c, &next, s, bound); err != nil {
			return err
		}
		if err := c.setContainer(ctx, &st, &next); err != nil {
			return err
		}
		s.noted.Store(m.noted)
		c.state.Store(&next)
		return nil
	})
	return m, err
}

// finishSplit copies the range, and switches to the halves. It returns their ids.
func (c *Container) finishSplit(ctx context.Context, m *mover, wanted func() bool) (ids []string, err error) {
	for {
		err := m.copy(ctx)
		for ids == nil && err == nil {
			ids, err = c.trySwitch(ctx, m, wanted)
		}
		if err == nil {
			return ids, nil
		}
		for errors.Is(err, errReindexed) {
			err = m.restart(ctx, c.state.Load())
		}
		if err != nil {
			return nil, err
		}
	}
}

// trySwitch copies what is left and switches to the halves, unless more is left than the locks may be held
// for: nil.
func (c *Container) trySwitch(ctx context.Context, m *mover, wanted func() bool) (ids []string, err error) {
	err = c.alone(ctx, func(st containerState) error {
		if wanted != nil && !wanted() {
			return errUnwanted
		}
		if st.rec.IndexRound != m.round {
			return errReindexed
		}
		m.alone = true
		defer func() { m.alone = false }()
		left, err := m.catchUp(ctx, switchKeys)
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
		m.from.behind.Store(c.ds.eng.Horizon(m.from.scope) + 1)
		c.state.Store(&next)
		ids = []string{m.halves[0].slot.id, m.halves[1].slot.id}
		return nil
	})
	return ids, err
}

// halves prepares the state that the container will have when the range has been split.
func (c *Container) halves(st containerState, m *mover) (next containerState, err error) {
	next = st
	i := slices.Index(st.ranges, m.from)
	id := max(record.HighestID(st.rec.Ranges)+1, st.rec.NextRange, int(c.ds.in.Catalog().Floor()))
	next.rec.Ranges, next.rec.NextRange = slices.Clone(st.rec.Ranges), id+len(m.halves)
	for j, r := range next.rec.Ranges {
		if r.LSN == 0 {
			next.rec.Ranges[j].LSN = st.rec.RangeLSN // it is as old as the container
		}
	}
	next.ranges = slices.Clone(st.ranges)
	var recs []record.Range
	var slots []*partition
	for n := range m.halves {
		h := &m.halves[n]
		rec := h.slot.rec
		rec.ID, rec.TS = id+n, c.moment()
		rec.Parents = append(slices.Clip(m.from.rec.Parents), m.from.rec.ID)
		if h.slot, err = newPartition(c.cid, rec); err != nil {
			return next, err
		}
		h.slot.reindexed.Store(allReindexed)
		h.slot.shapes.known = h.shapes
		recs, slots = append(recs, rec), append(slots, h.slot)
	}
	next.rec.Ranges = slices.Replace(next.rec.Ranges, i, i+1, recs...)
	next.ranges = slices.Replace(next.ranges, i, i+1, slots...)
	next.rec.Split = nil
	// New indexers, though they are the same: plans, entries that were made ahead and the reindexer's pass go
	// by them, and must be made for the new slots.
	return next, next.compile()
}

// tidySplit throws away what a split that has given up has left behind. The caller holds splitting.
func (c *Container) tidySplit(ctx context.Context) error {
	err := c.alone(ctx, func(st containerState) error {
		if st.rec.Split == nil || st.elsewhere {
			return nil
		}
		return c.undoSplit(context.WithoutCancel(ctx), st)
	})
	if fault.ErrorCode(err) == fault.CodeOwnerNotFound { // it is gone with all that was in it
		return nil
	}
	return err
}

// notes are the items that writers have written or removed while their range is copied.
type notes struct {
	mu   sync.Mutex
	rids map[uint64]struct{}
}

// add notes items. It is called when their transaction has committed, inside the gate: who shuts the gate
// finds all of them.
func (n *notes) add(rids []uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, rid := range rids {
		n.rids[rid] = struct{}{}
	}
}

// take takes up to most of the notes away. What is committed later is noted again.
func (n *notes) take(most int) (rids []uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for rid := range n.rids {
		if len(rids) == most {
			break
		}
		rids = append(rids, rid)
		delete(n.rids, rid)
	}
	return rids
}

func (n *notes) left() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.rids)
}

// touch remembers an item that has changed, where somebody wants to know: see notes.
func (t *tx) touch(item *stored) {
	if t.noted != nil {
		t.touched = append(t.touched, item.rid)
	}
}

// tellSplit notes what the transaction has touched. It is called after its commit, inside the gate.
func (t *tx) tellSplit() {
	if t.noted != nil {
		t.noted.add(t.touched)
	}
}
