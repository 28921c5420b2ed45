package cli

import (
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/ttl"
)

// durationFlag is a flag value in any form that ttl.ParseDuration accepts.
type durationFlag time.Duration

// DurationFlag adds a duration flag.
func DurationFlag(flags *pflag.FlagSet, to *time.Duration, name string, value time.Duration, usage string) {
	*to = value
	flags.Var((*durationFlag)(to), name, usage)
	if value == 0 {
		flags.Lookup(name).DefValue = "0" // help omits a default of 0
	}
}

func (d *durationFlag) Set(text string) error {
	parsed, err := ttl.ParseDuration(text)
	if err == nil {
		*d = durationFlag(parsed)
	}
	return err
}

func (d *durationFlag) String() string { return ttl.FormatDuration(time.Duration(*d)) }
func (d *durationFlag) Type() string   { return "duration" }

// ParseTTL parses a default time to live: a number of seconds, a duration of whole seconds, never, or off,
// which gives nil.
func ParseTTL(text string) (*int64, error) {
	switch text {
	case "off":
		return nil, nil
	case "never":
		never := int64(-1)
		return &never, nil
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil { // the server refuses 0 and negative numbers
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
