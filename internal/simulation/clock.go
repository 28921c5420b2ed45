package simulation

import (
	"time"

	"github.com/mayflydb/mayfly/internal/simulation/database"
	"github.com/mayflydb/mayfly/ttl"
)

// machineClock is the clock of one server's machine. It differs from the database's clock by a constant and
// by its rate. Timers that end while the server is paused fire when it continues.
type machineClock struct {
	base   ttl.Clock
	since  time.Time
	offset time.Duration
	rate   float64 // seconds of this clock per second of the base
	engine *database.Engine
	// deaf makes timers fail: a timer with at most this duration never fires. With 0, all timers with a
	// positive duration fire.
	deaf time.Duration
}

// Now returns the time of the clock.
func (m *machineClock) Now() time.Time {
	passed := m.base.Now().Sub(m.since)
	return m.since.Add(m.offset + time.Duration(float64(passed)*m.rate))
}

// After returns a channel on which the time is sent once, after d: see ttl.Clock.
func (m *machineClock) After(d time.Duration) (<-chan time.Time, func()) {
	fires := make(chan time.Time, 1)
	if m.deaf > 0 && d <= m.deaf {
		return fires, func() {}
	}
	stopped := make(chan struct{})
	disarm := ttl.AfterFunc(m.base, time.Duration(float64(d)/m.rate)+1, func() {
		m.engine.Running(stopped)
		fires <- m.Now()
	})
	return fires, func() {
		disarm()
		select {
		case <-stopped:
		default:
			close(stopped)
		}
	}
}
