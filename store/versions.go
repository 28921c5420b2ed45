package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// A container whose change feed policy has a retention keeps every version of its items, and their deletes,
// for that long: the family v, one entry for each write, delete and purge, by its sequence. Whether an
// entry is inside of the window is decided when it is read, by its time, as it is for expiry; the reaper only
// frees the space of what is outside.
//
// A reader is refused where an entry that it has not seen lies outside of the window, not where its position
// is merely old: a reader of a quiet range may sleep as long as it likes. To be able to tell, the newest
// entry outside of the window stays when the older ones are freed, with its content taken out. Such an entry
// is a floor: what was before it cannot be read, whatever the retention becomes. Turning the policy on sets a
// floor, too. So a range has one floor at most, and it is the range's first entry.

// lastVersionTime is the time of a slot's newest version; 0 where it has none.
func lastVersionTime(r engine.Reader, scope []byte) (ts int64, err error) {
	it := r.Scan(layout.SlotFamily(scope, layout.FamilyVersions), true)
	if it.Next() {
		var v layout.Version
		v, err = layout.DecodeVersion(it.Value())
		ts = v.TS
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return ts, err
}

// backupRetention is for how many seconds a container keeps all versions that was made while the store had
// continuous backup, and asks for no other time: seven days.
const backupRetention = 7 * 24 * 60 * 60

// ContinuousBackup reports whether containers that are made from now on keep the feed of all versions and
// deletes for seven days where their policy has no retention.
func (db *DB) ContinuousBackup() bool { return db.backup.Load() }

// SetContinuousBackup changes what ContinuousBackup reports, as long as the DB is open. Containers that are
// there already stay as they are.
func (db *DB) SetContinuousBackup(on bool) { db.backup.Store(on) }

// retention is for how many seconds the container keeps all versions; 0 where it does not.
func (st *containerState) retention() int64 {
	if f := st.spec.ChangeFeed; f != nil && f.RetentionMinutes > 0 {
		return 60 * int64(f.RetentionMinutes)
	}
	if st.rec.Backup {
		return backupRetention
	}
	return 0
}

// switchVersions is the part of a change of the policy that turns the feed of all versions on or off: what it
// writes in the slots. The caller holds the container's gate exclusively.
func switchVersions(old, next *containerState, now int64) (write func(engine.Txn)) {
	on := next.retention() > 0
	if on == (old.retention() > 0) {
		return func(engine.Txn) {}
	}
	return func(t engine.Txn) {
		for _, s := range next.ranges {
			if on {
				setFloor(t, s.scope, layout.FirstOf(t.NextLSN(s.scope)), now)
			} else {
				dropVersions(t, layout.SlotFamily(s.scope, layout.FamilyVersions))
			}
		}
	}
}

// trimVersions frees entries of a slot that lie outside of the window. next is the second at which there will
// be more.
func (c *Container) trimVersions(ctx context.Context, st *containerState, s *partition, now int64) (more bool,
	next int64, err error) {
	old, err := c.findExpiredEntries(ctx, s, layout.FamilyVersions, st.retention(), now, layout.DecodeVersion)
	if err != nil || old.last == 0 {
		return false, old.next, err
	}
	st, _, err = c.enter(ctx)
	if err != nil {
		return false, old.next, err
	}
	defer c.leave()
	_, err = c.ds.eng.Update(ctx, [][]byte{s.scope}, func(txn engine.Txn) error {
		var t tx
		if err := t.begin(txn, c, st, s); err != nil {
			return err
		}
		t.Relax()
		return t.raiseFloor(old.last)
	})
	return old.more, now + 1, err
}

// raiseFloor makes the entry of a sequence the floor, unless the policy has changed and it is inside of the
// window now.
func (t *tx) raiseFloor(seq layout.Sequence) error {
	value, err := t.Get(layout.AppendSequenceKey(nil, t.s.scope, layout.FamilyVersions, seq))
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	v, err := layout.DecodeVersion(value)
	if err != nil || v.TS > t.now-t.st.retention() {
		return err
	}
	below := layout.SlotFamily(t.s.scope, layout.FamilyVersions)
	below.End = layout.AppendSequenceKey(nil, t.s.scope, layout.FamilyVersions, seq)
	dropVersions(t.Txn, below)
	setFloor(t.Txn, t.s.scope, seq, v.TS)
	return nil
}
