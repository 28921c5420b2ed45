package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// setContainer writes the record of next, the state that follows st. The caller holds the catalog's lock and
// the container's gate (its lock).
func (c *Container) setContainer(ctx context.Context, st, next *container.State) error {
	return c.commitRecord(ctx, st, next, func(t engine.Txn) error {
		if next.Rec.Split != nil && st.Rec.Split == nil { // a split begins
			next.Rec.Split.LSN = t.NextLSN(host.CatalogScope())
		}
		return host.SetRecord(t, layout.ContainerKey(c.d.rec.Num, c.name), next.Rec)
	})
}

// switchRanges replaces the range that m splits with the two halves that m has prepared, in one
// transaction.
func (c *Container) switchRanges(ctx context.Context, m *rangeSplitOperation, st,
	next *container.State) error {
	lower, upper := m.recs[0].Number, m.recs[1].Number
	return c.commitRecord(ctx, st, next, func(t engine.Txn) error {
		rec := &next.Rec
		rec.RangeLSN = t.NextLSN(host.CatalogScope())
		for i := range rec.Ranges {
			if s := rec.Ranges[i].Number; s == lower || s == upper {
				rec.Ranges[i].LSN = rec.RangeLSN
			}
		}
		if err := m.Inherit(t); err != nil {
			return err
		}
		t.DeleteRange(engine.Prefix(m.from.Scope))
		return host.SetRecord(t, layout.ContainerKey(c.d.rec.Num, c.name), rec)
	})
}

// undoSplit deletes what an unfinished split has copied. The new ranges can be used by another split, since
// no client has received an LSN of theirs. The caller is the only user of the container.
func (c *Container) undoSplit(ctx context.Context, st container.State) error {
	split, next := *st.Rec.Split, st
	next.Rec.Split, next.Rec.RangeNumbers = nil, int(split.Lower)
	err := c.commitRecord(ctx, &st, &next, func(t engine.Txn) error {
		for _, number := range []uint16{split.Lower, split.To} {
			t.DeleteRange(engine.Prefix(layout.RangeScope(c.cid, number)))
		}
		return host.SetRecord(t, layout.ContainerKey(c.d.rec.Num, c.name), next.Rec)
	})
	if err == nil {
		c.state.Store(&next)
		c.splitEnds.Notify()
	}
	return err
}

// recoverSplits undoes the splits that were interrupted by a crash. It does not touch splits of servers
// that are running.
func (ds *openDataset) recoverSplits(ctx context.Context) error {
	for _, c := range ds.cat.containers {
		st := *c.state.Load()
		if st.Rec.Split == nil {
			continue
		}
		runs, err := ds.in.Running(ctx, st.Rec.Split.Owner)
		if err != nil {
			return err
		}
		if runs {
			st.Elsewhere = true
			c.state.Store(&st)
			continue
		}
		if err := c.undoSplit(ctx, st); err != nil {
			return err
		}
	}
	return nil
}
