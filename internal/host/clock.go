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

// The server has a clock, and a tenant can make more for groups of its data: for a database, say. Without a
// virtual clock all of them are the system's. With one, a group's clock is a clock of its own whose base is
// the server's, which it follows until it is moved by itself.

// maxStepBack is how far the system's clock may run behind what is stored before Open refuses.
const maxStepBack = 5 * time.Minute

// Clock is a data clock. It never runs behind what has been told or stored by it, unless it is set back by
// its owner: after a small step back of the clock below, it stands still until that has caught up. Therefore
// what was seen to be expired stays so. It tells seconds, milliseconds or both, each of which never falls by
// itself.
type Clock struct {
	in     *Instance
	number uint32 // of the group; 0: it is the server's
	of     string // in words, for an error; empty for the server's
	base   ttl.Clock
	own    atomic.Bool // it does not follow the server's
	// The last second and the last millisecond that it has told; nil: none. Each change is a new pointer: see
	// Seconds.
	floor  atomic.Pointer[int64]
	millis atomic.Pointer[int64]
}

// Seconds is the present second since 1970. The floor is loaded before the clock below is asked, and replaced
// only where it is still that very pointer: so an answer that was on its way while the clock was set back
// does not raise the new floor to the old time.
func (c *Clock) Seconds() int64 {
	for {
		floor := c.floor.Load()
		t := c.base.Now().Unix()
		if floor != nil && t <= *floor {
			return *floor
		}
		next := t // its own variable: most calls need none on the heap
		if c.floor.CompareAndSwap(floor, &next) {
			return t
		}
	}
}

// Millis is the present millisecond since 1970, never before the second that Seconds tells. setBack replaces
// the floor of seconds first, so that what is made of the old one here is not kept.
func (c *Clock) Millis() int64 {
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

// Time is the clock's moment, to the fraction of a second where the clock below is not behind.
func (c *Clock) Time() time.Time {
	t, now := c.base.Now(), c.Seconds()
	if t.Unix() >= now {
		return t
	}
	return time.Unix(now, 0).UTC()
}

// Raise keeps the clock from telling a second before t: something is stored that is dated so.
func (c *Clock) Raise(t int64) { raise(&c.floor, t) }

// RaiseMillis is Raise for a millisecond.
func (c *Clock) RaiseMillis(t int64) {
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

// setBack puts the clock to t, behind what it was. The clock below shows t already.
func (c *Clock) setBack(t time.Time) {
	second, milli := t.Unix(), t.UnixMilli()
	c.floor.Store(&second)
	c.millis.Store(&milli)
}

// isAhead reports whether the clock has told a moment after t.
func (c *Clock) isAhead(t time.Time) bool {
	told := c.millis.Load()
	return t.Unix() < c.Seconds() || told != nil && t.UnixMilli() < *told
}

// Base is the clock below: what sleeps until a moment of this clock has its timer there.
func (c *Clock) Base() ttl.Clock { return c.base }

// State is the clock's state. own reports that it is the group's own; else it is the server's. For the
// system's clock it is that moment at rate 1.
func (c *Clock) State() (s ttl.State, own bool) {
	if c.number != 0 && !c.own.Load() {
		s, _ = c.in.clock.State()
		return s, false
	}
	if v, ok := c.base.(*ttl.Virtual); ok {
		return v.State(), c.number != 0
	}
	return ttl.In(c.base), false
}

// Own reports whether a group's clock does not follow the server's.
func (c *Clock) Own() bool { return c.own.Load() }

// virtual is the clock to be moved; nil where it is the system's.
func (c *Clock) virtual() *ttl.Virtual {
	v, _ := c.base.(*ttl.Virtual)
	return v
}

// BehindError refuses data whose time lies well ahead of the clock: it would stand still for that long, and
// nothing would expire.
type BehindError struct {
	Of          string // whose clock it is, as NewClock was told; empty: the server's
	Data, Clock int64  // seconds since 1970
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("host: the clock %sis %d seconds behind the data", e.Of, e.Data-e.Clock)
}

// CheckStepBack fails with a *BehindError where what is dated by the clock is well ahead of it.
func (c *Clock) CheckStepBack() error {
	floor, now := c.floor.Load(), c.base.Now()
	if floor == nil || time.Unix(*floor, 0).Sub(now) <= maxStepBack {
		return nil
	}
	return &BehindError{Of: c.of, Data: *floor, Clock: now.Unix()}
}

// clockKey is where the state of a virtual clock is kept: the server's for 0, else that of the group with
// this number, where it has one of its own.
func clockKey(number uint32) []byte { return ownKey(number, "clock") }

// Clock is the server's clock.
func (in *Instance) Clock() *Clock { return &in.clock }

// Virtual reports whether the clocks can be moved.
func (in *Instance) Virtual() bool { return in.clock.virtual() != nil }

// NewClock makes a clock for a group of data, which follows the server's. number is the catalog's number of
// the group; of says whose the clock is, for an error ("of the database shop").
func (in *Instance) NewClock(number uint32, of string) *Clock {
	c := &Clock{in: in, number: number, of: of, base: in.clock.base}
	if v := in.clock.virtual(); v != nil {
		c.base = ttl.NewVirtual(v)
	}
	return c
}

// LoadClock makes the clock of a group that is stored, in the state that it had.
func (in *Instance) LoadClock(r engine.Reader, number uint32, of string) (*Clock, error) {
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

// Copy gives a clock that nobody uses yet the state of another instance's, where that has one of its own.
func (c *Clock) Copy(other *Clock) error {
	if s, own := other.State(); own && c.virtual() != nil {
		return c.take(s)
	}
	return nil
}

// take gives the clock a state of its own.
func (c *Clock) take(s ttl.State) error {
	c.own.Store(true)
	return c.virtual().Rebase(c.in.clock.virtual().Base(), s)
}

// Keep stores the clock of a group with the change that makes the group, where it has one of its own.
func (c *Clock) Keep(t *Change) error {
	if s, own := c.State(); own {
		return setClock(t, c.number, s)
	}
	return nil
}

// Forget deletes what is stored of a group's clock, with the change that drops the group.
func (c *Clock) Forget(t *Change) { dropClock(t, c.number) }

// restore puts the server's virtual clock back to where it was when the data was last open.
func (c *Clock) restore(r engine.Reader) error {
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

func readClock(r engine.Reader, number uint32) (s ttl.State, found bool, err error) {
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
