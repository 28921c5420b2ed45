package ttl

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"time"
)

// MaxRate is the highest speed of a VirtualClock: more than eleven days per second.
const MaxRate = 1e6

// A VirtualClock derives its time from another clock, its base. It can be frozen, set, advanced and run at
// another speed. It is safe for concurrent use.
//
// Its timers are deadlines in its own time. When Set, Advance or Restore moves the clock past them, they
// fire in the order of their deadlines, before the call returns. When the clock is set back, the timers
// fire later in real time. A frozen clock keeps its timers only in a list. A running clock also has one
// timer of its base, for the earliest of them. There is no goroutine to close.
//
// The time stays between the years 1 and 9999, the range of RFC 3339. The clock itself does not limit how
// far back it may be set; its owner does.
//
// The base may be a VirtualClock, too. Whenever v holds its own lock, it holds the lock of the base as
// well (see lock). Otherwise the base could move past a deadline after v has found it not due and before v
// has set the timer. If the base were then frozen, the timer would never fire.
type VirtualClock struct {
	mu      sync.Mutex
	base    Clock
	state   VirtualClockState
	waiters []*clockTimer // sorted by deadline
	disarm  func()        // stops the timer of the base, or nil
}

// A VirtualClockState is the state of a VirtualClock: its time is At + Rate × (the base's time − Mark). It is
// stored as JSON with the data, so that the clock continues after a restart.
type VirtualClockState struct {
	At   time.Time `json:"at"`
	Mark time.Time `json:"mark"`
	Rate float64   `json:"rate"` // 0: frozen, 1: the speed of the base
}

// A ClockRateError is the error for an invalid speed of a clock. A rate must be from 0 to MaxRate.
type ClockRateError struct{ Rate float64 }

func (e *ClockRateError) Error() string {
	return fmt.Sprintf("the rate of a clock must be from 0 to %g, not %g", float64(MaxRate), e.Rate)
}

// clockTimer is a timer of a VirtualClock.
type clockTimer struct {
	deadline time.Time
	fire     func(now time.Time)
}

var (
	minTime = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// NewVirtualClock returns a clock that has the time of base and runs with it.
func NewVirtualClock(base Clock) *VirtualClock {
	return &VirtualClock{base: base, state: In(base)}
}

// NewManual returns a clock that is frozen at the given time, for tests.
func NewManual(at time.Time) *VirtualClock {
	v := NewVirtualClock(SystemClock{})
	v.state.At, v.state.Rate = clamp(at), 0
	return v
}

// Now returns the clock's time, in UTC and without a monotonic reading.
func (v *VirtualClock) Now() time.Time {
	v.lock()
	defer v.unlock()
	return v.now()
}

// lock locks v.mu, then the lock of its base, and so on, always in this order.
func (v *VirtualClock) lock() {
	v.mu.Lock()
	if base, ok := v.base.(*VirtualClock); ok {
		base.lock()
	}
}

func (v *VirtualClock) unlock() {
	if base, ok := v.base.(*VirtualClock); ok {
		base.unlock()
	}
	v.mu.Unlock()
}

// After returns a channel on which the time is sent once, when this clock has advanced by d. stop releases
// the timer early.
func (v *VirtualClock) After(d time.Duration) (c <-chan time.Time, stop func()) {
	v.lock()
	return v.send(v.now().Add(d))
}

// At returns a channel on which the time is sent once, when the clock has reached t, or immediately if t has
// passed. stop releases the timer early.
func (v *VirtualClock) At(t time.Time) (c <-chan time.Time, stop func()) {
	v.lock()
	return v.send(t)
}

// send returns a channel on which the time is sent once, when the clock has reached t. The caller holds
// the lock, which send releases.
func (v *VirtualClock) send(t time.Time) (c <-chan time.Time, stop func()) {
	ch := make(chan time.Time, 1)
	return ch, v.add(t, func(now time.Time) { ch <- now })
}

func (v *VirtualClock) afterFunc(d time.Duration, f func()) (stop func()) {
	v.lock()
	return v.add(v.now().Add(d), func(time.Time) { f() })
}

// Freeze stops the clock at its current time.
func (v *VirtualClock) Freeze() {
	v.change(func(s *VirtualClockState) { s.Rate = 0 })
}

// Resume lets a frozen clock continue from its current time at the speed of its base. It does nothing if
// the clock is running.
func (v *VirtualClock) Resume() {
	v.change(func(s *VirtualClockState) {
		if s.Rate == 0 {
			s.Rate = 1
		}
	})
}

// Set sets the clock to the time t. A frozen clock stays frozen, a running one continues to run.
func (v *VirtualClock) Set(t time.Time) {
	v.change(func(s *VirtualClockState) { s.At = clamp(t) })
}

// Advance moves the clock forward by d, or back if d is negative.
func (v *VirtualClock) Advance(d time.Duration) {
	v.change(func(s *VirtualClockState) { s.At = clamp(s.At.Add(d)) })
}

// SetRate sets the speed of the clock to rate times the speed of its base; 0 freezes it. If the rate is
// negative, above MaxRate or NaN, it returns a *ClockRateError and changes nothing.
func (v *VirtualClock) SetRate(rate float64) error {
	if err := checkRate(rate); err != nil {
		return err
	}
	v.change(func(s *VirtualClockState) { s.Rate = rate })
	return nil
}

// State returns the current state, from which Restore can continue the clock.
func (v *VirtualClock) State() VirtualClockState {
	v.lock()
	defer v.unlock()
	return v.rebased()
}

// Restore sets the clock to the state s. If the clock was running in that state, it also counts the time
// that has passed since then on the base. Restore returns a *ClockRateError for a rate that SetRate refuses.
func (v *VirtualClock) Restore(s VirtualClockState) error {
	if err := checkRate(s.Rate); err != nil {
		return err
	}
	v.change(func(mine *VirtualClockState) {
		*mine = VirtualClockState{At: clamp(s.at(mine.Mark)), Mark: mine.Mark, Rate: s.Rate}
	})
	return nil
}

// Base returns the clock from which v derives its time.
func (v *VirtualClock) Base() Clock {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.base
}

// When returns the time that this clock shows at the moment at which its base shows t. If the base is a
// virtual clock too, t is the time of the first base below it that is not virtual.
func (v *VirtualClock) When(t time.Time) time.Time {
	v.lock()
	defer v.unlock()
	return v.when(t)
}

// when returns the clock's time at the moment at which its base shows t. If the base is a virtual clock too,
// t is the time of the first base below it that is not virtual. The caller holds the lock.
func (v *VirtualClock) when(t time.Time) time.Time {
	if base, ok := v.base.(*VirtualClock); ok {
		t = base.when(t)
	}
	return v.state.at(t)
}

// Rebase makes base the clock from which v computes its time, and then sets v to the state s, as Restore does
// without a change of the base. The state In(base) makes v show the time of base. Timers of v are kept. A
// clock must not become its own base. Rebase returns a *ClockRateError for a rate that SetRate refuses.
func (v *VirtualClock) Rebase(base Clock, s VirtualClockState) error {
	if err := checkRate(s.Rate); err != nil {
		return err
	}
	v.lock()
	v.release()
	if old, ok := v.base.(*VirtualClock); ok {
		old.unlock()
	}
	v.base = base
	if base, ok := base.(*VirtualClock); ok {
		base.lock()
	}
	now := v.baseNow().Round(0)
	v.state = VirtualClockState{At: clamp(s.at(now)), Mark: now, Rate: s.Rate}
	v.fireDue()
	return nil
}

// In returns the state of a clock that shows the time of base and runs at the same speed.
func In(base Clock) VirtualClockState {
	now := base.Now().Round(0)
	return VirtualClockState{At: clamp(now), Mark: now, Rate: 1}
}

func checkRate(rate float64) error {
	if rate >= 0 && rate <= MaxRate {
		return nil
	}
	return &ClockRateError{rate} // also for NaN
}

// now returns the clock's time. The caller holds the lock.
func (v *VirtualClock) now() time.Time { return v.state.at(v.baseNow()) }

// baseNow returns the time of the base, the clock from which v derives its own time. The caller holds the
// lock.
func (v *VirtualClock) baseNow() time.Time {
	if base, ok := v.base.(*VirtualClock); ok {
		return base.now()
	}
	return v.base.Now()
}

// rebased returns an equal state of the clock that starts at the current moment: the time that the clock
// shows now, the time of its base now, and its rate. The caller holds the lock.
func (v *VirtualClock) rebased() VirtualClockState {
	now := v.baseNow().Round(0)
	return VirtualClockState{At: v.state.at(now), Mark: now, Rate: v.state.Rate}
}

// change rewrites the state of the clock so that it counts from the current moment, lets f modify that
// state, and fires the timers that are then due.
func (v *VirtualClock) change(f func(*VirtualClockState)) {
	v.lock()
	v.state = v.rebased()
	f(&v.state)
	v.fireDue()
}

// wake is called by the timer of the base: it fires the timers that are due.
func (v *VirtualClock) wake() {
	v.lock()
	v.fireDue()
}

// fireDue removes the timers that are due and sets the timer of the base for the next one. It releases the
// lock, which the caller holds, before it fires the timers: a timer may belong to a clock whose base is v,
// and may read the time of v.
func (v *VirtualClock) fireDue() {
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

// add adds a timer, which is kept until the clock has reached its deadline or until stop is called. It fires
// no other timer, even if one has become due. The caller holds the lock, which add releases.
func (v *VirtualClock) add(deadline time.Time, fire func(time.Time)) (stop func()) {
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

// insert adds a timer without a check whether its deadline has passed. The caller holds the lock.
func (v *VirtualClock) insert(deadline time.Time, fire func(time.Time)) *clockTimer {
	w := &clockTimer{deadline, fire}
	i := sort.Search(len(v.waiters), func(i int) bool { return v.waiters[i].deadline.After(w.deadline) })
	v.waiters = slices.Insert(v.waiters, i, w)
	if i == 0 {
		v.arm()
	}
	return w
}

// remove removes a timer if it has not fired. The caller holds the lock.
func (v *VirtualClock) remove(w *clockTimer) {
	i := slices.Index(v.waiters, w)
	if i < 0 {
		return
	}
	v.waiters = slices.Delete(v.waiters, i, i+1)
	if i == 0 {
		v.arm()
	}
}

// arm sets the clock's only timer on its base (the clock from which it derives its time), for the moment at
// which the first timer of this clock is due, or for at most an hour. The caller holds the lock.
func (v *VirtualClock) arm() {
	v.release()
	if len(v.waiters) == 0 || v.state.Rate == 0 {
		return
	}
	now := v.baseNow()
	left := math.Ceil(float64(v.waiters[0].deadline.Sub(v.state.at(now))) / v.state.Rate)
	// At least a nanosecond: the base must not call back during this call. At most an hour: a distant
	// deadline then costs a rare wake-up, but fires soon after the machine has slept or the base was set.
	d := time.Duration(min(max(left, 1), float64(time.Hour)))
	if base, ok := v.base.(*VirtualClock); ok {
		w := base.insert(now.Add(d), func(time.Time) { v.wake() })
		v.disarm = func() { base.remove(w) }
		return
	}
	v.disarm = AfterFunc(v.base, d, v.wake)
}

// release stops the timer that v has set on its base, the clock from which it derives its time. The caller
// holds the lock.
func (v *VirtualClock) release() {
	if v.disarm != nil {
		v.disarm()
		v.disarm = nil
	}
}

// at returns the time of a clock in state s when the time of its base is base. It uses the base's
// wall-clock time, not its monotonic reading, which stops while the machine sleeps and is meaningless in
// a stored state.
func (s VirtualClockState) at(base time.Time) time.Time {
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

// clamp limits t to the range from minTime to maxTime, in UTC, and removes its monotonic reading.
func clamp(t time.Time) time.Time {
	switch {
	case t.Before(minTime):
		return minTime
	case t.After(maxTime):
		return maxTime
	}
	return t.Round(0).UTC()
}
