package ttl

import "time"

// A Clock tells the time and wakes sleepers. Everything in the database that asks for the time asks a Clock;
// this file is the only one that asks the system.
type Clock interface {
	Now() time.Time
	// After returns a channel on which the time is sent once, when the clock has reached Now()+d; with d <= 0
	// that is at once. stop releases the timer early; it may be called at any time and more than once.
	After(d time.Duration) (c <-chan time.Time, stop func())
}

// Real is the system's clock. Its Now carries the monotonic reading, so that differences are not disturbed
// when the system's time is set.
type Real struct{}

// Now returns the system's time.
func (Real) Now() time.Time { return time.Now() }

// After implements Clock.
func (Real) After(d time.Duration) (c <-chan time.Time, stop func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

func (Real) afterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

// A callbackClock can call a function instead of sending on a channel, which spares a waiting goroutine. Both
// clocks of this package are. f runs without any lock of the clock.
type callbackClock interface {
	afterFunc(d time.Duration, f func()) (stop func())
}

// AfterFunc calls f once when c has reached c.Now()+d, unless stop is called before. The goroutine that a
// foreign clock costs ends with the timer or with stop.
func AfterFunc(c Clock, d time.Duration, f func()) (stop func()) {
	if c, ok := c.(callbackClock); ok {
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

// At returns a channel on which the time is sent once, when c has reached t; where that is past, at once.
// Whoever waits for a moment asks for it so: a clock that is moved between a reading of Now and a call of
// After makes After late.
func At(c Clock, t time.Time) (fires <-chan time.Time, stop func()) {
	if v, ok := c.(*Virtual); ok {
		return v.At(t)
	}
	return c.After(t.Sub(c.Now()))
}
