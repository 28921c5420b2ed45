package engine

import "time"

// Teller is an optional interface of a shared engine whose database tells the time with its answers. Servers
// that take the time from one database agree on what has expired, whatever their own clocks say.
type Teller interface {
	// Told returns the latest time that the database's clock had told in any answer, the zero time before
	// the first. It is never after the database's current time. Within an Update it is not before the moment
	// at which the scopes were locked.
	Told() time.Time
}
