package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// ClockChange moves a virtual clock. Its members apply in their order here; what is nil or false changes
// nothing.
type ClockChange struct {
	Real    bool           // to the system's time, running with it
	Set     *time.Time     // to this moment
	Advance *time.Duration // by this much; not negative
	Rate    *float64       // to this many times the speed of the system's clock, up to ttl.MaxRate; 0 stops it
	Freeze  *bool          // true stops the clock, false lets a stopped one run on from where it is
}

// SetClock moves the server's virtual clock, with all databases that have none of their own, and makes its
// new state durable.
//
// It may be set back, to a moment that is not behind anything stored, nor behind the expiry of an item,
// purged or not: what has expired stays expired. It fails with CodeForbidden where the clock is the system's,
// and with CodeBadRequest for a change that makes no sense and for a moment that is too far back; the error
// says behind what.
func (db *DB) SetClock(ctx context.Context, c ClockChange) (ttl.State, error) {
	db = db.live()
	v := db.virtual()
	if v == nil {
		return ttl.State{}, clockIsSystems()
	}
	if err := db.ddl.take(ctx); err != nil {
		return ttl.State{}, err
	}
	defer db.ddl.release()
	next, err := c.apply(v.State(), ttl.In(v.Base()))
	if err != nil {
		return ttl.State{}, err
	}
	var follow []*Database
	for _, d := range db.Databases() {
		if !d.ownClock.Load() {
			follow = append(follow, d)
		}
	}
	m := clockMove{db: db, databases: follow, server: true, back: c.Set != nil || c.Real}
	err = m.run(ctx, next.At, func() error {
		before := v.State()
		if err := v.Rebase(v.Base(), next); err != nil {
			return err
		}
		err := db.changeCatalog(ctx, func(t engine.Txn) error { return keepClock(t, 0, &next) })
		if err != nil {
			_ = v.Rebase(v.Base(), before) // a state that it had is not refused
		}
		return err
	})
	if err != nil {
		return ttl.State{}, err
	}
	return v.State(), nil
}

// SetClock moves the database's clock. The first time gives it one of its own, which begins as the server's
// is, and from then on is independent of it. Errors are as those of DB.SetClock.
func (d *Database) SetClock(ctx context.Context, c ClockChange) (ttl.State, error) {
	v := d.virtual()
	if v == nil {
		return ttl.State{}, clockIsSystems()
	}
	if err := d.db.ddl.take(ctx); err != nil {
		return ttl.State{}, err
	}
	defer d.db.ddl.release()
	at, _ := d.Clock()
	base := d.db.virtual().Base()
	next, err := c.apply(at, ttl.In(base))
	if err != nil {
		return ttl.State{}, err
	}
	m := clockMove{db: d.db, databases: []*Database{d}, back: c.Set != nil || c.Real}
	if err := m.run(ctx, next.At, func() error { return d.changeClock(ctx, v, base, &next) }); err != nil {
		return ttl.State{}, err
	}
	return v.State(), nil
}

// FollowClock lets the database follow the server's clock again. It fails with CodeBadRequest where the
// server's clock is behind what is stored in the database, and with CodeForbidden where the clock is the
// system's.
func (d *Database) FollowClock(ctx context.Context) error {
	v := d.virtual()
	if v == nil {
		return clockIsSystems()
	}
	if err := d.db.ddl.take(ctx); err != nil {
		return err
	}
	defer d.db.ddl.release()
	server := d.db.virtual()
	m := clockMove{db: d.db, databases: []*Database{d}, back: true}
	return m.run(ctx, server.Now(), func() error { return d.changeClock(ctx, v, server, nil) })
}

// changeClock puts the database's clock on a base and makes that durable. A nil state is that of the base,
// which the clock follows. The caller holds ddl.
func (d *Database) changeClock(ctx context.Context, v *ttl.Virtual, base ttl.Clock, own *ttl.State) error {
	if live, err := d.db.Database(d.ID()); err != nil || live != d {
		return fail(CodeNotFound, "The database '"+d.ID()+"' does not exist.")
	}
	err := d.db.changeCatalog(ctx, func(t engine.Txn) error { return keepClock(t, d.rec.Num, own) })
	if err != nil {
		return err
	}
	d.ownClock.Store(own != nil)
	if own == nil {
		return v.Rebase(base, ttl.In(base))
	}
	return v.Rebase(base, *own)
}

func clockIsSystems() error {
	return fail(CodeForbidden, "The clock of this server is the system's: it cannot be moved.")
}

// apply works out the state that a clock gets.
func (c *ClockChange) apply(s, real ttl.State) (ttl.State, error) {
	if c.Advance != nil && *c.Advance < 0 {
		return s, fail(CodeBadRequest, "The clock cannot be advanced by a negative duration; set it instead.")
	}
	if c.Rate != nil && !(*c.Rate >= 0 && *c.Rate <= ttl.MaxRate) {
		return s, fail(CodeBadRequest, fmt.Sprintf("The rate of a clock must be from 0 to %.0f.", float64(ttl.MaxRate)))
	}
	if c.Rate != nil && c.Freeze != nil && *c.Freeze != (*c.Rate == 0) {
		return s, fail(CodeBadRequest, "'rate' and 'freeze' contradict each other.")
	}
	if c.Real {
		s = real
	}
	if c.Set != nil {
		s.At = *c.Set
	}
	if c.Advance != nil {
		s.At = s.At.Add(*c.Advance)
	}
	if y := s.At.Year(); y > 9999 || y < 1970 {
		return s, fail(CodeBadRequest, "The clock shows the years 1970 to 9999.")
	}
	switch {
	case c.Rate != nil:
		s.Rate = *c.Rate
	case c.Freeze != nil && *c.Freeze:
		s.Rate = 0
	case c.Freeze != nil && s.Rate == 0:
		s.Rate = 1
	}
	return s, nil
}

// clockMove is a move of a clock and of all databases on it. The caller holds ddl.
type clockMove struct {
	db        *DB
	databases []*Database
	server    bool // the server's clock moves
	back      bool // it may go back
}

// run makes move, which puts the clock to the given time. A way back is made while nothing is under way in
// the containers: what is written is dated either before it, and forbids it, or after it.
func (m *clockMove) run(ctx context.Context, to time.Time, move func() error) error {
	back := m.back && m.behind(to)
	if back {
		release, err := m.hold(ctx)
		if err != nil {
			return err
		}
		defer release()
		if err := m.check(ctx, to.Unix()); err != nil {
			return err
		}
	}
	if err := move(); err != nil {
		return err
	}
	for _, d := range m.databases {
		if back {
			d.clock.setBack(to.Unix())
		}
		for _, c := range d.Containers() {
			for _, s := range c.state.Load().ranges {
				s.rescan.Store(true)
			}
			c.watch.notify()
		}
	}
	if back && m.server {
		m.db.clock.setBack(to.Unix())
	}
	m.db.wakeReaper()
	return nil
}

// behind tells whether a time is behind what one of the clocks has shown.
func (m *clockMove) behind(to time.Time) bool {
	return m.server && to.Unix() < m.db.clock.now() ||
		slices.ContainsFunc(m.databases, func(d *Database) bool { return to.Unix() < d.clock.now() })
}

// hold keeps everybody out of the containers until release is called. Containers are taken in the order of
// their making, as by everybody who takes several. CodeCanceled: ctx has ended before all have left them.
func (m *clockMove) hold(ctx context.Context) (release func(), err error) {
	var held []*Container
	for _, d := range m.databases {
		held = append(held, d.Containers()...)
	}
	sortBy(held, func(c *Container) uint32 { return c.cid })
	taken := 0
	release = func() {
		for _, c := range held[:taken] {
			c.gate.open()
		}
	}
	for _, c := range held {
		if err := c.gate.shut(ctx); err != nil {
			release()
			return nil, err
		}
		taken++
	}
	return release, nil
}

// check refuses a second that is behind what is stored, and one at which something that is dead now would be
// alive.
func (m *clockMove) check(ctx context.Context, to int64) error {
	what, floor, where := markCatalog, int64(0), ""
	if m.server {
		what, floor = m.db.marks.latest()
	}
	for _, d := range m.databases {
		for _, c := range d.Containers() {
			if k, t := c.marks.latest(); t > floor {
				what, floor, where = k, t, " in "+d.ID()+"/"+c.name
			}
		}
	}
	if to < floor {
		return tooFarBack(to, markTexts[what]+where, floor)
	}
	for _, d := range m.databases {
		for _, c := range d.Containers() {
			died, err := c.diedSince(ctx, to)
			if err != nil {
				return err
			}
			if died > to {
				return tooFarBack(to, "an item expired in "+d.ID()+"/"+c.name, died)
			}
		}
	}
	return nil
}

func tooFarBack(to int64, what string, at int64) error {
	return &Error{
		Code:    CodeBadRequest,
		Message: fmt.Sprintf("The clock cannot be set to %s: %s at %s (%d).", clockText(to), what, clockText(at), at),
		Hint:    "restore a snapshot to go further back",
	}
}
