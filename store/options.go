package store

import (
	"log/slog"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// ServerInfo describes a server to the other servers that share its data, and to their clients.
type ServerInfo = host.ServerInfo

// Options configure a DB. The zero value is a good default.
type Options struct {
	// Clock is the data clock: it determines _ts, expiry and the reaper. Nil means the system's clock. A
	// *ttl.VirtualClock can be moved by SetClock, and its state is stored with the data.
	Clock ttl.Clock
	// Wall is the real time. It limits how long a page of a query, a script or an inspection of a whole
	// container may take. Nil means the system's clock. It must not be the same clock as Clock if the
	// data is in PostgreSQL.
	Wall ttl.Clock
	// QueryTime is the time limit for a page of a query, of a list or of a change feed. A page that can be
	// resumed ends after 5 seconds, or half of QueryTime if that is less, with the rows it has. A page that
	// cannot be resumed fails with CodeCanceled. QueryTime also limits how long a write waits for its
	// partition range. Default: 30 s.
	QueryTime time.Duration
	// ScriptTime is the time limit for a script, and for all function calls of a query together. Default: 5
	// s.
	ScriptTime time.Duration
	// Memory is the number of bytes that all running requests may hold together: see MemoryBudget. Default:
	// DefaultMemory. Memory is capped at a quarter of GOMEMLIMIT.
	Memory int64
	// Temp is a folder for the rows that queries sort, group and deduplicate if these do not fit in Memory,
	// and for rows that queries have computed for later pages. No one else may use the folder: the store
	// removes all files in it at the start. If Temp is empty, queries that exceed Memory fail.
	Temp string
	// TempSize is the maximum size of the files in Temp together, in bytes. Default: 16 GB.
	TempSize int64
	// Logger receives warnings and errors of background work; nil discards them.
	Logger *slog.Logger
	// Ranges is the number of partition ranges of a new container. If it is 0, the number follows from the
	// throughput: one up to 10,000 RU/s, ceil(RU / 6,000) above.
	Ranges int
	// FirstNumber is the number with which the resource ids of new data begin, up to 1<<23; 0 means 1. The
	// ids of partition ranges begin with it, too, except for the id of a container's only range, which is
	// 0. A server in memory uses another number at each start, so that an id kept by a client never names
	// something else.
	FirstNumber uint32
	// Lenient sorts for an ORDER BY over several paths without a composite index, and accepts the query
	// texts that syntax.ParseLenient accepts. Without it both are refused, as in Cosmos DB.
	Lenient bool
	// TTLPreviousImage adds the last version of an expired item to its entry in the feed of all versions.
	// Without it the entry has only the item's key, as in Cosmos DB.
	TTLPreviousImage bool
	// ContinuousBackup applies to containers created while it is set: they keep the feed of all versions
	// and deletes for seven days if their own policy has no retention, as an account with continuous backup
	// does. SetContinuousBackup changes it.
	ContinuousBackup bool
	// Server describes this server in the list of servers that share the data.
	Server ServerInfo
	// ManualReaper starts no background loop of the reaper: only SweepNow and Reap purge expired items.
	// Reads do not depend on it.
	ManualReaper bool
}

const defaultTempSize = 16 << 30

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = ttl.SystemClock{}
	}
	if o.Wall == nil {
		o.Wall = ttl.SystemClock{}
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

// checkRanges checks a requested number of partition ranges; 0 means unspecified.
func checkRanges(n int) error {
	if n < 0 || n > layout.MaxRanges {
		return fault.New(fault.CodeBadRequest, "The number of partition ranges must be between 1 and 4096.")
	}
	return nil
}

// ContainerOptions are the options of a new container besides its spec.
type ContainerOptions struct {
	Throughput definition.Throughput
	// Ranges is the number of its partition ranges, up to 4,096. If it is 0, Options.Ranges and the
	// throughput decide.
	Ranges int
}
