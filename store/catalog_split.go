package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
)

// splitRecord is a split that is under way. The record of its container has it from before the first item is copied until after the
// last one is removed where it was.
type splitRecord struct {
	From uint16 `json:"from"` // the slot of the range that is split, which its lower half keeps
	To   uint16 `json:"to"`   // the slot of the upper half
	// Switched tells that the halves are the container's ranges, and what has moved is left to be removed in From. Before,
	// what is in To is a copy that nobody reads.
	Switched bool `json:"switched,omitempty"`
}

// unfinished tells that a split has failed at a point from which it can only be finished: items that have moved are still
// in both slots.
func (st *containerState) unfinished() bool { return st.rec.Split != nil && st.rec.Split.Switched }

// setContainer writes the container's record, in a transaction of the catalog. The caller holds ddl and the gate.
func (c *Container) setContainer(ctx context.Context, rec containerRecord) error {
	return c.db.changeCatalog(ctx, func(t engine.Txn) error {
		return setRecord(t, containerKey(c.d.rec.Num, c.name), rec)
	})
}

// switchRanges makes the halves that m has prepared the container's ranges, from one moment to the next, and returns its record.
func (c *Container) switchRanges(ctx context.Context, m *mover, rec containerRecord) (containerRecord, error) {
	_, err := c.db.eng.Update(ctx, [][]byte{catalogScope(), m.lower.scope}, func(t engine.Txn) error {
		rec.RangeLSN = t.NextLSN(catalogScope())
		for i := range rec.Ranges {
			if s := rec.Ranges[i].Slot; s == m.lower.number || s == m.upper.number {
				rec.Ranges[i].LSN = rec.RangeLSN
			}
		}
		if err := m.inherit(t); err != nil {
			return err
		}
		return setRecord(t, containerKey(c.d.rec.Num, c.name), rec)
	})
	return rec, err
}

// undoSplit throws away what a split has copied that has come no further.
func (c *Container) undoSplit(ctx context.Context, st containerState) error {
	unused := slotScope(c.cid, st.rec.Split.To)
	st.rec.Split = nil
	err := c.db.changeCatalog(ctx, func(t engine.Txn) error {
		t.DeleteRange(engine.Prefix(unused))
		return setRecord(t, containerKey(c.d.rec.Num, c.name), st.rec)
	})
	if err == nil {
		c.state.Store(&st)
	}
	return err
}

// finishSplits undoes the splits that a crash has interrupted, or finishes them where they were past that.
func (db *DB) finishSplits(ctx context.Context) error {
	for _, c := range db.cat.containers {
		st := *c.state.Load()
		if st.rec.Split == nil {
			continue
		}
		if !st.unfinished() {
			if err := c.undoSplit(ctx, st); err != nil {
				return err
			}
			continue
		}
		if err := c.endSplit(ctx, st); err != nil {
			return err
		}
	}
	return nil
}
