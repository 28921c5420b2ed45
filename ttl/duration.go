package ttl

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A DurationError refuses a text that is no duration.
type DurationError struct{ Text string }

func (e *DurationError) Error() string {
	return fmt.Sprintf("%q is not a duration such as 90s, 5m, 1h30m or 29d", e.Text)
}

// day is what d stands for in a duration.
const day = 24 * time.Hour

// ParseDuration reads a duration as time.ParseDuration does, and one that begins with a whole number of days,
// "29d" or "1d12h", of 24 hours each. An error is a *DurationError.
func ParseDuration(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, &DurationError{text}
		}
		return d, nil
	}
	n, err := strconv.ParseInt(days, 10, 32)
	if most := int64(1<<63-1) / int64(day); err != nil || n < -most || n > most {
		return 0, &DurationError{text}
	}
	d := time.Duration(n) * day
	if rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || rest[0] == '-' || rest[0] == '+' {
		return 0, &DurationError{text}
	}
	if days[0] == '-' {
		more = -more
	}
	sum := d + more
	if (sum < d) != (more < 0) && more != 0 {
		return 0, &DurationError{text}
	}
	return sum, nil
}
