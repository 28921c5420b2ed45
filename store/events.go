package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// A container whose settings ask for expiry events keeps a log of its expiries: the key family e, with one
// entry for each expired item and the item's last version.
//
// There is exactly one entry for each expiry. Either of two transactions can write it: the one that purges
// the item, or, if the reaper is held back, an earlier one that announces the expiry and marks the item's
// header. The mark keeps the purge from writing a second entry. It is not a new version, so the etag and
// the feeds do not change. Expiry is final, so a marked item stays expired: a write of its id creates a new
// item without the mark. Either transaction records its moment as a purge does, so that the clock cannot be
// set back behind it. Neither waits for the disk, since readers of the log wait for it: an entry that a
// crash takes back has not been read by anybody, and its item is announced again.
//
// An item that had expired before the log began has no entry, whether or not it had been purged by then.
// Neither has an item that was deleted by a partition tombstone before it was announced: a tombstone is a
// delete.
//
// Entries are kept for the log's retention. The newest of the trimmed entries stays as a floor without
// content, so that a reader who has not seen it can be told that entries are missing.

// eventRetention returns how long the log of expiries keeps an entry, in seconds; 0 if there is no log.
func (st *containerState) eventRetention() int64 {
	e := st.rec.Settings.ExpiryEvents
	switch {
	case e == nil:
		return 0
	case e.Retention == 0:
		return DefaultEventRetention
	}
	return int64(e.Retention)
}

// logsExpiryOf reports whether the expiry of an item belongs in the log and is not there yet. The item has
// expired and is not deleted by a tombstone.
func (st *containerState) logsExpiryOf(item *view.Item) bool {
	return st.rec.Log != nil && !item.Head.Announced && !st.rec.Log.Knows(st.life(item), st.policy())
}

// storeSettings makes the changed settings in next.rec durable. It begins or ends the log of expiries if
// the settings have turned it on or off. The caller holds the catalog's lock and the container's gate.
func (c *Container) storeSettings(ctx context.Context, old *containerState, next *containerState,
	now int64) error {
	was, on := old.rec.Log != nil, next.rec.Settings.ExpiryEvents != nil
	switch {
	case on && !was:
		next.rec.Log = &record.ExpiryLog{Since: now, Policy: *next.policy()}
	case !on:
		next.rec.Log = nil
	}
	kept := make(map[string]bool)
	for _, name := range next.subscribers() {
		kept[name] = true
	}
	err := c.commitRecord(ctx, old, next, func(t engine.Txn) error {
		for _, s := range next.ranges {
			switch {
			case on && !was:
				setExpiryFloor(t, s.scope, layout.FirstOf(t.NextLSN(s.scope)), now)
			case was && !on:
				dropExpiries(t, layout.SlotFamily(s.scope, layout.FamilyExpired))
			}
		}
		for _, name := range old.subscribers() {
			if !kept[name] {
				dropConfirmed(t, c.cid, name)
			}
		}
		return host.SetRecord(t, layout.ContainerKey(c.d.rec.Num, c.name), next.rec)
	})
	if err == nil && was != on {
		for _, s := range next.ranges {
			s.rescan.Store(true)
		}
	}
	return err
}

func (st *containerState) webhooks() []definition.Webhook {
	if st.rec.Settings.ExpiryEvents == nil {
		return nil
	}
	return st.rec.Settings.ExpiryEvents.Webhooks
}

// changesPrefix precedes the path of a queue in its Subscription.Name. No URL of a webhook begins with it.
const changesPrefix = "changes:"

// subscribers returns the names of the subscriptions whose positions are stored.
func (st *containerState) subscribers() (names []string) {
	for _, w := range st.webhooks() {
		names = append(names, w.URL)
	}
	if to := st.rec.Settings.ChangesTo; to != "" {
		names = append(names, changesPrefix+to)
	}
	return names
}

// trimExpiries deletes the entries of a slot's log that are older than its retention. next is the second at
// which there will be more to delete.
func (c *Container) trimExpiries(ctx context.Context, st *containerState, s *partition, now int64) (more bool,
	next int64, err error) {
	window := st.eventRetention()
	old, err := c.findExpiredEntries(ctx, s, layout.FamilyExpired, window, now,
		func(value []byte) (layout.Version, error) {
			e, err := layout.DecodeExpiry(value)
			return e.Version, err
		})
	if err != nil || old.last == 0 {
		return false, old.next, err
	}
	st, _, err = c.enter(ctx)
	if err != nil {
		return false, old.next, err
	}
	defer c.leave()
	if st.rec.Log == nil || st.eventRetention() > window {
		return false, now + 1, nil // the settings have changed: try again
	}
	_, err = c.ds.eng.Update(ctx, [][]byte{s.scope}, func(t engine.Txn) error {
		if err := c.writable(t, st, s); err != nil {
			return err
		}
		below := layout.SlotFamily(s.scope, layout.FamilyExpired)
		below.End = layout.AppendSequenceKey(nil, s.scope, layout.FamilyExpired, old.last)
		dropExpiries(t, below)
		setExpiryFloor(t, s.scope, old.last, old.ts)
		t.Relax()
		return nil
	})
	return old.more, now + 1, err
}

// announceExpired logs the expiries of items that the reaper may not purge yet.
func (c *Container) announceExpired(ctx context.Context, st *containerState, s *partition, now int64,
	limit int) (more bool, next int64, err error) {
	l := sweep.NewLook(st.policy(), s.scope, &s.announcing, now, limit)
	if err := l.Take(ctx, c.ds.eng); err != nil {
		return false, never, err
	}
	var survivors []sweep.Candidate
	for items := l.Items; len(items) > 0 && err == nil; {
		var judged int
		judged, survivors, err = c.announceBatch(ctx, s, items, survivors)
		items = items[judged:]
	}
	more = l.Finish(survivors)
	return more, l.Next, err
}

// announceBatch is announceExpired in one transaction. judged is the number of candidates that it has
// checked. alive is survivors with the live ones among them appended.
func (c *Container) announceBatch(ctx context.Context, s *partition, batch,
	survivors []sweep.Candidate) (judged int,
	alive []sweep.Candidate, err error) {
	st, _, err := c.enter(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer c.leave()
	var t tx
	_, err = c.ds.eng.Update(ctx, [][]byte{s.scope}, func(txn engine.Txn) error {
		if err := t.begin(txn, c, st, s); err != nil {
			return err
		}
		alive = survivors
		var ghosts []*stored
		var err error
		if judged, ghosts, err = t.judge(batch, &alive); err != nil {
			return err
		}
		for _, g := range ghosts {
			if st.logsExpiryOf(&g.Item) && !st.tombstoned(g.Head, func() []byte { return g.PK }) {
				t.announce(g)
			}
		}
		if len(t.expiries) > 0 {
			t.setSwept()
		}
		t.finish()
		t.Relax()
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	t.committed()
	return judged, alive, nil
}
