package host

import (
	"errors"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// Servers that share one PostgreSQL database use the database's time. An item that has expired for one server
// must not be live for another one whose own clock is behind, so no result depends on a server's own clock.

// databaseClock estimates the clock of a shared engine's database. Its time is the last time that the
// database has returned, plus the real time that has passed since. It is never ahead of the database.
type databaseClock struct {
	teller engine.DatabaseTimeReporter
	wall   ttl.Clock

	mu   sync.Mutex
	told time.Time // the last time that the database has returned; zero before the first
	at   time.Time // the time of wall when told was received, or later
}

// drift determines by how much the clock is slowed down: it leaves out the part 1/drift, one thousandth, of
// the passed time, because a machine's clock may be faster than the database's.
const drift = 1000

// Now returns the time of the clock. Before the first response of the database it returns this machine's
// time.
func (c *databaseClock) Now() time.Time {
	told := c.teller.Told()
	wall := c.wall.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := wall
	if !c.told.IsZero() {
		passed := max(wall.Sub(c.at), 0)
		now = c.told.Add(passed - passed/drift)
	}
	if told.IsZero() || !c.told.IsZero() && !told.After(now) {
		return now
	}
	c.told, c.at = told, wall
	return told
}

// After returns a channel on which the time is sent once, when the real time d has passed. The second
// result releases the timer early.
func (c *databaseClock) After(d time.Duration) (<-chan time.Time, func()) { return c.wall.After(d) }

// dataClock returns the clock that dates the data of an engine: the clock of the options. If the engine has
// the time of a database (engine.DatabaseTimeReporter), this time replaces the system's clock.
func dataClock(e engine.Engine, o Options) (ttl.Clock, error) {
	teller, ok := e.(engine.DatabaseTimeReporter)
	if !ok {
		return o.Clock, nil
	}
	base := &databaseClock{teller: teller, wall: o.Wall}
	if v, ok := o.Clock.(*ttl.VirtualClock); ok {
		if o.Wall == o.Clock {
			return nil, errors.New("host: Clock and Wall are the same clock")
		}
		return v, v.Rebase(base, v.State())
	}
	return base, nil
}
