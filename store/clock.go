package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/ttl"
)

// The server has a clock, and each database has one: a container's moment is that of its database. What lies
// in a database's containers, and their settings, is dated by the database's clock; databases, users,
// permissions, scripts and throughputs are dated by the server's. The clocks are the host's; here is what
// they date.

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

// latest is the last of the moments, which happened in a place.
func (m *marks) latest(where string) (last host.Moment) {
	for i := range m {
		if at := m[i].Load(); at > 0 && time.Unix(at, 0).After(last.At) {
			last = host.Moment{At: time.Unix(at, 0), What: markTexts[i] + where}
		}
	}
	return last
}

// stamp is the present second of the server's clock, for something of the catalog that is about to be stored.
func (ds *dataset) stamp() int64 {
	now := ds.in.Clock().Seconds()
	ds.marks.note(markCatalog, now)
	return now
}

// loadMark notes a moment of the catalog that was found stored.
func (ds *dataset) loadMark(t int64) {
	ds.marks.note(markCatalog, t)
	ds.in.Clock().Raise(t)
}

// moment is the present second of the container's clock, which is its database's.
func (c *Container) moment() int64 { return c.d.clock.Seconds() }

// note records that something of the container is stored in second t. It is called inside the gate, and while
// the store is being opened.
func (c *Container) note(k mark, t int64) {
	c.marks.note(k, t)
	c.d.clock.Raise(t)
}

// Now is the moment of the server's clock, not behind anything that is stored by it.
func (db *DB) Now() time.Time { return db.live().now() }

func (ds *dataset) now() time.Time { return ds.in.Clock().Time() }

// Now is the moment of the database's clock, not behind anything that is stored by it. It is the server's,
// unless the database has a clock of its own.
func (d *Database) Now() time.Time { return d.clock.Time() }

// VirtualClock reports whether SetClock can move the clock.
func (db *DB) VirtualClock() bool { return db.live().in.Virtual() }

// Clock is the state of the server's virtual clock; for the system's clock, that moment at rate 1.
func (db *DB) Clock() ttl.State {
	s, _ := db.live().in.Clock().State()
	return s
}

// Clock is the state of the database's clock. own reports that it is the database's own; else it is the
// server's.
func (d *Database) Clock() (s ttl.State, own bool) { return d.clock.State() }

// ClockChange moves a virtual clock.
type ClockChange = ttl.Change

// SetClock moves the server's virtual clock, with all databases that have none of their own, and makes its
// new state durable.
//
// It may be set back, to a moment that is not behind anything stored, nor behind the expiry of an item,
// purged or not: what has expired stays expired. It fails with CodeForbidden where the clock is the system's,
// and with CodeBadRequest for a change that makes no sense and for a moment that is too far back; the error
// says behind what.
func (db *DB) SetClock(ctx context.Context, c ClockChange) (ttl.State, error) {
	s, err := db.live().in.SetClock(ctx, c)
	return s, classify.ToFault(err)
}

// SetClock moves the database's clock. The first time gives it one of its own, which begins as the server's
// is, and from then on is independent of it. Errors are as those of DB.SetClock, and CodeNotFound where the
// database has been dropped.
func (d *Database) SetClock(ctx context.Context, c ClockChange) (ttl.State, error) {
	s, err := d.clock.Set(ctx, c, d.exists)
	return s, classify.ToFault(err)
}

// FollowClock lets the database follow the server's clock again. It fails with CodeBadRequest where the
// server's clock is behind what is stored in the database, with CodeForbidden where the clock is the
// system's, and with CodeNotFound where the database has been dropped.
func (d *Database) FollowClock(ctx context.Context) error {
	return classify.ToFault(d.clock.Follow(ctx, d.exists))
}

// exists fails where the database has been dropped. The caller holds the catalog's lock.
func (d *Database) exists() error {
	if live, err := d.ds.database(d.ID()); err != nil || live != d {
		return fault.New(fault.CodeNotFound, "The database '"+d.ID()+"' does not exist.")
	}
	return nil
}

// clockOf is whose the clock of a database is, for an error.
func clockOf(database string) string { return "of the database " + database }

// Clock shows the reaper by which clock a slot expires.
func (w sweeper) Clock(r ttl.Range) ttl.Clock {
	w.ds.mu.RLock()
	defer w.ds.mu.RUnlock()
	if c := w.ds.cat.cids[r.Owner]; c != nil && c.d.clock.Own() {
		return c.d.clock.Base()
	}
	return nil
}
