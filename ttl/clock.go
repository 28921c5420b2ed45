package ttl

import "time"

// A Clock returns the time and provides timers. All code of Mayfly gets the time from a Clock; only
// this file reads the system's clock.
type Clock interface {
	Now() time.Time
	// After returns a channel on which the time is sent once, when the clock has reached Now()+d, or
	// immediately if d <= 0. stop releases the timer early. It may be called at any time and more than
	// once.
	After(d time.Duration) (c <-chan time.Time, stop func())
}

// SystemClock is the system's clock. Its Now includes the monotonic reading, so that differences are right
// even when the system's time is set.
type SystemClock struct{}

// Now returns the system's time.
func (SystemClock) Now() time.Time { return time.Now() }

// After returns a channel on which the time is sent once, after d by the system's clock. stop releases the
// timer early.
func (SystemClock) After(d time.Duration) (c <-chan time.Time, stop func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

func (SystemClock) afterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

// A callbackTimerClock can call a function instead of sending on a channel, which saves a waiting goroutine.
// Both clocks of this package implement it. They call f without holding a lock.
type callbackTimerClock interface {
	afterFunc(d time.Duration, f func()) (stop func())
}

// AfterFunc calls f once when c has reached c.Now()+d, unless stop is called before. For a clock of
// another package it starts a goroutine, which ends with the timer or with stop. If a VirtualClock has
// reached that time already, f runs before AfterFunc returns, so the caller must hold no lock that f
// takes.
func AfterFunc(c Clock, d time.Duration, f func()) (stop func()) {
	if c, ok := c.(callbackTimerClock); ok {
		return c.afterFunc(d, f)
	}
	fired, release := c.After(d)
	quit := make(chan struct{})
	go func() {
		select {
		case <-fired:
			f()
		case <-quit:
		}
	}()
	return func() {
		release()
		close(quit)
	}
}

// At returns a channel on which the time is sent once, when c has reached t, or immediately if t has
// passed. To wait for a moment, use At instead of After: if a clock is moved between the calls of Now and
// After, After fires late.
func At(c Clock, t time.Time) (fires <-chan time.Time, stop func()) {
	if v, ok := c.(*VirtualClock); ok {
		return v.At(t)
	}
	return c.After(t.Sub(c.Now()))
}
