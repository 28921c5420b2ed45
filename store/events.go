package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/transaction"
)

// A container whose settings ask for expiry events keeps a log of its expiries: the key family e, with one
// entry for each expired item and the item's last version.
//
// There is exactly one entry for each expiry. Either of two transactions can write it: the one that purges
// the item, or, if the reaper is held back, an earlier one that announces the expiry and marks the item's
// header. The mark prevents the purge from writing a second entry. Setting it does not create a new version
// of the item, so the etag and the feeds do not change. Expiry is final, so a marked item stays expired: a
// write of its id creates a new item without the mark. Both transactions record their moment, so that the
// clock cannot be set back behind it. Neither waits for the disk, since the readers of the log do: a crash
// can undo only an entry that nobody has read, and the expiry of its item is then announced again.
//
// An item that had expired before the log began has no entry, whether or not it had been purged by then.
// Neither has an item that was deleted by a partition tombstone before it was announced: a tombstone is a
// delete.
//
// Entries are kept for the log's retention. The newest of the deleted entries stays as a floor without
// content. A reader whose position is before the floor gets an error, since it would miss entries.

// storeSettings makes the changed settings in next.rec durable. It begins or ends the log of expiries if the
// settings have turned it on or off. The caller holds the catalog's lock and the container's gate (its lock).
func (c *Container) storeSettings(ctx context.Context, old *container.State, next *container.State,
	now int64) error {
	was, on := old.Rec.Log != nil, next.Rec.Settings.ExpiryEvents != nil
	switch {
	case on && !was:
		next.Rec.Log = &record.ExpiryLogStart{Since: now, Policy: *next.Policy()}
	case !on:
		next.Rec.Log = nil
	}
	kept := make(map[string]bool)
	for _, name := range next.Subscribers() {
		kept[name] = true
	}
	err := c.commitRecord(ctx, old, next, func(t engine.Txn) error {
		for _, s := range next.Ranges {
			switch {
			case on && !was:
				transaction.SetExpiryFloor(t, s.Scope, layout.FirstOf(t.NextLSN(s.Scope)), now)
			case was && !on:
				transaction.DropExpiries(t, layout.ScopeFamily(s.Scope, layout.FamilyExpired))
			}
		}
		for _, name := range old.Subscribers() {
			if !kept[name] {
				transaction.DropConfirmed(t, c.cid, name)
			}
		}
		return host.SetRecord(t, layout.ContainerKey(c.d.rec.Num, c.name), next.Rec)
	})
	if err == nil && was != on {
		for _, s := range next.Ranges {
			s.Rescan.Store(true)
		}
	}
	return err
}

// trimExpiries deletes the entries of a range's log of expiries that are older than its retention. more
// reports whether further entries can be deleted now; next is the second at which the next entry becomes
// too old.
func (c *Container) trimExpiries(ctx context.Context, st *container.State, s *container.Partition,
	now int64) (more bool, next int64, err error) {
	window := st.EventRetention()
	old, err := sweep.OldEntries(ctx, c.ds.eng, s.Scope, layout.FamilyExpired, window, now,
		func(value []byte) (layout.AllVersionsFeedEntry, error) {
			e, err := layout.DecodeExpiry(value)
			return e.AllVersionsFeedEntry, err
		})
	if err != nil || old.Last == 0 {
		return false, old.Next, err
	}
	st, _, err = c.enter(ctx)
	if err != nil {
		return false, old.Next, err
	}
	defer c.leave()
	if st.Rec.Log == nil || st.EventRetention() > window {
		return false, now + 1, nil // the settings have changed: try again
	}
	_, err = c.ds.eng.Update(ctx, [][]byte{s.Scope}, func(t engine.Txn) error {
		if err := c.writable(t, st, s); err != nil {
			return err
		}
		below := layout.ScopeFamily(s.Scope, layout.FamilyExpired)
		below.End = layout.AppendSequenceKey(nil, s.Scope, layout.FamilyExpired, old.Last)
		transaction.DropExpiries(t, below)
		transaction.SetExpiryFloor(t, s.Scope, old.Last, old.TS)
		t.Relax()
		return nil
	})
	return old.More, now + 1, err
}

// announceExpired adds the expiries of items to the container's log of expiries while their purge is paused,
// delayed or limited by the settings of the reaper, so that subscribers do not wait for the purge.
func (c *Container) announceExpired(ctx context.Context, st *container.State, s *container.Partition,
	now int64, limit int) (more bool, next int64, err error) {
	l := sweep.NewStep(st.Policy(), s.Scope, &s.Announcing, now, limit)
	if err := l.Take(ctx, c.ds.eng); err != nil {
		return false, never, err
	}
	var survivors []sweep.ExpiryCandidate
	for items := l.Items; len(items) > 0 && err == nil; {
		var judged int
		judged, survivors, err = c.announceBatch(ctx, s, items, survivors)
		items = items[judged:]
	}
	more = l.Finish(survivors)
	return more, l.Next, err
}

// announceBatch adds the expiries of a batch of candidates to the log of expiries, in one transaction of
// limited size. judged is the number of candidates that the transaction has checked. alive is the list
// survivors, extended by those of them that have not expired.
func (c *Container) announceBatch(ctx context.Context, s *container.Partition, batch,
	survivors []sweep.ExpiryCandidate) (judged int,
	alive []sweep.ExpiryCandidate, err error) {
	st, _, err := c.enter(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer c.leave()
	var t transaction.Tx
	_, err = c.ds.eng.Update(ctx, [][]byte{s.Scope}, func(txn engine.Txn) error {
		if err := c.begin(&t, txn, st, s); err != nil {
			return err
		}
		alive = survivors
		var ghosts []*transaction.StoredItem
		var err error
		if judged, ghosts, err = t.SelectExpired(batch, c.ds.sweepSizes.bytes, &alive); err != nil {
			return err
		}
		for _, g := range ghosts {
			if st.LogsExpiryOf(&g.DecodedItem) && !st.Tombstoned(g.Head, func() []byte { return g.PK }) {
				t.Announce(g)
			}
		}
		if t.Logs() {
			t.SetSwept()
		}
		t.Finish()
		t.Relax()
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	c.committed(&t)
	return judged, alive, nil
}
