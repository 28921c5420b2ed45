package ttl

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"time"
)

// MaxRate is the highest speed of a Virtual clock: more than eleven days in a second.
const MaxRate = 1e6

// A Virtual clock derives its time from another clock, its base. It can be frozen, set, advanced and run at
// another speed, and it is safe for any number of goroutines.
//
// Its timers are deadlines in its own time: they fire, in the order of their deadlines and before the call
// returns, when Set, Advance or Restore takes it past them, and they wait longer when it is set back. A
// frozen clock keeps them in a list. A running one has one timer of its base for the earliest of them. There
// is no goroutine to close.
//
// Its time stays between the years 1 and 9999, which is what RFC 3339 can write. How far back it may be set
// is for its owner to say; it obeys.
//
// Its base may be a Virtual clock, too. Whatever v does under its lock it does under the base's as well (see
// lock): were the base moved between "not due yet" and the timer that is set for then, a base that is frozen
// afterwards would never call.
type Virtual struct {
	mu      sync.Mutex
	base    Clock
	state   State
	waiters []*waiter // by deadline
	disarm  func()    // releases the timer of the base, or nil
}

// A State is what a Virtual clock is made of: it reads At + Rate × (the base's time − Mark). It is stored
// with the data, as JSON, so that the clock runs on from where it was.
type State struct {
	At   time.Time `json:"at"`
	Mark time.Time `json:"mark"`
	Rate float64   `json:"rate"` // 0: frozen, 1: as fast as the base
}

// A RateError refuses the speed of a clock: it must be from 0 to MaxRate.
type RateError struct{ Rate float64 }

func (e *RateError) Error() string {
	return fmt.Sprintf("the rate of a clock must be from 0 to %g, not %g", float64(MaxRate), e.Rate)
}

type waiter struct {
	deadline time.Time
	fire     func(now time.Time)
}

var (
	minTime = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// NewVirtual returns a clock that shows the time of base and runs with it.
func NewVirtual(base Clock) *Virtual {
	return &Virtual{base: base, state: In(base)}
}

// NewManual returns a clock that is frozen at the given time: the clock of tests.
func NewManual(at time.Time) *Virtual {
	v := NewVirtual(Real{})
	v.state.At, v.state.Rate = clamp(at), 0
	return v
}

// Now returns the clock's time, in UTC and without a monotonic reading.
func (v *Virtual) Now() time.Time {
	v.lock()
	defer v.unlock()
	return v.now()
}

// lock takes v.mu, and that of the base, and of its base. The order is always this one.
func (v *Virtual) lock() {
	v.mu.Lock()
	if base, ok := v.base.(*Virtual); ok {
		base.lock()
	}
}

func (v *Virtual) unlock() {
	if base, ok := v.base.(*Virtual); ok {
		base.unlock()
	}
	v.mu.Unlock()
}

// After implements Clock.
func (v *Virtual) After(d time.Duration) (c <-chan time.Time, stop func()) {
	v.lock()
	return v.send(v.now().Add(d))
}

// At is After, up to a moment.
func (v *Virtual) At(t time.Time) (c <-chan time.Time, stop func()) {
	v.lock()
	return v.send(t)
}

// send sends the time once it is t. The caller holds the lock, which send releases.
func (v *Virtual) send(t time.Time) (c <-chan time.Time, stop func()) {
	ch := make(chan time.Time, 1)
	return ch, v.add(t, func(now time.Time) { ch <- now })
}

func (v *Virtual) afterFunc(d time.Duration, f func()) (stop func()) {
	v.lock()
	return v.add(v.now().Add(d), func(time.Time) { f() })
}

// Freeze stops the clock at its present time.
func (v *Virtual) Freeze() {
	v.change(func(s *State) { s.Rate = 0 })
}

// Resume lets a frozen clock run on from where it stands, as fast as its base. A running one is left alone.
func (v *Virtual) Resume() {
	v.change(func(s *State) {
		if s.Rate == 0 {
			s.Rate = 1
		}
	})
}

// Set puts the clock to t. Frozen or running, it stays so.
func (v *Virtual) Set(t time.Time) {
	v.change(func(s *State) { s.At = clamp(t) })
}

// Advance puts the clock on by d, or back where d is negative.
func (v *Virtual) Advance(d time.Duration) {
	v.change(func(s *State) { s.At = clamp(s.At.Add(d)) })
}

// SetRate lets the clock run at rate times the speed of its base from now on; 0 freezes it. A rate that is
// negative, above MaxRate or no number is a *RateError, and nothing changes.
func (v *Virtual) SetRate(rate float64) error {
	if err := checkRate(rate); err != nil {
		return err
	}
	v.change(func(s *State) { s.Rate = rate })
	return nil
}

// State returns what Restore needs to let a clock run on, counted from the present moment.
func (v *Virtual) State() State {
	v.lock()
	defer v.unlock()
	return v.rebased()
}

// Restore makes the clock the one that s describes. A clock that ran when s was taken has run ever since, in
// its own speed, for as long as the base tells. A rate that SetRate refuses is refused here as well.
func (v *Virtual) Restore(s State) error {
	if err := checkRate(s.Rate); err != nil {
		return err
	}
	v.change(func(mine *State) { *mine = State{At: clamp(s.at(mine.Mark)), Mark: mine.Mark, Rate: s.Rate} })
	return nil
}

// Base returns the clock that v derives its time from.
func (v *Virtual) Base() Clock {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.base
}

// Rebase makes the clock the one that s describes over another base, as Restore does over the one that it
// has. With the state In(base) it shows what base shows. Its timers stay. No clock may become its own base.
func (v *Virtual) Rebase(base Clock, s State) error {
	if err := checkRate(s.Rate); err != nil {
		return err
	}
	v.lock()
	v.release()
	if old, ok := v.base.(*Virtual); ok {
		old.unlock()
	}
	v.base = base
	if base, ok := base.(*Virtual); ok {
		base.lock()
	}
	now := v.baseNow().Round(0)
	v.state = State{At: clamp(s.at(now)), Mark: now, Rate: s.Rate}
	v.fireDue()
	return nil
}

// In is the state of a clock that shows the time of its base and runs with it.
func In(base Clock) State {
	now := base.Now().Round(0)
	return State{At: clamp(now), Mark: now, Rate: 1}
}

func checkRate(rate float64) error {
	if rate >= 0 && rate <= MaxRate {
		return nil
	}
	return &RateError{rate} // NaN, too
}

// now returns the clock's time. The caller holds the lock.
func (v *Virtual) now() time.Time { return v.state.at(v.baseNow()) }

// baseNow returns the base's time. The caller holds the lock.
func (v *Virtual) baseNow() time.Time {
	if base, ok := v.base.(*Virtual); ok {
		return base.now()
	}
	return v.base.Now()
}

// rebased returns the state counted from the present moment. The caller holds the lock.
func (v *Virtual) rebased() State {
	now := v.baseNow().Round(0)
	return State{At: v.state.at(now), Mark: now, Rate: v.state.Rate}
}

// change applies f to the state, counted from the present moment, and fires what is due then.
func (v *Virtual) change(f func(*State)) {
	v.lock()
	v.state = v.rebased()
	f(&v.state)
	v.fireDue()
}

// wake is what the timer of the base calls.
func (v *Virtual) wake() {
	v.lock()
	v.fireDue()
}

// fireDue takes out the waiters that are due, arms the timer for the next one, releases the lock, which the
// caller holds, and only then fires: a waiter may belong to a clock that has this one as its base and asks it
// for the time.
func (v *Virtual) fireDue() {
	now := v.now()
	n := sort.Search(len(v.waiters), func(i int) bool { return v.waiters[i].deadline.After(now) })
	due := slices.Clone(v.waiters[:n])
	v.waiters = slices.Delete(v.waiters, 0, n)
	v.arm()
	v.unlock()
	for _, w := range due {
		w.fire(now)
	}
}

// add keeps a waiter until the clock has reached its time, or until stop. It fires no other waiter, even one
// that has become due: that one's timer does. The caller holds the lock, which add releases.
func (v *Virtual) add(deadline time.Time, fire func(time.Time)) (stop func()) {
	if now := v.now(); !deadline.After(now) {
		v.unlock()
		fire(now)
		return func() {}
	}
	defer v.unlock()
	w := v.insert(deadline, fire)
	return func() {
		v.lock()
		defer v.unlock()
		v.remove(w)
	}
}

// insert is add without a look at whether the time has come. The caller holds the lock.
func (v *Virtual) insert(deadline time.Time, fire func(time.Time)) *waiter {
	w := &waiter{deadline, fire}
	i := sort.Search(len(v.waiters), func(i int) bool { return v.waiters[i].deadline.After(w.deadline) })
	v.waiters = slices.Insert(v.waiters, i, w)
	if i == 0 {
		v.arm()
	}
	return w
}

// remove takes a waiter out, where it is still there. The caller holds the lock.
func (v *Virtual) remove(w *waiter) {
	i := slices.Index(v.waiters, w)
	if i < 0 {
		return
	}
	v.waiters = slices.Delete(v.waiters, i, i+1)
	if i == 0 {
		v.arm()
	}
}

// arm replaces the timer of the base by one for the first waiter. The caller holds the lock.
func (v *Virtual) arm() {
	v.release()
	if len(v.waiters) == 0 || v.state.Rate == 0 {
		return
	}
	now := v.baseNow()
	left := math.Ceil(float64(v.waiters[0].deadline.Sub(v.state.at(now))) / v.state.Rate)
	// At least a nanosecond: the base must not call back from inside this call. At most an hour: a far
	// deadline costs a rare wake-up, and is not missed for long when the machine has slept or the base was
	// set.
	d := time.Duration(min(max(left, 1), float64(time.Hour)))
	if base, ok := v.base.(*Virtual); ok {
		w := base.insert(now.Add(d), func(time.Time) { v.wake() })
		v.disarm = func() { base.remove(w) }
		return
	}
	v.disarm = AfterFunc(v.base, d, v.wake)
}

// release takes the timer of the base back. The caller holds the lock.
func (v *Virtual) release() {
	if v.disarm != nil {
		v.disarm()
		v.disarm = nil
	}
}

// at returns what a clock in state s reads when its base reads base. It goes by the base's calendar time, not
// by its monotonic reading: that stands still while the machine sleeps, and means nothing in a state that was
// stored.
func (s State) at(base time.Time) time.Time {
	elapsed := base.Round(0).Sub(s.Mark.Round(0))
	switch s.Rate {
	case 0:
		return s.At
	case 1:
		return clamp(s.At.Add(elapsed))
	}
	seconds, rest := math.Modf(elapsed.Seconds() * s.Rate)
	return clamp(time.Unix(s.At.Unix()+int64(seconds), int64(s.At.Nanosecond())+int64(math.Round(rest*1e9))))
}

// clamp keeps t between the first and the last time, in UTC, and takes its monotonic reading away.
func clamp(t time.Time) time.Time {
	switch {
	case t.Before(minTime):
		return minTime
	case t.After(maxTime):
		return maxTime
	}
	return t.Round(0).UTC()
}
