package ttl

import (
	"fmt"
	"time"
)

// A ClockChangeRequest is a request to change a VirtualClock. Its fields are applied in the order below. A
// nil or false field changes nothing.
type ClockChangeRequest struct {
	Real    bool           // to the system's time, at which it continues to run
	Set     *time.Time     // to this time
	Advance *time.Duration // by this duration; not negative
	Rate    *float64       // to this multiple of the speed of the system's clock, up to MaxRate; 0 stops it
	Freeze  *bool          // true stops the clock; false lets a stopped clock continue from its time
}

// An InvalidClockChangeError is the error for an invalid ClockChangeRequest. Its text is for the client.
type InvalidClockChangeError struct{ Reason string }

func (e *InvalidClockChangeError) Error() string { return e.Reason }

// Back reports whether the change may set a clock back.
func (c *ClockChangeRequest) Back() bool { return c.Set != nil || c.Real }

// Apply returns the state of a clock after the change; s is its state before, and real is the state of
// the system's clock. The error is a *InvalidClockChangeError.
func (c *ClockChangeRequest) Apply(s, real VirtualClockState) (VirtualClockState, error) {
	if c.Advance != nil && *c.Advance < 0 {
		return s, &InvalidClockChangeError{"The clock cannot be advanced by a negative duration: " +
			"set it to a moment instead ('set', --set)."}
	}
	if c.Rate != nil && !(*c.Rate >= 0 && *c.Rate <= MaxRate) {
		return s, &InvalidClockChangeError{fmt.Sprintf("The rate of a clock must be from 0 to %.0f.",
			float64(MaxRate))}
	}
	if c.Rate != nil && c.Freeze != nil && *c.Freeze != (*c.Rate == 0) {
		return s, &InvalidClockChangeError{"'rate' and 'freeze' contradict each other."}
	}
	if c.Real {
		s = real
	}
	if c.Set != nil {
		s.At = *c.Set
	}
	if c.Advance != nil {
		s.At = s.At.Add(*c.Advance)
	}
	if y := s.At.Year(); y > 9999 || y < 1970 {
		return s, &InvalidClockChangeError{"The clock shows the years 1970 to 9999."}
	}
	switch {
	case c.Rate != nil:
		s.Rate = *c.Rate
	case c.Freeze != nil && *c.Freeze:
		s.Rate = 0
	case c.Freeze != nil && s.Rate == 0:
		s.Rate = 1
	}
	return s, nil
}
