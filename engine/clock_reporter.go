package engine

import "time"

// DatabaseTimeReporter is an optional interface of a shared engine whose database returns its time with each
// response. Servers that use the time of one database agree on what has expired, even if their own clocks
// differ.
type DatabaseTimeReporter interface {
	// Told returns the latest time that the database has returned, by its own clock. It returns the zero
	// time before the first response. The result is never after the database's current time. Within an
	// Update it is not before the moment at which the scopes were locked.
	Told() time.Time
}
