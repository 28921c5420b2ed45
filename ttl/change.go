package ttl

import (
	"fmt"
	"time"
)

// A Change is what is asked of a Virtual clock. Its members apply in their order here; what is nil or false
// changes nothing.
type Change struct {
	Real    bool           // to the system's time, running with it
	Set     *time.Time     // to this moment
	Advance *time.Duration // by this much; not negative
	Rate    *float64       // to this many times the speed of the system's clock, up to MaxRate; 0 stops it
	Freeze  *bool          // true stops the clock, false lets a stopped one run on from where it is
}

// A ChangeError refuses a Change. Its text says why, for who asked for it.
type ChangeError struct{ Reason string }

func (e *ChangeError) Error() string { return e.Reason }

// Back reports whether the change can set a clock back.
func (c *Change) Back() bool { return c.Set != nil || c.Real }

// Apply works out the state that a clock gets which is in state s; real is that of the system's clock. It
// fails with a *ChangeError.
func (c *Change) Apply(s, real State) (State, error) {
	if c.Advance != nil && *c.Advance < 0 {
		return s, &ChangeError{"The clock cannot be advanced by a negative duration: set it to a moment instead ('set', --set)."}
	}
	if c.Rate != nil && !(*c.Rate >= 0 && *c.Rate <= MaxRate) {
		return s, &ChangeError{fmt.Sprintf("The rate of a clock must be from 0 to %.0f.", float64(MaxRate))}
	}
	if c.Rate != nil && c.Freeze != nil && *c.Freeze != (*c.Rate == 0) {
		return s, &ChangeError{"'rate' and 'freeze' contradict each other."}
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
		return s, &ChangeError{"The clock shows the years 1970 to 9999."}
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
