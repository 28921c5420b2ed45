package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/transaction"
)

// A container whose change feed policy has a retention keeps every version of its items, and their deletes,
// for that long: the key family v, with one entry for each write, delete and purge, ordered by sequence. As
// for expiry, whether an entry is inside the window is decided by its time when it is read; the reaper only
// frees the space of entries outside.
//
// A reader gets an error only if there is an entry outside the window that it has not read. An old position
// alone is no error: a reader of a range without changes may pause for any time. To make this possible, the
// newest entry outside the window is kept without its content when the older ones are deleted. Such an
// entry is a floor: entries before it cannot be read, even if the retention becomes longer. Turning the
// policy on sets a floor, too. So a range has at most one floor, and it is the range's first entry.

// ContinuousBackup reports whether containers that are created from now on keep the feed of all versions
// and deletes for seven days if their policy has no retention.
func (db *DB) ContinuousBackup() bool { return db.backup.Load() }

// SetContinuousBackup turns continuous backup on or off until the DB is closed. Existing containers stay
// unchanged.
func (db *DB) SetContinuousBackup(on bool) { db.backup.Store(on) }

// switchVersions returns what must be written to the ranges when a change of the policy turns the feed of all
// versions on or off. The caller holds the container's gate (its lock) exclusively.
func switchVersions(old, next *container.State, now int64) (write func(engine.Txn)) {
	on := next.Retention() > 0
	if on == (old.Retention() > 0) {
		return func(engine.Txn) {}
	}
	return func(t engine.Txn) {
		for _, s := range next.Ranges {
			if on {
				transaction.SetFloor(t, s.Scope, layout.FirstOf(t.NextLSN(s.Scope)), now)
			} else {
				transaction.DropVersions(t, layout.ScopeFamily(s.Scope, layout.FamilyVersions))
			}
		}
	}
}

// trimVersions deletes the entries of a range's feed of all versions that are older than its retention. more
// reports whether there are others that it could delete at once; next is the second at which there will be
// more.
func (c *Container) trimVersions(ctx context.Context, st *container.State, s *container.Partition,
	now int64) (more bool, next int64, err error) {
	old, err := sweep.OldEntries(ctx, c.ds.eng, s.Scope, layout.FamilyVersions, st.Retention(), now,
		layout.DecodeVersion)
	if err != nil || old.Last == 0 {
		return false, old.Next, err
	}
	st, _, err = c.enter(ctx)
	if err != nil {
		return false, old.Next, err
	}
	defer c.leave()
	_, err = c.ds.eng.Update(ctx, [][]byte{s.Scope}, func(txn engine.Txn) error {
		var t transaction.Tx
		if err := c.begin(&t, txn, st, s); err != nil {
			return err
		}
		t.Relax()
		return t.RaiseFloor(old.Last)
	})
	return old.More, now + 1, err
}
