package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// ErrSystemClock is returned by whoever would move the system's clock.
var ErrSystemClock = errors.New("host: the clock is the system's")

// TooFarBackError refuses to set a clock back behind what is stored, or behind a death.
type TooFarBackError struct {
	To     time.Time
	Moment // that lies after To
}

func (e *TooFarBackError) Error() string {
	return fmt.Sprintf("host: the clock cannot be set to %s: %s at %s", e.To.UTC(), e.What, e.At.UTC())
}

// SetClock moves the server's virtual clock, with all clocks of groups that follow it, and makes its new
// state durable. It may be set back, to a moment that is not behind anything stored, nor behind a death. It
// fails with ErrSystemClock, *ttl.ChangeError and *TooFarBackError.
func (in *Instance) SetClock(ctx context.Context, change ttl.Change) (ttl.State, error) {
	v := in.clock.virtual()
	if v == nil {
		return ttl.State{}, ErrSystemClock
	}
	if err := in.catalog.Lock(ctx); err != nil {
		return ttl.State{}, err
	}
	defer in.catalog.Unlock()
	next, err := change.Apply(v.State(), ttl.In(v.Base()))
	if err != nil {
		return ttl.State{}, err
	}
	m := clockMove{in: in, clocks: append(in.followers(), &in.clock), back: change.Back()}
	err = m.run(ctx, next.At, func() error {
		before := v.State()
		if err := v.Rebase(v.Base(), next); err != nil {
			return err
		}
		err := in.catalog.Change(ctx, func(t *Change) error { return setClock(t, 0, next) })
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

// followers are the clocks of groups that follow the server's.
func (in *Instance) followers() (list []*Clock) {
	for _, r := range in.residents {
		if r.ClockUser != nil {
			list = append(list, r.ClockUser.Clocks()...)
		}
	}
	return slices.DeleteFunc(list, (*Clock).Own)
}

// Set moves the clock of a group. The first time gives it one of its own, which begins as the server's is,
// and from then on is independent of it. exists is asked with the catalog's lock held whether the group is
// still there. Errors are those of SetClock and of exists.
func (c *Clock) Set(ctx context.Context, change ttl.Change, exists func() error) (ttl.State, error) {
	v := c.virtual()
	if v == nil {
		return ttl.State{}, ErrSystemClock
	}
	if err := c.in.catalog.Lock(ctx); err != nil {
		return ttl.State{}, err
	}
	defer c.in.catalog.Unlock()
	at, _ := c.State()
	base := c.in.clock.virtual().Base()
	next, err := change.Apply(at, ttl.In(base))
	if err != nil {
		return ttl.State{}, err
	}
	m := clockMove{in: c.in, clocks: []*Clock{c}, back: change.Back()}
	if err := m.run(ctx, next.At, func() error { return c.change(ctx, base, &next, exists) }); err != nil {
		return ttl.State{}, err
	}
	return v.State(), nil
}

// Follow lets the clock of a group follow the server's again. It fails with ErrSystemClock, with a
// *TooFarBackError where the server's clock is behind what is stored in the group, and with the error of
// exists, which is as for Set.
func (c *Clock) Follow(ctx context.Context, exists func() error) error {
	if c.virtual() == nil {
		return ErrSystemClock
	}
	if err := c.in.catalog.Lock(ctx); err != nil {
		return err
	}
	defer c.in.catalog.Unlock()
	server := c.in.clock.virtual()
	m := clockMove{in: c.in, clocks: []*Clock{c}, back: true}
	return m.run(ctx, server.Now(), func() error { return c.change(ctx, server, nil, exists) })
}

// change puts a group's clock on a base and makes that durable. A nil state is that of the base, which the
// clock follows. The caller holds the catalog's lock.
func (c *Clock) change(ctx context.Context, base ttl.Clock, own *ttl.State, exists func() error) error {
	if err := exists(); err != nil {
		return err
	}
	err := c.in.catalog.Change(ctx, func(t *Change) error {
		if own == nil {
			c.Forget(t)
			return nil
		}
		return setClock(t, c.number, *own)
	})
	if err != nil {
		return err
	}
	c.own.Store(own != nil)
	if own == nil {
		return c.virtual().Rebase(base, ttl.In(base))
	}
	return c.virtual().Rebase(base, *own)
}

// saveClock stores the state of the server's virtual clock; those of groups are stored when they are changed.
// The caller holds the catalog's lock.
func (in *Instance) saveClock(ctx context.Context) error {
	v := in.clock.virtual()
	if v == nil {
		return nil
	}
	return in.catalog.Change(ctx, func(t *Change) error { return setClock(t, 0, v.State()) })
}

// clockMove is a move of clocks that show the same time afterwards. The caller holds the catalog's lock.
type clockMove struct {
	in     *Instance
	clocks []*Clock
	back   bool // they may go back
}

// run makes move, which puts the clocks to the given time. A way back is made while nothing is under way that
// they date, with any tenant: what is written is dated either before it, and forbids it, or after it.
func (m *clockMove) run(ctx context.Context, to time.Time, move func() error) error {
	back := m.back && slices.ContainsFunc(m.clocks, func(c *Clock) bool { return c.isAhead(to) })
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
	for _, d := range m.dated() {
		d.Moved(m.clocks)
	}
	m.in.WakeReaper()
	return nil
}

func (m *clockMove) dated() (list []ClockUser) {
	for _, r := range m.in.residents {
		if r.ClockUser != nil {
			list = append(list, r.ClockUser)
		}
	}
	return list
}

// hold keeps everybody from what the clocks date until release is called, tenant by tenant in the order that
// Open was given.
func (m *clockMove) hold(ctx context.Context) (release func(), err error) {
	var held []func()
	release = func() {
		for _, give := range slices.Backward(held) {
			give()
		}
	}
	for _, d := range m.dated() {
		give, err := d.Hold(ctx, m.clocks)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, give)
	}
	return release, nil
}

// check refuses a moment that is behind what is stored, and one at which something that is dead now would be
// alive.
func (m *clockMove) check(ctx context.Context, to time.Time) error {
	var last Moment
	for _, d := range m.dated() {
		if one := d.Latest(m.clocks); one.At.After(last.At) {
			last = one
		}
	}
	if to.Before(last.At) {
		return &TooFarBackError{to, last}
	}
	for _, d := range m.dated() {
		died, err := d.Expired(ctx, m.clocks, to)
		if err != nil {
			return err
		}
		if died.At.After(to) {
			return &TooFarBackError{to, died}
		}
	}
	return nil
}
