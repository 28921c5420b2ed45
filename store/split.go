package store

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/big"
	"slices"
	"sort"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/engine"
)

// A split divides a partition range in two. The lower half keeps the slot and its keys; the items of the upper half move to a new
// slot, with their rids, LSNs and etags. The halves are new ranges with ids of their own, and the range that was split is no more:
// who names it gets CodeRangeGone and reads the ranges again. What was made under it goes on to work: continuations in each of the
// halves, session tokens and positions in the change feed too, since both halves take LSNs from above all that it has issued.
//
// In the order of what is durable:
//
//  1. The container's record says that a split begins, and which slot it fills.
//  2. What goes with the moving items is copied to the new slot, in pieces.
//  3. The container's record has the new ranges: this is the moment of the split.
//  4. What was copied is removed in the old slot, in pieces.
//  5. The record says that nothing is left to do.
//
// A crash before 3 makes Open delete the copy, one after 3 makes it do 4 and 5. All of it holds the container's gate exclusively,
// so whatever comes meanwhile waits and then finds the halves; a reader that holds a snapshot of before, or has looked up a
// slot before, sees that by the state and looks again.

// Split divides the partition range with the id rangeID in two at the effective partition key at, in hexadecimal: the upper half
// begins with it. Where at is empty half of the documents go either way, as far as partition keys allow, and a range whose
// documents have one partition key, or that has none, is split in its middle. It returns the two new ranges.
//
// The container's requests wait until it is done, which takes some time for each document that moves. CodeRangeGone: there is no
// such range (any more); CodeBadRequest: at does not lie in it; CodeConflict: it cannot be split further. If ctx ends early
// nothing has changed.
func (c *Container) Split(ctx context.Context, rangeID, at string) ([]Range, error) {
	c.db.enter()
	defer c.db.leave()
	if err := c.db.ddl.take(ctx); err != nil {
		return nil, err
	}
	defer c.db.ddl.release()
	if err := c.gate.shut(ctx); err != nil {
		return nil, err
	}
	defer c.gate.open()
	ids, err := c.split(ctx, rangeID, at)
	if err != nil {
		return nil, wrap(err)
	}
	c.db.wakeReaper()
	c.db.reindexer.wake()
	halves := slices.DeleteFunc(c.Ranges().Ranges, func(r Range) bool { return !slices.Contains(ids, r.ID) })
	return halves, nil
}

// split does the work of Split and returns the ids of the halves. The caller holds ddl and the gate.
func (c *Container) split(ctx context.Context, rangeID, at string) (ids []string, err error) {
	st := *c.state.Load()
	if err := c.usable(&st); err != nil {
		return nil, err
	}
	if st.rec.Split != nil { // one that failed, and could not be undone then
		if err := c.undoSplit(ctx, st); err != nil {
			return nil, err
		}
		st = *c.state.Load()
	}
	s := st.rangeByID(rangeID)
	if s == nil {
		return nil, rangeGone(rangeID)
	}
	bound, err := c.splitPoint(ctx, s, at)
	if err != nil {
		return nil, err
	}
	number := st.rec.nextSlot()
	if number >= maxSlots {
		return nil, unsplittable(rangeID)
	}
	st.rec.Slots, st.rec.Split = number+1, &splitRecord{From: s.number, To: uint16(number)}
	if err := c.setContainer(ctx, st.rec); err != nil {
		return nil, err
	}
	c.state.Store(&st)

	next, m, err := c.halves(ctx, &st, s, bound)
	if err == nil {
		err = m.copy()
	}
	if err == nil {
		next.rec, err = c.switchRanges(ctx, m, next.rec)
	}
	if err != nil {
		return nil, errors.Join(err, c.undoSplit(context.WithoutCancel(ctx), st))
	}
	m.upper.shapes.known = m.shapes
	s.behind.Store(c.db.eng.Horizon(s.scope) + 1)
	c.state.Store(&next)
	return []string{m.lower.id, m.upper.id}, c.endSplit(context.WithoutCancel(ctx), next)
}

// halves prepares the state that the container will have when s has been split.
func (c *Container) halves(ctx context.Context, st *containerState, s *slot, bound []byte) (next containerState, m *mover, err error) {
	next = *st
	i := slices.Index(st.ranges, s)
	id := 0
	next.rec.Ranges = slices.Clone(st.rec.Ranges)
	for j, r := range next.rec.Ranges {
		id = max(id, r.ID)
		if r.LSN == 0 {
			next.rec.Ranges[j].LSN = st.rec.RangeLSN // it is as old as the container
		}
	}
	lower, upper := s.rec, s.rec
	lower.ID, upper.ID = id+1, id+2
	lower.Max = epkHex(bound)
	upper.Min, upper.Slot = lower.Max, st.rec.Split.To
	lower.TS = c.moment()
	upper.TS = lower.TS
	lower.Parents = append(slices.Clip(s.rec.Parents), s.rec.ID)
	upper.Parents = lower.Parents
	next.rec.Ranges = slices.Replace(next.rec.Ranges, i, i+1, lower, upper)
	next.rec.Split = &splitRecord{From: lower.Slot, To: upper.Slot, Switched: true}

	m = &mover{ctx: ctx, c: c, st: &next}
	if m.lower, err = newSlot(c.cid, lower); err != nil {
		return next, nil, err
	}
	if m.upper, err = newSlot(c.cid, upper); err != nil {
		return next, nil, err
	}
	m.lower.reindexed.Store(s.reindexed.Load())
	m.upper.reindexed.Store(allReindexed)
	next.ranges = slices.Replace(slices.Clone(st.ranges), i, i+1, m.lower, m.upper)
	// New indexers, though they are the same: plans, entries that were made ahead and the reindexer's pass go by them, and
	// must be made for the new slots.
	return next, m, next.compile()
}

// endSplit does what is left to do of a split whose halves are the container's ranges.
func (c *Container) endSplit(ctx context.Context, st containerState) error {
	i := slices.IndexFunc(st.ranges, func(s *slot) bool { return s.number == st.rec.Split.From })
	if i < 0 {
		return engine.ErrCorrupt
	}
	m := &mover{ctx: ctx, c: c, st: &st, lower: st.ranges[i]}
	if err := m.removeMoved(); err != nil {
		return err
	}
	st.rec.Split = nil
	err := c.setContainer(ctx, st.rec)
	if err == nil {
		c.state.Store(&st)
	}
	return err
}

// nextSlot is the number of the first slot that no range has had yet.
func (rec *containerRecord) nextSlot() int {
	n := rec.Slots
	for _, r := range rec.Ranges {
		n = max(n, int(r.Slot)+1)
	}
	return n
}

// splitPoint finds where to split a range.
func (c *Container) splitPoint(ctx context.Context, s *slot, at string) (bound []byte, err error) {
	if at == "" {
		if bound, err = c.middleDocument(ctx, s); bound == nil && err == nil {
			bound = middle(&c.def, s.min, s.max)
		}
		if err == nil && (bytes.Compare(bound, s.min) <= 0 || !s.holds(bound)) {
			err = unsplittable(s.id)
		}
		return bound, err
	}
	if bound, err = epkBound(at); err != nil {
		return nil, err
	}
	if bytes.Compare(bound, s.min) <= 0 || !s.holds(bound) || epkHex(bound) >= maxEPK || len(bound) > math.MaxUint8 {
		return nil, fail(CodeBadRequest, "'"+at+"' does not lie inside of the partition key range '"+s.id+"'.")
	}
	return bound, nil
}

func unsplittable(rangeID string) error {
	return fail(CodeConflict, "The partition key range '"+rangeID+"' cannot be split further.")
}

// middleDocument returns the EPK of the document in the middle of a range, in the order of EPKs, or the next one above it where
// none would be below. It is nil where all documents have the same.
func (c *Container) middleDocument(ctx context.Context, s *slot) (epk []byte, err error) {
	rg := containerFamily(c.cid, famPoint)
	prefix := rg.Start
	bound := func(epk []byte) []byte {
		k := doc.AppendEscaped(slices.Clip(prefix), epk)
		return k[:len(k)-2] // without the end mark
	}
	if rg.Start = bound(s.min); len(s.max) > 0 {
		rg.End = bound(s.max)
	}
	err = c.db.eng.View(ctx, func(r engine.Reader) error {
		n, err := countKeys(r, rg, math.MaxInt64)
		if err != nil || n == 0 {
			return err
		}
		it := r.Scan(rg, false)
		var first []byte
		for i := int64(0); it.Next(); i++ {
			if i > 0 && i < n/2 {
				continue
			}
			at, _, err := doc.DecodeEscaped(it.Key()[len(prefix):])
			if err != nil {
				it.Close()
				return engine.ErrCorrupt
			}
			if i == 0 {
				first = bytes.Clone(at)
			} else if !bytes.Equal(first, at) {
				epk = bytes.Clone(at)
				break
			}
		}
		return it.Close()
	})
	return epk, err
}

// middle is the EPK in the middle of two bounds; an empty max is the end of all. It may be one of the bounds where there is nothing
// between them.
func middle(def *PartitionKeyDefinition, min, max []byte) []byte {
	if def.Version != 2 {
		hashed := func(hash int) []byte { return appendBinaryNumber(nil, float64(hash)) }
		lo := sort.Search(math.MaxUint32, func(h int) bool { return bytes.Compare(hashed(h), min) > 0 })
		hi := sort.Search(math.MaxUint32, func(h int) bool { return len(max) > 0 && bytes.Compare(hashed(h), max) >= 0 })
		return hashed((lo + hi) / 2)
	}
	width := epkHashLen
	for _, b := range [][]byte{min, max} {
		if len(b) > width {
			width = len(b)
		}
	}
	number := func(epk []byte) *big.Int {
		return new(big.Int).SetBytes(append(bytes.Clone(epk), make([]byte, width-len(epk))...))
	}
	if len(max) == 0 {
		max = []byte{0x40} // hashes begin with two bits that are clear
	}
	sum := number(min)
	return sum.Add(sum, number(max)).Rsh(sum, 1).FillBytes(make([]byte, width))
}
