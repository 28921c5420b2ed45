package store

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// The server has a clock, and each database has one: a container's moment is that of its database. Without a
// virtual clock all of them are the system's. With one, a database's clock is a clock of its own whose base
// is the server's, which it follows until it is moved by itself; see Database.SetClock. What lies in a
// database's containers, and their settings, is dated by the database's clock; databases, users, permissions,
// scripts and throughputs are dated by the server's.

// maxStepBack is how far the system's clock may run behind what is stored before Open refuses.
const maxStepBack = 5 * time.Minute

// storeClock is a data clock in whole seconds, which never runs behind what the store has said or stored by
// it, unless its owner sets it back. After a small step back of the clock below, it stands still until that
// has caught up. Therefore what was seen to be expired stays so.
type storeClock struct {
	base  ttl.Clock
	floor atomic.Pointer[int64] // the last second that it has said; nil: none. Each change is a new pointer: see now
}

// now is the present second. The floor is loaded before the clock below is asked, and replaced only where it
// is still that very pointer: so an answer that was on its way while the clock was set back does not raise
// the new floor to the old time.
func (c *storeClock) now() int64 {
	for {
		floor := c.floor.Load()
		t := c.base.Now().Unix()
		if floor != nil && t <= *floor {
			return *floor
		}
		if next := t; c.floor.CompareAndSwap(floor, &next) { // its own variable: most calls need none on the heap
			return t
		}
	}
}

// last is the floor: 0 where nothing has been said.
func (c *storeClock) last() int64 {
	if floor := c.floor.Load(); floor != nil {
		return *floor
	}
	return 0
}

// raise moves the floor up to t.
func (c *storeClock) raise(t int64) {
	for {
		floor := c.floor.Load()
		if floor != nil && t <= *floor || c.floor.CompareAndSwap(floor, &t) {
			return
		}
	}
}

// setBack puts the floor to t, behind what it was. The clock below shows t already.
func (c *storeClock) setBack(t int64) { c.floor.Store(&t) }

// time is the clock's moment, to the fraction of a second where the clock below is not behind.
func (c *storeClock) time() time.Time {
	t, now := c.base.Now(), c.now()
	if t.Unix() >= now {
		return t
	}
	return time.Unix(now, 0).UTC()
}

// raise makes *at at least t.
func raise(at *atomic.Int64, t int64) {
	for {
		last := at.Load()
		if t <= last || at.CompareAndSwap(last, t) {
			return
		}
	}
}

// mark names something that records the moment in which it is stored, so that the clock cannot be set behind
// it.
type mark uint8

const (
	markWrite    mark = iota // the _ts of items, and the times of their changes in a feed
	markSettings             // the _ts of a container's settings, and with it the floors of its TTL policy
	markPurge                // purges
	markLease                // leases
	markCatalog              // the _ts of whatever else there is
	markCount
)

var markTexts = [markCount]string{
	"an item was written", "the settings of a container were changed", "expired items were purged", "a lease was taken",
	"a database, a user, a permission, a script or a throughput was changed",
}

// marks are the latest moments that are stored, in seconds since 1970.
type marks [markCount]atomic.Int64

func (m *marks) note(k mark, t int64) { raise(&m[k], t) }

// latest is the last of the moments and what it is that of.
func (m *marks) latest() (k mark, t int64) {
	for i := range m {
		if at := m[i].Load(); at > t {
			k, t = mark(i), at
		}
	}
	return k, t
}

// stamp is the present second of the server's clock, for something of the catalog that is about to be stored.
func (db *DB) stamp() int64 {
	now := db.clock.now()
	db.marks.note(markCatalog, now)
	return now
}

// load notes a moment of the catalog that was found stored.
func (db *DB) loadMark(t int64) {
	db.marks.note(markCatalog, t)
	db.clock.raise(t)
}

// moment is the present second of the container's clock, which is its database's.
func (c *Container) moment() int64 { return c.d.clock.now() }

// note records that something of the container is stored in second t. It is called inside the gate, and while
// the store is being opened.
func (c *Container) note(k mark, t int64) {
	c.marks.note(k, t)
	c.d.clock.raise(t)
}

// Now is the moment of the server's clock, not behind anything that is stored by it.
func (db *DB) Now() time.Time { return db.live().clock.time() }

// Now is the moment of the database's clock, not behind anything that is stored by it. It is the server's,
// unless the database has a clock of its own.
func (d *Database) Now() time.Time { return d.clock.time() }

// VirtualClock tells whether SetClock can move the clock.
func (db *DB) VirtualClock() bool { return db.live().virtual() != nil }

func (db *DB) virtual() *ttl.Virtual {
	v, _ := db.opts.Clock.(*ttl.Virtual)
	return v
}

// Clock is the state of the server's virtual clock; for the system's clock, that moment at rate 1.
func (db *DB) Clock() ttl.State {
	db = db.live()
	if v := db.virtual(); v != nil {
		return v.State()
	}
	return ttl.In(db.opts.Clock)
}

// Clock is the state of the database's clock. own tells that it is the database's own; else it is the
// server's.
func (d *Database) Clock() (s ttl.State, own bool) {
	if v := d.virtual(); v != nil && d.ownClock.Load() {
		return v.State(), true
	}
	return d.db.Clock(), false
}

func (d *Database) virtual() *ttl.Virtual {
	v, ok := d.clock.base.(*ttl.Virtual)
	if !ok || v == d.db.virtual() {
		return nil
	}
	return v
}

// startClock gives a new database its clock, which follows the server's.
func (d *Database) startClock() {
	d.clock.base = d.db.opts.Clock
	if v := d.db.virtual(); v != nil {
		d.clock.base = ttl.NewVirtual(v)
	}
}

// restoreClock puts the server's virtual clock back to where it was when the store was last open.
func (db *DB) restoreClock(r engine.Reader) error {
	v := db.virtual()
	if v == nil {
		return nil
	}
	s, found, err := readClock(r, 0)
	if !found || err != nil {
		return err
	}
	return v.Restore(s)
}

// restoreClock gives a database that had a clock of its own that clock back. Without a virtual clock the
// database is on the system's.
func (d *Database) restoreClock(r engine.Reader) error {
	d.startClock()
	v := d.virtual()
	if v == nil {
		return nil
	}
	s, found, err := readClock(r, d.rec.Num)
	if !found || err != nil {
		return err
	}
	d.ownClock.Store(true)
	return v.Rebase(d.db.virtual().Base(), s)
}

func readClock(r engine.Reader, database uint32) (s ttl.State, found bool, err error) {
	raw, err := r.Get(layout.ClockKey(database))
	if isAbsent(err) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, false, fmt.Errorf("%w: a clock's record: %v", engine.ErrCorrupt, err)
	}
	return s, true, nil
}

// checkStepBack refuses to open a store whose time lies well ahead of the clock: it would stand still for
// that long, and nothing would expire.
func (db *DB) checkStepBack() error {
	if err := db.clock.checkStepBack(""); err != nil {
		return err
	}
	for _, d := range db.cat.databases {
		if err := d.clock.checkStepBack(" of the database " + d.ID()); err != nil {
			return err
		}
	}
	return nil
}

func (c *storeClock) checkStepBack(of string) error {
	floor, now := c.last(), c.base.Now()
	if ahead := time.Unix(floor, 0).Sub(now); ahead > maxStepBack {
		return &Error{
			Code:    CodeUnavailable,
			Message: fmt.Sprintf("The data%s was written up to %s, but the clock says %s.", of, clockText(floor), clockText(now.Unix())),
			Hint:    "set the system's clock right, or open the folder with a virtual clock (--virtual-clock)",
		}
	}
	return nil
}

func clockText(t int64) string { return time.Unix(t, 0).UTC().Format(time.RFC3339) }

// CatchUp purges all that has expired by now, in every database by its own clock, but for what somebody holds
// the reaper back from, and returns when that is done: what a moved clock has brought about has then
// happened, and is in the logs of expiries.
func (db *DB) CatchUp(ctx context.Context) (purged int, err error) { return db.SweepNow(ctx) }

// Clock shows the reaper by which clock a slot expires.
func (w sweeper) Clock(r ttl.Range) ttl.Clock {
	w.db.mu.RLock()
	defer w.db.mu.RUnlock()
	if c := w.db.cat.cids[r.Owner]; c != nil && c.d.ownClock.Load() {
		return c.d.clock.base
	}
	return nil
}
