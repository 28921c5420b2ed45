package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/transaction"
)

// ContinuousBackup reports whether containers that are created from now on keep the feed of all versions
// and deletes for seven days if their policy has no retention.
func (db *DB) ContinuousBackup() bool { return db.backup.Load() }

// SetContinuousBackup turns continuous backup on or off until the DB is closed. Existing containers stay
// unchanged.
func (db *DB) SetContinuousBackup(on bool) { db.backup.Store(on) }

// trimVersions deletes the entries of a range's feed of all versions that are older than its retention.
// more reports whether further entries can be deleted now; next is the second at which the next entry
// becomes too old.
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
