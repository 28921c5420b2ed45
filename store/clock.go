package store

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/ttl"
)

// The server has a clock, and so has each database; a container uses its database's clock. Items and
// container settings are dated by the database's clock. Databases, users, permissions, scripts and
// throughputs are dated by the server's clock. The clocks themselves belong to the host; this file connects
// them to the data that they date.

// stamp returns the current second of the server's clock and records it, for a catalog record that is
// about to be stored.
func (ds *openDataset) stamp() int64 {
	now := ds.in.Clock().Seconds()
	ds.marks.Raise(container.MarkCatalog, now)
	return now
}

// loadMark records a moment that was read from a stored catalog record, so that the server's clock is never
// behind it.
func (ds *openDataset) loadMark(t int64) {
	ds.marks.Raise(container.MarkCatalog, t)
	ds.in.Clock().Raise(t)
}

// moment returns the current second of the container's clock, which is its database's.
func (c *Container) moment() int64 { return c.d.clock.Seconds() }

// momentOf returns the second by which a read decides what has expired. It is now, the container's time
// before the read began, or the time of the engine's own clock (PostgreSQL's, for example) that is stored in
// at, whichever is later.
func (c *Container) momentOf(now int64, at engine.LSNScopeStatus) int64 {
	return max(now, c.d.clock.At(at.Now).Unix())
}

// recordTime records that an event of kind k (a write or a purge, for example) is stored with second t, so
// that the clock is not set back behind t. The caller holds the container's gate (its lock), or is opening
// the store.
func (c *Container) recordTime(k container.ClockLimitingEventKind, t int64) {
	c.marks.Raise(k, t)
	c.d.clock.Raise(t)
}

// Note records that a write or purge of kind k was stored with the time t, in seconds since 1970, so that the
// container's clock cannot be set back behind t. The caller holds the container's gate (its lock).
func (c *containerCallbacksAdapter) Note(k container.ClockLimitingEventKind, t int64) {
	(*Container)(c).recordTime(k, t)
}

// Now returns the time of the server's clock. It is never behind anything that the store has stored by that
// clock.
func (db *DB) Now() time.Time { return db.live().now() }

func (ds *openDataset) now() time.Time { return ds.in.Clock().Time() }

// Now returns the time of the database's clock. It is never behind anything that is stored by that clock.
// It is the server's time unless the database has a clock of its own.
func (d *Database) Now() time.Time { return d.clock.Time() }

// VirtualClock reports whether SetClock can move the clock.
func (db *DB) VirtualClock() bool { return db.live().in.Virtual() }

// Clock returns the state of the server's virtual clock; for the system's clock, the current time at rate
// 1.
func (db *DB) Clock() ttl.VirtualClockState {
	s, _ := db.live().in.Clock().State()
	return s
}

// Clock returns the state of the database's clock. own reports whether the database has a clock of its own;
// otherwise the state is that of the server's.
func (d *Database) Clock() (s ttl.VirtualClockState, own bool) { return d.clock.State() }

// ClockChangeRequest moves a virtual clock.
type ClockChangeRequest = ttl.ClockChangeRequest

// SetClock moves the server's virtual clock, and with it all databases that have none of their own. It
// makes the new state durable.
//
// The clock may be set back, but not behind a stored moment, nor behind the expiry of an item, purged or
// not: an expired item stays expired. SetClock fails with CodeForbidden if the clock is the system's, and
// with CodeBadRequest for an invalid change or a moment that is too far back. In the latter case the error
// names the event that prevents it.
func (db *DB) SetClock(ctx context.Context, c ClockChangeRequest) (ttl.VirtualClockState, error) {
	s, err := db.live().in.SetClock(ctx, c)
	return s, classify.ToFault(err)
}

// SetClock moves the database's clock. The first call gives the database a clock of its own, which starts
// with the state of the server's and is independent of it from then on. Errors are those of DB.SetClock,
// and CodeNotFound if the database has been dropped.
func (d *Database) SetClock(ctx context.Context, c ClockChangeRequest) (ttl.VirtualClockState, error) {
	s, err := d.clock.Set(ctx, c, d.exists)
	return s, classify.ToFault(err)
}

// FollowClock makes the database follow the server's clock again. It fails with CodeBadRequest if the
// server's clock is behind what is stored in the database, with CodeForbidden if the clock is the system's,
// and with CodeNotFound if the database has been dropped.
func (d *Database) FollowClock(ctx context.Context) error {
	return classify.ToFault(d.clock.Follow(ctx, d.exists))
}

// exists fails if the database has been dropped. The caller holds the catalog's lock.
func (d *Database) exists() error {
	if live, err := d.ds.database(d.ID()); err != nil || live != d {
		return fault.New(fault.CodeNotFound, "The database '"+d.ID()+"' does not exist.")
	}
	return nil
}

// clockOf returns words for the clock of a database, such as "of the database shop", which error messages
// put after "the clock".
func clockOf(database string) string { return "of the database " + database }

// Clock returns the clock that decides what has expired in a range.
func (w storeSweeper) Clock(r ttl.SweepRange) ttl.Clock {
	w.ds.mu.RLock()
	defer w.ds.mu.RUnlock()
	if c := w.ds.cat.cids[r.Owner]; c != nil && c.d.clock.Own() {
		return c.d.clock.Base()
	}
	return nil
}
