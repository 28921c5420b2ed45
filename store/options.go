package store

import (
	"log/slog"
	"time"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// Options configure a DB. The zero value is a good default.
type Options struct {
	// Clock is the data clock: it drives _ts, expiry and the reaper. Nil is the system's clock. With a
	// *ttl.Virtual the clock can be moved by SetClock, and its state is kept with the data.
	Clock ttl.Clock
	// Wall tells real time, which bounds how long a page of a query, a script or a look over a whole
	// container may take. Nil is the system's clock.
	Wall ttl.Clock
	// QueryTime is how long a page of a query, of a list or of a change feed may take. One that can be
	// resumed ends after 5 seconds, or half of it, with what it has; what cannot be resumed fails with
	// CodeCanceled. So long a write waits for its partition range, too. Default: 30 s.
	QueryTime time.Duration
	// ScriptTime is how long a script may run, and all calls of functions that a query makes together.
	// Default: 5 s.
	ScriptTime time.Duration
	// Memory is how many bytes all requests may hold while they are under way: see Memory. Default:
	// DefaultMemory, and never more than a quarter of GOMEMLIMIT.
	Memory int64
	// Temp is a folder for what queries sort, group and tell apart beyond that memory, and of what they have
	// made for later pages: it is the store's alone, and what it finds there at the beginning it removes.
	// Empty: such queries fail, as they do for data that is kept in memory.
	Temp string
	// TempSize is how many bytes the files there may take together. Default: 16 GB.
	TempSize int64
	// Logger takes warnings and errors of background work; nil discards them.
	Logger *slog.Logger
	// Ranges is the number of partition ranges of a new container. 0 derives it from the throughput asked
	// for: one up to 10,000 RU/s, ceil(RU / 6,000) above.
	Ranges int
	// FirstNumber is the number with which the resource ids of fresh data begin, up to 1<<23; 0 is 1. Ids of
	// partition ranges begin with it, too, but for that of a container's only range, which is 0. A server in
	// memory takes another one at each start: then no id that a client has kept names something else.
	FirstNumber uint32
	// Lenient sorts for an ORDER BY over several paths that no composite index serves, and takes the texts of
	// queries that syntax.ParseLenient does; else both are refused, as Cosmos DB does.
	Lenient bool
	// TTLPreviousImage keeps the last version of an item that has expired in the entry that its purge leaves
	// in the feed of all versions; else such an entry has the item's key alone, as Cosmos DB's has.
	TTLPreviousImage bool
	// ContinuousBackup has containers that are made keep the feed of all versions and deletes for seven days
	// where their own policy has no retention, as an account with continuous backup does. SetContinuousBackup
	// changes it.
	ContinuousBackup bool
	// ManualReaper runs no background loop: expired items are purged by SweepNow alone. No answer depends
	// on it.
	ManualReaper bool
}

const defaultTempSize = 16 << 30

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = ttl.Real{}
	}
	if o.Wall == nil {
		o.Wall = ttl.Real{}
	}
	if o.QueryTime <= 0 {
		o.QueryTime = query.DefaultLimit
	}
	if o.TempSize <= 0 {
		o.TempSize = defaultTempSize
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	return checkRanges(o.Ranges)
}

// checkRanges checks how many partition ranges are asked for; 0 leaves it open.
func checkRanges(n int) error {
	if n < 0 || n > layout.MaxSlots {
		return fault.New(fault.CodeBadRequest, "The number of partition ranges must be between 1 and 4096.")
	}
	return nil
}

// ContainerOptions are what can be chosen of a new container beside its settings.
type ContainerOptions struct {
	Throughput definition.Throughput
	// Ranges is the number of its partition ranges, up to 4,096. 0 leaves it to Options.Ranges and the
	// throughput.
	Ranges int
}
