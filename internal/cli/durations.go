package cli

import (
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/ttl"
)

// duration is a flag's value in any form that ttl.ParseDuration reads.
type duration time.Duration

// DurationFlag adds a flag for a duration.
func DurationFlag(flags *pflag.FlagSet, to *time.Duration, name string, value time.Duration, usage string) {
	*to = value
	flags.Var((*duration)(to), name, usage)
	if value == 0 {
		flags.Lookup(name).DefValue = "0" // which help leaves out
	}
}

func (d *duration) Set(text string) error {
	parsed, err := ttl.ParseDuration(text)
	if err == nil {
		*d = duration(parsed)
	}
	return err
}

func (d *duration) String() string { return ttl.FormatDuration(time.Duration(*d)) }
func (d *duration) Type() string   { return "duration" }

// ParseTTL reads a default time to live as people write it: a number of seconds, a duration of whole seconds,
// never, or off, which is nil.
func ParseTTL(text string) (*int64, error) {
	switch text {
	case "off":
		return nil, nil
	case "never":
		never := int64(-1)
		return &never, nil
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil { // 0 and below are the server's to refuse
		return &n, nil
	}
	d, err := ttl.ParseDuration(text)
	n := int64(d / time.Second)
	if err != nil || n < 1 || n > math.MaxInt32 || d%time.Second != 0 {
		return nil, Misuse("the TTL must be a number of seconds, a duration such as 90s, 12h, 30d or PT1H, " +
			"never or off, not " + text)
	}
	return &n, nil
}
