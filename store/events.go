package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/sweep"
)

// A container whose settings ask for expiry events keeps a log of its expiries: the family e, an entry for
// each item that has died, with the item as it was.
//
// There is exactly one entry a death. Two transactions can write it: the one that purges the item, or, where
// the reaper is held back, an earlier one that announces the death and marks the item's header. The mark is
// what keeps the purge from writing a second entry; it is no new version, so neither the etag nor the feeds
// know of it. Expired is final, so a marked item stays dead: a write of its id makes a new item, without the
// mark. Either transaction records the moment as a purge does, so that the clock cannot be set back behind
// it. Neither waits for the disk, for whoever reads the log does: an entry that a crash takes back has been
// read by nobody, and its item is announced again.
//
// What was dead when the log began has no entry, whether or not it had been purged by then. A tombstone is a
// delete: what lies below one and has not been announced before has no entry either.
//
// Entries are kept for the log's retention. The newest one of those that have been trimmed stays as a floor
// without content, so that a reader who has not seen it can be told that something is missing.

// eventRetention is for how many seconds the log of expiries keeps an entry; 0 where there is no log.
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

// logsExpiryOf reports whether the death of an item belongs into the log and is not there yet. The item is
// dead, and below no tombstone.
func (st *containerState) logsExpiryOf(item *stored) bool {
	return st.rec.Log != nil && !item.head.Announced && !st.rec.Log.Knows(st.life(item), st.policy())
}

// storeSettings makes changed settings durable, in next.rec, and begins or ends the log of expiries where
// they ask for it. The caller holds the catalog's lock and the container's gate.
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

// changesPrefix goes before the path of a queue in its Subscription.Name, which no URL of a webhook is.
const changesPrefix = "changes:"

// subscribers are the names of those whose positions are kept.
func (st *containerState) subscribers() (names []string) {
	for _, w := range st.webhooks() {
		names = append(names, w.URL)
	}
	if to := st.rec.Settings.ChangesTo; to != "" {
		names = append(names, changesPrefix+to)
	}
	return names
}

// trimExpiries frees entries of a slot's log that lie outside of its retention. next is the second at which
// there will be more.
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
		return false, now + 1, nil // the settings have changed: look again
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

// announceExpired puts the deaths of items into the log of expiries that the reaper may not purge yet.
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

// announceBatch is announceExpired in one transaction. judged is how many candidates it came to; those that
// are alive are appended to survivors.
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
			if st.logsExpiryOf(g) && !st.tombstoned(g.head, func() []byte { return g.pk }) {
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
