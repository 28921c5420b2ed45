package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store"
)

// limitFlags holds the flags that limit the time and the memory that requests may use.
type limitFlags struct {
	queryTime, scriptTime time.Duration
	memoryInFlight        byteSize
	requests              byteSize // 0: no log
}

// The bounds and defaults of the flags that limit the time and memory of requests. A limit below the
// minimum would refuse requests that every application sends. A request that takes longer than the maximum
// is aborted together with its connection.
const (
	minTime   = 100 * time.Millisecond
	maxTime   = 100 * time.Second
	minMemory = 10 << 20

	defaultRequests = 16 << 20
	maxRequests     = 1 << 30
)

func (l *limitFlags) register(flags *pflag.FlagSet) {
	cli.DurationFlag(flags, &l.queryTime, "query-time", query.DefaultLimit,
		"how long a page of a query, of a list or of a change feed may take, and a write may wait for its "+
			"partition range")
	cli.DurationFlag(flags, &l.scriptTime, "script-time", script.DefaultTime,
		"how long a stored procedure or a trigger may run, and the functions of a query together")
	l.memoryInFlight = store.DefaultMemory
	flags.Var(&l.memoryInFlight, "memory-in-flight",
		"memory for the requests, messages, responses and sorted or grouped rows of all clients; "+
			"one request may use a tenth; at most a quarter of GOMEMLIMIT")
	l.requests = defaultRequests
	flags.Var(&l.requests, "requests-memory",
		"memory for the log of the latest requests, which mayfly requests shows; 0 keeps none")
}

func (l *limitFlags) validate() error {
	for _, t := range []struct {
		flag  string
		value time.Duration
	}{{"query-time", l.queryTime}, {"script-time", l.scriptTime}} {
		if t.value < minTime || t.value > maxTime {
			return cli.Misuse(fmt.Sprintf("--%s %v: must be between %v and %v", t.flag, t.value, minTime,
				maxTime))
		}
	}
	if l.memoryInFlight < minMemory {
		return cli.Misuse(fmt.Sprintf("--memory-in-flight %s: must be at least %s", l.memoryInFlight,
			byteSize(minMemory)))
	}
	if l.requests != 0 && (l.requests < requestlog.MinMemory || l.requests > maxRequests) {
		return cli.Misuse(fmt.Sprintf("--requests-memory %s: must be 0, or between %s and %s", l.requests,
			byteSize(requestlog.MinMemory), byteSize(maxRequests)))
	}
	return nil
}

// byteSize is a flag value in bytes: 512MB, 2GB, or a plain number of bytes. The units are powers of 1024.
type byteSize int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}}

// Type implements pflag.Value: it returns the name of the flag's type in the help, "size".
func (*byteSize) Type() string { return "size" }

// String implements pflag.Value: it formats the size in the largest unit that divides it, such as "64MB".
func (b byteSize) String() string {
	for _, u := range sizeUnits {
		if b != 0 && int64(b)%u.bytes == 0 {
			return strconv.FormatInt(int64(b)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// Set implements pflag.Value.
func (b *byteSize) Set(text string) error {
	number, unit := strings.ToUpper(strings.TrimSpace(text)), int64(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return errors.New("must be a size such as 256MB or 1GB")
	}
	*b = byteSize(n * unit)
	return nil
}
