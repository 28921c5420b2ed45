package database

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// Database simulates the PostgreSQL database that several servers share: its data, locks, connections and
// failures. Its methods are safe for concurrent use.
type Database struct {
	o     Options
	clock ttl.Clock
	cores chan struct{} // one element for each busy processor; nil: no limit
	late  sync.WaitGroup

	mu       sync.Mutex // guards the following fields; never held while waiting
	rows     *rowSet
	version  uint64 // grows with each change of rows
	locks    map[string]*scopeLock
	sessions map[*databaseSideTransaction]bool // open transactions
	awaited  map[string]time.Time              // scopes for which a server requests reports, and until when
	engines  []*Engine                         // open, in the order of their opening
	down     bool
	frozen   chan struct{}  // closed when the database continues; nil: it is not frozen
	recent   []dataSnapshot // earlier states, for InjectedDefects.LoseOnFail
	rng      *rand.Rand
	stats    Stats
	started  uint64 // number of sessions so far
}

// dataSnapshot is a copy of all data as they were at a moment.
type dataSnapshot struct {
	at   time.Time
	rows *rowSet
}

// Stats counts what a Database has done: commits, round trips, rows written, requests or responses lost
// with their connections, and commits whose outcome the server does not know.
type Stats struct {
	Commits, Trips, Rows, Lost, Unknown uint64
}

// New creates an empty database.
func New(o Options) *Database {
	if o.Clock == nil {
		o.Clock = ttl.SystemClock{}
	}
	d := &Database{o: o, clock: o.Clock, rows: newRows(), locks: make(map[string]*scopeLock),
		sessions: make(map[*databaseSideTransaction]bool), awaited: make(map[string]time.Time),
		rng: rand.New(&randomSource{clock: o.Clock, seed: o.Seed})}
	if o.Load.Cores > 0 {
		d.cores = make(chan struct{}, o.Load.Cores)
	}
	return d
}

// Wait waits until the commits that are executed late, after their servers have lost the connection, are
// done. No engine may be open.
func (d *Database) Wait() { d.late.Wait() }

// Stats returns the counters.
func (d *Database) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stats
}

// Now returns the time of the database's clock.
func (d *Database) Now() time.Time { return d.clock.Now() }

// Calm ends the failures of the network: from now on every exchange succeeds.
func (d *Database) Calm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := &d.o.Network
	n.LostRequest, n.LostAnswer, n.LateCommit, n.LostReport = 0, 0, 0, 0
}

// Fail begins an outage: all connections break, running transactions are rolled back, and every exchange
// fails until Recover.
func (d *Database) Fail() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = true
	if lose := d.o.Defects.LoseOnFail; lose > 0 {
		d.loseLocked(d.clock.Now().Add(-lose))
	}
	for _, s := range slices.SortedFunc(maps.Keys(d.sessions), (*databaseSideTransaction).compare) {
		s.endLocked(aborted)
	}
	if d.frozen != nil {
		close(d.frozen)
		d.frozen = nil
	}
}

// loseLocked restores the data as they were at a moment, for InjectedDefects.LoseOnFail. The caller holds mu.
func (d *Database) loseLocked(at time.Time) {
	for _, s := range d.recent {
		if !s.at.Before(at) {
			d.rows = s.rows.Copy()
			d.version++
			break
		}
	}
	d.recent = nil
}

// Recover ends the outage that Fail has begun: servers can connect again.
func (d *Database) Recover() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = false
}

// Freeze stops the database until Thaw. Requests that arrive before Thaw are executed after it.
func (d *Database) Freeze() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.frozen == nil && !d.down {
		d.frozen = make(chan struct{})
	}
}

// Thaw lets a frozen database continue.
func (d *Database) Thaw() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.frozen != nil {
		close(d.frozen)
		d.frozen = nil
	}
}

// arrive waits until the database can execute a request that has arrived. It returns errLost if the
// database is down.
func (d *Database) arrive() error {
	for {
		d.mu.Lock()
		frozen, down := d.frozen, d.down
		d.mu.Unlock()
		switch {
		case down:
			return errLost
		case frozen == nil:
			return nil
		}
		<-frozen
	}
}

// work occupies one of the simulated processors of the database for the time cost.
func (d *Database) work(cost time.Duration) {
	if d.cores == nil || cost <= 0 {
		return
	}
	d.cores <- struct{}{}
	pause(context.Background(), d.clock, cost)
	<-d.cores
}

// snapshot returns the current data, their version, and the time.
func (d *Database) snapshot() (*rowSet, uint64, int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rows.Copy(), d.version, d.clock.Now().UnixMicro()
}

// changes returns the number of changes of the data so far.
func (d *Database) changes() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.version
}

// reportLocked notifies servers that a commit has changed the given scopes, for those scopes for which a
// server waits. The caller holds mu.
func (d *Database) reportLocked(scopes [][]byte) {
	if d.o.Defects.Silent {
		return
	}
	now := d.clock.Now()
	for _, scope := range scopes {
		if until, ok := d.awaited[string(scope)]; !ok || now.After(until) {
			continue
		}
		for _, e := range d.engines {
			if d.rng.Float64() >= d.o.Network.LostReport {
				e.inbox.add(scope)
			}
		}
	}
}

// chance returns true with the probability that p returns for the settings of the network.
func (d *Database) chance(draws *rand.Rand, p func(NetworkConditions) float64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return draws.Float64() < p(d.o.Network)
}

// between returns a random duration from lowest to highest.
func (d *Database) between(lowest, highest time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if highest <= lowest {
		return lowest
	}
	return lowest + time.Duration(d.rng.Int64N(int64(highest-lowest)))
}

func (d *Database) count(fn func(*Stats)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fn(&d.stats)
}

// pause waits for a while, or until ctx ends.
func pause(ctx context.Context, clock ttl.Clock, d time.Duration) {
	if d <= 0 {
		return
	}
	alarm, stop := clock.After(d)
	defer stop()
	select {
	case <-alarm:
	case <-ctx.Done():
	}
}

var _ engine.Engine = (*Engine)(nil)
