package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// ErrSeveralServers is the error for moving a clock while several servers share the data: one of them could
// still use the old time. Nothing has changed.
var ErrSeveralServers = errors.New("host: several servers are running: their clock cannot be moved")

// ErrSystemClock is returned by an attempt to move the system's clock.
var ErrSystemClock = errors.New("host: the clock is the system's")

// ClockTooFarBackError is the error for setting a clock back before a stored moment, or before the expiry of
// an item.
type ClockTooFarBackError struct {
	To              time.Time
	StoredEventTime // the stored moment after To
}

func (e *ClockTooFarBackError) Error() string {
	return fmt.Sprintf("host: the clock cannot be set to %s: %s at %s", e.To.UTC(), e.What, e.At.UTC())
}

// SetClock moves the server's virtual clock, with all group clocks that follow it, and makes the new state
// durable. It may set the clock back, but not before any stored moment or before the expiry of an item. It
// fails with ErrSystemClock, *ttl.InvalidClockChangeError and *ClockTooFarBackError.
func (in *EngineInstance) SetClock(ctx context.Context,
	change ttl.ClockChangeRequest) (ttl.VirtualClockState, error) {
	v := in.clock.virtual()
	if v == nil {
		return ttl.VirtualClockState{}, ErrSystemClock
	}
	if err := in.catalog.Lock(ctx); err != nil {
		return ttl.VirtualClockState{}, err
	}
	defer in.catalog.Unlock()
	next, err := change.Apply(v.State(), ttl.In(v.Base()))
	if err != nil {
		return ttl.VirtualClockState{}, err
	}
	m := clockMove{in: in, clocks: append(in.followers(), &in.clock), back: change.Back()}
	err = m.run(ctx, next.At, func() error {
		// The clock moves only once the move is stored. So no caller can read the new time of a move that
		// then fails.
		err := in.catalog.Change(ctx, func(t *CatalogTxn) error {
			if err := in.onlyServer(t); err != nil {
				return err
			}
			return setClock(t, 0, next)
		}, in.serverScopes()...)
		if err != nil {
			return err
		}
		return v.Rebase(v.Base(), next)
	})
	if err != nil {
		return ttl.VirtualClockState{}, err
	}
	return v.State(), nil
}

// followers returns the clocks that follow the server's clock. Each is the clock of a group of data, such as
// a database, that has no clock of its own.
func (in *EngineInstance) followers() (list []*NonDecreasingClock) {
	for _, r := range in.tenants {
		if r.ClockObserver != nil {
			list = append(list, r.ClockObserver.Clocks()...)
		}
	}
	return slices.DeleteFunc(list, (*NonDecreasingClock).Own)
}

// Set moves the clock of a group of data (a database, for example). The first call gives the group its own
// clock, which begins as the server's and is then independent of it. exists is called with the catalog's
// lock held and checks that the group still exists. The errors are those of SetClock and of exists.
func (c *NonDecreasingClock) Set(ctx context.Context, change ttl.ClockChangeRequest,
	exists func() error) (ttl.VirtualClockState, error) {
	v := c.virtual()
	if v == nil {
		return ttl.VirtualClockState{}, ErrSystemClock
	}
	if err := c.in.catalog.Lock(ctx); err != nil {
		return ttl.VirtualClockState{}, err
	}
	defer c.in.catalog.Unlock()
	at, _ := c.State()
	base := c.in.clock.virtual().Base()
	next, err := change.Apply(at, ttl.In(base))
	if err != nil {
		return ttl.VirtualClockState{}, err
	}
	m := clockMove{in: c.in, clocks: []*NonDecreasingClock{c}, back: change.Back()}
	if err := m.run(ctx, next.At, func() error { return c.change(ctx, base, &next, exists) }); err != nil {
		return ttl.VirtualClockState{}, err
	}
	return v.State(), nil
}

// Follow makes the clock of a group follow the server's again. It fails with ErrSystemClock, with a
// *ClockTooFarBackError if the server's clock is before a moment stored in the group, and with the error of
// exists, which Follow calls to check that the group has not been deleted.
func (c *NonDecreasingClock) Follow(ctx context.Context, exists func() error) error {
	if c.virtual() == nil {
		return ErrSystemClock
	}
	if err := c.in.catalog.Lock(ctx); err != nil {
		return err
	}
	defer c.in.catalog.Unlock()
	server := c.in.clock.virtual()
	m := clockMove{in: c.in, clocks: []*NonDecreasingClock{c}, back: true}
	return m.run(ctx, server.Now(), func() error { return c.change(ctx, server, nil, exists) })
}

// change sets the underlying clock (base) and the state of the clock of a group of data, such as a
// database, and makes them durable. If own is nil the clock follows the base. exists returns an error if
// the group has been deleted; then change does nothing. The caller holds the catalog's lock.
func (c *NonDecreasingClock) change(ctx context.Context, base ttl.Clock, own *ttl.VirtualClockState,
	exists func() error) error {
	if err := exists(); err != nil {
		return err
	}
	err := c.in.catalog.Change(ctx, func(t *CatalogTxn) error {
		if err := c.in.onlyServer(t); err != nil {
			return err
		}
		if own == nil {
			c.Forget(t)
			return nil
		}
		return setClock(t, c.number, *own)
	}, c.in.serverScopes()...)
	if err != nil {
		return err
	}
	c.own.Store(own != nil)
	if own == nil {
		return c.virtual().Rebase(base, ttl.In(base))
	}
	return c.virtual().Rebase(base, *own)
}

// serverScopes returns the scopes that a transaction must lock so that no server can join or leave while it
// runs. It returns none if there can be only one server.
func (in *EngineInstance) serverScopes() [][]byte {
	if !in.Shared() {
		return nil
	}
	return allServerScopes()
}

// onlyServer fails with ErrSeveralServers if another server shares the data. A server that starts later reads
// the state of the clocks after it has registered.
func (in *EngineInstance) onlyServer(t engine.Txn) error {
	if !in.Shared() {
		return nil
	}
	list, err := in.membership.read(t)
	if err == nil && slices.ContainsFunc(list, func(s RunningServerInfo) bool { return !s.Self }) {
		err = ErrSeveralServers
	}
	return err
}

// saveClock stores the state of the server's virtual clock. Clocks of databases (or of other groups of
// data) are stored when they are changed. The caller holds the catalog's lock.
func (in *EngineInstance) saveClock(ctx context.Context) error {
	v := in.clock.virtual()
	if v == nil {
		return nil
	}
	return in.catalog.Change(ctx, func(t *CatalogTxn) error { return setClock(t, 0, v.State()) })
}

// clockMove is a change of several clocks, for example the server's and those of databases that follow it,
// to the same time. The caller holds the catalog's lock.
type clockMove struct {
	in     *EngineInstance
	clocks []*NonDecreasingClock
	back   bool // the clocks may go back
}

// run calls move, which sets the clocks to the given time. For a move back it first blocks all operations
// that store a time of these clocks, and checks that no later time is stored. So an operation has either
// stored its time before the check, or reads the clock after the move.
func (m *clockMove) run(ctx context.Context, to time.Time, move func() error) error {
	back := m.back && slices.ContainsFunc(m.clocks, func(c *NonDecreasingClock) bool { return c.isAhead(to) })
	if back {
		release, err := m.hold(ctx)
		if err != nil {
			return err
		}
		defer release()
		if err := m.check(ctx, to); err != nil {
			return err
		}
	}
	if err := move(); err != nil {
		return err
	}
	if back {
		for _, c := range m.clocks {
			c.setBack(to)
		}
	}
	for _, d := range m.observers() {
		d.Moved(m.clocks)
	}
	m.in.WakeReaper()
	return nil
}

func (m *clockMove) observers() (list []ClockMoveParticipant) {
	for _, r := range m.in.tenants {
		if r.ClockObserver != nil {
			list = append(list, r.ClockObserver)
		}
	}
	return list
}

// hold blocks all operations that take their time from one of the clocks until release is called. It locks
// the tenants (documents and messages) in the order given to Open.
func (m *clockMove) hold(ctx context.Context) (release func(), err error) {
	var held []func()
	release = func() {
		for _, give := range slices.Backward(held) {
			give()
		}
	}
	for _, d := range m.observers() {
		give, err := d.Hold(ctx, m.clocks)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, give)
	}
	return release, nil
}

// check returns an error if the clocks must not be set to the time to: if a later time is stored, or if an
// item that has expired would be live again.
func (m *clockMove) check(ctx context.Context, to time.Time) error {
	var last StoredEventTime
	for _, d := range m.observers() {
		if one := d.Latest(m.clocks); one.At.After(last.At) {
			last = one
		}
	}
	if to.Before(last.At) {
		return &ClockTooFarBackError{to, last}
	}
	for _, d := range m.observers() {
		died, err := d.Expired(ctx, m.clocks, to)
		if err != nil {
			return err
		}
		if died.At.After(to) {
			return &ClockTooFarBackError{to, died}
		}
	}
	return nil
}
