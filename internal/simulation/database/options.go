package database

import (
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// Options configure a Database. With the zero value, it responds at once and never fails.
type Options struct {
	Clock   ttl.Clock // the database's clock, by which exchanges take time, too; nil: the system's
	Seed    uint64    // of everything that is random
	Network NetworkConditions
	Load    OperationDurations
	Defects InjectedDefects
	// Committed is called for each commit, in the order of the commits; nil: not called. It must not call the
	// database.
	Committed func(CommitRecord)
	// Exchanged is called after each exchange, and before each notification that a server receives. nil: not
	// called. It must not call the database.
	Exchanged func(NetworkExchange)
}

// NetworkExchange describes a finished request of a server to the database and its response, or a
// notification that the database has sent.
type NetworkExchange struct {
	Server    string // the name of the server's engine
	Operation NetworkExchangeKind
	Keys      [][]byte // what it is about: keys that are read, otherwise scopes
	Version   uint64   // the number of changes of the data before its execution; 0: it was not executed
	Err       error    // why it failed, as the server learns it
}

// NetworkExchangeKind is the purpose of an exchange.
type NetworkExchangeKind string

// The purposes of exchanges between a server and the simulated database.
const (
	ExchangeBegin   NetworkExchangeKind = "begin"   // of a transaction
	ExchangeRead    NetworkExchangeKind = "read"    // of keys
	ExchangePage    NetworkExchangeKind = "page"    // of a scan that continues after a key
	ExchangeCommit  NetworkExchangeKind = "commit"  // of a transaction
	ExchangeOutcome NetworkExchangeKind = "outcome" // of a commit, which the server queries
	ExchangeAwait   NetworkExchangeKind = "await"   // a request for notifications
	ExchangeNotify  NetworkExchangeKind = "notify"  // a notification
)

// NetworkConditions are the delays and failures of the connections between servers and the database.
type NetworkConditions struct {
	MinDelay, MaxDelay time.Duration // of one request or response

	// LostRequest, LostAnswer, LateCommit and LostReport are the probabilities, from 0 to 1, that something
	// goes wrong in an exchange (a request to the database and its response, or a notification). With
	// LostRequest the connection breaks before the request arrives.
	LostRequest float64 // the connection breaks before the request arrives
	LostAnswer  float64 // the connection breaks after the request was executed
	LateCommit  float64 // the connection breaks, and the commit that was sent is executed later
	LostReport  float64 // a notification does not arrive
}

// OperationDurations is the time that operations take in the database.
type OperationDurations struct {
	Commit time.Duration // to make a commit durable; commits of different scopes do not wait for each other
	Cores  int           // number of processors; 0: operations need none
	Row    time.Duration // processor time for each row that is written
	Trip   time.Duration // processor time for each exchange
}

// InjectedDefects are violations of the rules that an engine guarantees. Tests use them to check that the
// simulation detects a violation.
type InjectedDefects struct {
	// StampWithCommit writes the stamp, by which the outcome of a commit is determined, at the commit
	// instead of at the beginning of the transaction. Then a commit that is still being sent counts as
	// rolled back.
	StampWithCommit bool
	// NoScopeLocks lets transactions of one scope overlap.
	NoScopeLocks bool
	// LoseOnFail loses the commits of this last period in each outage, as an asynchronous standby does.
	LoseOnFail time.Duration
	// OwnTime makes servers use the time of their own clocks instead of the database's clock.
	OwnTime bool
	// TornCommits makes the second half of a commit visible later than the first.
	TornCommits bool
	// Hidden hides keys from the reads of Updates; nil: none.
	Hidden func(key []byte) bool `json:"-"`
	// Silent makes the database send no notifications of commits to the servers.
	Silent bool
}

// CommitRecord records which server has committed a transaction, when, and which LSNs it took.
type CommitRecord struct {
	Server string // the name of the server's engine
	At     time.Time
	LSNs   []LSNRange
}

// LSNRange is the range of LSNs that a transaction has taken from an engine scope: from First up to, but
// not including, Next.
type LSNRange struct {
	Scope       string
	First, Next uint64
}

// The time limits of one exchange (a request to the database and its response), by the server's clock. They
// are those of engine/postgres.
const (
	beginLimit  = 6 * time.Second
	readLimit   = 5 * time.Second
	commitLimit = 8 * time.Second
	// outageLimit is the time for which operations are retried while the database is unavailable, and for
	// which the outcome of a commit is queried.
	outageLimit = 10 * time.Second
	// idleLimit is the time after which the database ends a transaction whose server sends nothing.
	idleLimit = 5 * time.Second
	// deadlockTime is the time for which a transaction waits for a row before it is rolled back.
	deadlockTime = time.Second
	// lateBy is the time between the loss of the connection and the execution of a late commit.
	lateBy = 300 * time.Millisecond

	maxGroup = 64 // maximum number of functions that run in one transaction
	pageSize = 64 // keys that an iterator fetches in one exchange
)
