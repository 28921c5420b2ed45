package database

import (
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// Options configure a Database. The zero value answers at once and never fails.
type Options struct {
	Clock   ttl.Clock // the database's, also for the duration of exchanges; nil: the system's
	Seed    uint64    // of everything that is random
	Network Network
	Load    Load
	Defects Defects
	// Committed is called for each commit, in the order of the commits; nil: not called. It must not call the
	// database.
	Committed func(Commit)
}

// Network is the connection between servers and the database.
type Network struct {
	MinDelay, MaxDelay time.Duration // of one request or answer

	// The probabilities that something goes wrong in an exchange, each from 0 to 1.
	LostRequest float64 // the connection breaks before the request arrives
	LostAnswer  float64 // the connection breaks after the request was executed
	LateCommit  float64 // the connection breaks, and the commit that was sent is executed later
	LostReport  float64 // a notification does not arrive
}

// Load is what work costs in the database.
type Load struct {
	Commit time.Duration // to make a commit durable; commits of different scopes do not wait for each other
	Cores  int           // processors; 0: work costs no processor
	Row    time.Duration // of a processor, for each row that is written
	Trip   time.Duration // of a processor, for each exchange
}

// Defects are violations of the rules.
type Defects struct {
	// StampWithCommit writes the number by which a lost commit is found with the commit instead of with the
	// beginning of the transaction: a commit that is still under way counts as lost for ever.
	StampWithCommit bool
	// NoScopeLocks lets transactions of one scope overlap.
	NoScopeLocks bool
	// LoseOnFail loses the commits of this last period in each outage, as an asynchronous standby does.
	LoseOnFail time.Duration
	// OwnTime makes servers take the time from their own clocks.
	OwnTime bool
	// TornCommits makes the second half of a commit visible later than the first.
	TornCommits bool
	// Hidden hides keys from the reads of Updates; nil: none.
	Hidden func(key []byte) bool
	// Silent sends no notifications.
	Silent bool
}

// Commit is a committed transaction.
type Commit struct {
	Server string // the name of the server's engine
	At     time.Time
	LSNs   []Issued
}

// Issued is the LSNs that a transaction has taken from a scope, from First to below Next.
type Issued struct {
	Scope       string
	First, Next uint64
}

// The time limits of one exchange, by the server's clock. They are those of engine/postgres.
const (
	beginLimit  = 6 * time.Second
	readLimit   = 5 * time.Second
	commitLimit = 8 * time.Second
	// outageLimit is how long a lost database is retried, and an outcome is looked for.
	outageLimit = 10 * time.Second
	// idleLimit is after how long the database ends a transaction whose server sends nothing.
	idleLimit = 5 * time.Second
	// deadlockTime is how long a transaction waits for a row before it is undone.
	deadlockTime = time.Second
	// lateBy is how much later than its server's last sign of life a late commit is executed.
	lateBy = 300 * time.Millisecond

	maxGroup = 64 // the most functions that run in one transaction
	pageSize = 64 // keys that an iterator fetches in one exchange
)
