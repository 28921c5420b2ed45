package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// The server has a clock, and a tenant can create others for groups of its data, such as a database. If the
// server's clock is the system's, all clocks are. If it is virtual, each group has a clock that follows the
// server's clock until the group's clock is moved on its own.

// maxStepBack is the maximum time by which the system's clock may be behind the stored data. If it is
// further behind, Open fails.
const maxStepBack = 5 * time.Minute

// NonDecreasingClock is a data clock. It never returns a time before one that it has returned or stored,
// unless its owner sets it back: after a small step back of the underlying clock it stops until that clock
// has caught up. So an item that has expired for a reader stays expired. It returns seconds, milliseconds or
// both; neither ever decreases by itself.
type NonDecreasingClock struct {
	in     *EngineInstance
	number uint32 // number of the group; 0: the server's clock
	of     string // name of the owner, for errors; empty for the server's clock
	base   ttl.Clock
	own    atomic.Bool // independent of the server's clock
	// floor is the last second and millis the last millisecond that the clock has returned; nil: none. Each
	// change stores a new pointer, so that CompareAndSwap detects any change in between.
	floor  atomic.Pointer[int64]
	millis atomic.Pointer[int64]
}

// Seconds returns the current second since 1970, but at least the floor: the latest second returned or stored
// so far. It loads the floor before it reads the underlying clock, and replaces the floor only if it is still
// the same pointer. So a call that runs while the clock is set back cannot raise the new floor to the old
// time.
func (c *NonDecreasingClock) Seconds() int64 {
	for {
		floor := c.floor.Load()
		t := c.base.Now().Unix()
		if floor != nil && t <= *floor {
			return *floor
		}
		next := t // a separate variable: most calls need none on the heap
		if c.floor.CompareAndSwap(floor, &next) {
			return t
		}
	}
}

// Millis returns the current time in milliseconds since 1970. It never decreases, and it is never before the
// second that Seconds returns, except that setBack moves both back. setBack replaces the lower bound of the
// seconds first, so that Millis does not store a lower bound computed from the old one.
func (c *NonDecreasingClock) Millis() int64 {
	for {
		floor := c.millis.Load()
		second := c.Seconds()
		t := max(c.base.Now().UnixMilli(), second*1000)
		if floor != nil && t <= *floor {
			return *floor
		}
		if next := t; c.millis.CompareAndSwap(floor, &next) {
			return t
		}
	}
}

// Time returns the clock's current time, with fractions of a second unless the underlying clock is behind.
func (c *NonDecreasingClock) Time() time.Time {
	t, now := c.base.Now(), c.Seconds()
	if t.Unix() >= now {
		return t
	}
	return time.Unix(now, 0).UTC()
}

// At converts a time of the engine's database server (engine.LSNScopeStatus.Now, microseconds since 1970) to
// the time of this clock at the same moment. It returns the zero time if now is 0. A read that came from a
// shared engine must not use a time before At when it decides which items have expired: another server may
// already have answered a read with that later time, and an item that has expired there must not appear
// again.
func (c *NonDecreasingClock) At(now int64) time.Time {
	if now == 0 {
		return time.Time{}
	}
	t := time.UnixMicro(now)
	if v := c.virtual(); v != nil {
		return v.When(t)
	}
	return t
}

// Raise prevents the clock from returning a second before t, because stored data have that time.
func (c *NonDecreasingClock) Raise(t int64) { raise(&c.floor, t) }

// RaiseMillis prevents the clock from returning a millisecond before t, because stored data have that time.
func (c *NonDecreasingClock) RaiseMillis(t int64) {
	raise(&c.millis, t)
	c.Raise(t / 1000)
}

func raise(at *atomic.Pointer[int64], t int64) {
	for {
		floor := at.Load()
		if floor != nil && t <= *floor || at.CompareAndSwap(floor, &t) {
			return
		}
	}
}

// setBack sets the clock back to t. The underlying clock has been set to t already.
func (c *NonDecreasingClock) setBack(t time.Time) {
	second, milli := t.Unix(), t.UnixMilli()
	c.floor.Store(&second)
	c.millis.Store(&milli)
}

// isAhead reports whether the clock has returned a time after t.
func (c *NonDecreasingClock) isAhead(t time.Time) bool {
	told := c.millis.Load()
	return t.Unix() < c.Seconds() || told != nil && t.UnixMilli() < *told
}

// Base returns the underlying clock. A timer for a moment of c must be set on the underlying clock.
func (c *NonDecreasingClock) Base() ttl.Clock { return c.base }

// State returns the clock's state. own is true if the clock is independent of the server's clock, and false
// if the state is that of the server's clock. For the system's clock the state is the current time at rate
// 1.
func (c *NonDecreasingClock) State() (s ttl.VirtualClockState, own bool) {
	if c.number != 0 && !c.own.Load() {
		s, _ = c.in.clock.State()
		return s, false
	}
	if v, ok := c.base.(*ttl.VirtualClock); ok {
		return v.State(), c.number != 0
	}
	return ttl.In(c.base), false
}

// Own reports whether the clock of a database (or of another group of data) has its own time, rather than
// that of the server's clock.
func (c *NonDecreasingClock) Own() bool { return c.own.Load() }

// virtual returns the virtual clock under this one, or nil if the underlying clock is the system's, which
// cannot be moved.
func (c *NonDecreasingClock) virtual() *ttl.VirtualClock {
	v, _ := c.base.(*ttl.VirtualClock)
	return v
}

// ClockBehindError is the error for a clock that is more than maxStepBack behind the data. The clock would
// have to stop for that long, and nothing would expire.
type ClockBehindError struct {
	Of          string // the owner of the clock, as given to NewClock; empty: the server
	Data, Clock int64  // seconds since 1970
}

func (e *ClockBehindError) Error() string {
	return fmt.Sprintf("host: the clock %sis %d seconds behind the data", e.Of, e.Data-e.Clock)
}

// CheckStepBack returns a *ClockBehindError if the underlying clock is more than maxStepBack (five
// minutes) behind the latest time that is stored with the data.
func (c *NonDecreasingClock) CheckStepBack() error {
	floor, now := c.floor.Load(), c.base.Now()
	if floor == nil || time.Unix(*floor, 0).Sub(now) <= maxStepBack {
		return nil
	}
	return &ClockBehindError{Of: c.of, Data: *floor, Clock: now.Unix()}
}

// clockKey returns the key of the stored state of a virtual clock: the server's for number 0, otherwise
// that of the database (or other group of data) with this number, if it has its own clock.
func clockKey(number uint32) []byte { return ownKey(number, "clock") }

// Clock returns the server's clock.
func (in *EngineInstance) Clock() *NonDecreasingClock { return &in.clock }

// Virtual reports whether the clocks can be moved.
func (in *EngineInstance) Virtual() bool { return in.clock.virtual() != nil }

// NewClock creates a clock for a group of data, such as a database. It follows the server's clock until Set
// gives it a time of its own. number is the catalog's number of the group; of describes the owner in errors
// ("of the database shop").
func (in *EngineInstance) NewClock(number uint32, of string) *NonDecreasingClock {
	c := &NonDecreasingClock{in: in, number: number, of: of, base: in.clock.base}
	if v := in.clock.virtual(); v != nil {
		c.base = ttl.NewVirtualClock(v)
	}
	return c
}

// LoadClock creates the clock of a stored group of data, such as a database, in its stored state: see
// NewClock.
func (in *EngineInstance) LoadClock(r engine.Reader, number uint32, of string) (*NonDecreasingClock, error) {
	c := in.NewClock(number, of)
	if c.virtual() == nil {
		return c, nil
	}
	s, found, err := readClock(r, number)
	if !found || err != nil {
		return c, err
	}
	return c, c.take(s)
}

// Copy gives this clock, which nobody uses yet, the state of another clock, unless the other one follows its
// server's clock.
func (c *NonDecreasingClock) Copy(other *NonDecreasingClock) error {
	if s, own := other.State(); own && c.virtual() != nil {
		return c.take(s)
	}
	return nil
}

// take gives the clock of a database (or of another group of data) the state s, so that it no longer
// follows the server's clock.
func (c *NonDecreasingClock) take(s ttl.VirtualClockState) error {
	c.own.Store(true)
	return c.virtual().Rebase(c.in.clock.virtual().Base(), s)
}

// Keep stores the state of the clock of a database (or of another group of data) with the change of the
// catalog that creates the database. It does nothing if the clock follows the server's.
func (c *NonDecreasingClock) Keep(t *CatalogTxn) error {
	if s, own := c.State(); own {
		return setClock(t, c.number, s)
	}
	return nil
}

// Forget deletes the stored state of the clock of a database (or of another group of data), with the
// change of the catalog that drops the database.
func (c *NonDecreasingClock) Forget(t *CatalogTxn) { dropClock(t, c.number) }

// restore sets the server's virtual clock to the stored state.
func (c *NonDecreasingClock) restore(r engine.Reader) error {
	v := c.virtual()
	if v == nil {
		return nil
	}
	s, found, err := readClock(r, 0)
	if !found || err != nil {
		return err
	}
	return v.Restore(s)
}

// followClocks sets the clocks to their stored states, which another server may have changed.
func (in *EngineInstance) followClocks(r engine.Reader) error {
	if !in.Shared() || !in.Virtual() {
		return nil
	}
	before := in.clock.base.Now()
	if err := in.clock.restore(r); err != nil {
		return err
	}
	in.clock.movedBack(before)
	for _, resident := range in.tenants {
		if resident.ClockObserver == nil {
			continue
		}
		for _, c := range resident.ClockObserver.Clocks() {
			if err := c.followStored(r); err != nil {
				return err
			}
		}
		resident.ClockObserver.Moved(resident.ClockObserver.Clocks())
	}
	in.WakeReaper()
	return nil
}

// followStored sets the clock of a group of data (a database, for example) to its stored state, or makes it
// follow the server's clock if the group has none.
func (c *NonDecreasingClock) followStored(r engine.Reader) error {
	s, found, err := readClock(r, c.number)
	if err != nil {
		return err
	}
	before := c.base.Now()
	switch server := c.in.clock.virtual(); {
	case found:
		err = c.take(s)
	case c.own.Swap(false):
		err = c.virtual().Rebase(server, ttl.In(server))
	}
	c.movedBack(before)
	return err
}

// movedBack lets the clock return earlier times than before if another server has set it back. before is
// the time that the clock showed before its stored state was read again. The other server has checked that
// nothing is stored with a later time.
func (c *NonDecreasingClock) movedBack(before time.Time) {
	// A smaller difference is only an error of rounding in the computation of the time.
	if now := c.base.Now(); before.Sub(now) >= time.Millisecond {
		c.setBack(now)
	}
}

func readClock(r engine.Reader, number uint32) (s ttl.VirtualClockState, found bool, err error) {
	raw, err := r.Get(clockKey(number))
	if errors.Is(err, engine.ErrNotFound) {
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
