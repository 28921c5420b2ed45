package simulation

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/internal/simulation/database"
	"github.com/mayflydb/mayfly/ttl"
)

const databaseName = "sim"

// Config describes a simulation. Everything random follows from the seed.
type Config struct {
	Seed     uint64
	Duration time.Duration // simulated time of the work, without the checks at the end
	Servers  int           // at the beginning
	Ranges   int           // of each container
	Writers  int           // clients that write documents
	Readers  int           // clients that read them
	Feeds    int           // clients that read change feeds
	Messages int           // clients that send and receive
	Sessions int           // clients that send and receive in sessions
	Topics   int           // clients that send to a topic; one more creates its subscriptions
	Network  database.NetworkConditions
	Load     database.OperationDurations
	Defects  database.InjectedDefects
	Chaos    time.Duration // the mean time between two disturbances; 0: none
	FailFast bool          // end at the first violation, without the checks at the end
	DeafTo   time.Duration // timers of servers up to this duration never fire; 0: all fire
	// Steps receives one line for each step, at the time of the step: for each line of Report.Trace, each
	// exchange of a server with the database, and each commit. nil: they are not recorded.
	Steps io.Writer `json:"-"`
}

// Report is the result of a simulation: the violated invariants, and what was done.
type Report struct {
	Violations []string
	Trace      []string // the actions of clients and operators
	Operations int
	Database   database.Stats
	Servers    int // that were started
}

// RunningSimulation is the state of a running simulation: its database, servers and clients.
type RunningSimulation struct {
	config  Config
	clock   ttl.Clock
	begin   time.Time
	data    *database.Database
	servers serverCluster
	docs    documentHistories
	queues  messageHistories
	topics  topicHistory
	held    leaseHolderAndLSNTracker

	mu         sync.Mutex // guards the following fields
	operations int
	violations []string
	lines      []string
	stop       context.CancelFunc // ends the work
}

// Run runs a simulation. It must be called in a bubble of testing/synctest, whose time is the simulated time.
func Run(c Config) Report {
	w := &RunningSimulation{config: c, clock: ttl.SystemClock{}}
	w.begin = w.clock.Now()
	w.held.issued = make(map[string]uint64)
	w.docs.init(w)
	w.queues.init(w)
	w.topics.w = w
	w.data = database.New(database.Options{Clock: w.clock, Seed: c.Seed, Network: c.Network, Load: c.Load,
		Defects: c.Defects, Committed: w.committed, Exchanged: w.exchanged})
	w.run()
	return Report{Violations: w.violations, Trace: w.lines, Operations: w.operations,
		Database: w.data.Stats(), Servers: w.servers.started}
}

func (w *RunningSimulation) run() {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(w.config.Seed, 0))
	if err := w.prepare(ctx, rng); err != nil {
		w.violate("the simulation could not begin: %v", err)
	} else {
		work, stop := context.WithTimeout(ctx, w.config.Duration)
		w.mu.Lock()
		w.stop = stop
		w.mu.Unlock()
		var clients sync.WaitGroup
		w.startClients(work, &clients)
		w.disturb(work, rng)
		<-work.Done()
		stop()
		clients.Wait()
		w.servers.jobs.Wait()
		if !w.config.FailFast || len(w.violations) == 0 {
			w.finish(ctx, rng)
		}
	}
	for _, s := range w.servers.all() {
		w.end(s, false)
	}
	w.servers.jobs.Wait()
	w.servers.lives.Wait()
	w.data.Wait()
}

// prepare starts the servers and creates containers and queues.
func (w *RunningSimulation) prepare(ctx context.Context, rng *rand.Rand) error {
	s, err := w.newServer(ctx, rng)
	if err != nil {
		return err
	}
	w.employ(s)
	if err := w.docs.create(ctx, s); err != nil {
		return err
	}
	if err := w.queues.create(ctx, s); err != nil {
		return err
	}
	if err := w.topics.create(ctx, s); err != nil {
		return err
	}
	return w.grow(ctx, w.config.Servers, rng)
}

func (w *RunningSimulation) startClients(ctx context.Context, wg *sync.WaitGroup) {
	n := uint64(0)
	start := func(clients int, act func(context.Context, *client)) {
		for range clients {
			n++
			c := &client{w: w, name: fmt.Sprintf("client-%d", n)}
			c.rng = rand.New(rand.NewPCG(w.config.Seed, n))
			wg.Go(func() { act(ctx, c) })
		}
	}
	start(w.config.Writers, w.docs.write)
	start(w.config.Readers, w.docs.read)
	start(w.config.Messages, w.queues.send)
	start(w.config.Messages, w.queues.receive)
	start(w.config.Sessions, w.queues.sendSessions)
	start(w.config.Sessions, w.queues.receiveSessions)
	start(w.config.Feeds, w.docs.followFeed)
	start(w.config.Topics, w.topics.send)
	start(min(w.config.Topics, 1), w.topics.subscribe)
}

// client simulates a program that uses the servers.
type client struct {
	w    *RunningSimulation
	name string
	rng  *rand.Rand
	made int // number of names that the client has used so far
}

// callLimit is the time for which a client waits for a response.
const callLimit = 20 * time.Second

// call runs an operation on a random server. lost reports that the client gets no response, because the
// server has ended before that or no server is running.
func (c *client) call(what string, fn func(ctx context.Context, s *simulatedMayflyServer) error) (err error,
	lost bool) {
	s := c.w.servers.any(c.rng)
	if s == nil {
		return nil, true
	}
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	err = fn(ctx, s)
	lost = s.gone.Load()
	c.w.count()
	c.w.trace("%s at %s: %s: %v, lost %t", c.name, s.name, what, err, lost)
	return err, lost
}

// think waits between two operations. It reports whether ctx has not ended.
func (c *client) think(ctx context.Context, mean time.Duration) bool {
	alarm, stop := c.w.clock.After(time.Duration(c.rng.ExpFloat64()*float64(mean)) + 1)
	defer stop()
	select {
	case <-alarm:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func (w *RunningSimulation) count() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.operations++
}

// now returns the time of the database.
func (w *RunningSimulation) now() time.Time { return w.clock.Now() }

// violate records a violation of an invariant.
func (w *RunningSimulation) violate(format string, args ...any) {
	line := w.timed(format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.violations) < 20 && !slices.Contains(w.violations, line) {
		w.violations = append(w.violations, line)
	}
	w.traceLocked("VIOLATION " + line)
	if w.config.FailFast && w.stop != nil {
		w.stop()
	}
}

// committed checks a commit of the database: no LSN is issued twice.
func (w *RunningSimulation) committed(c database.CommitRecord) {
	w.held.mu.Lock()
	defer w.held.mu.Unlock()
	w.commitStep(c)
	for _, l := range c.LSNs {
		if last := w.held.issued[l.Scope]; l.First < last {
			w.violate("scope %x has issued LSN %d again, by %s", l.Scope, l.First, c.Server)
		}
		w.held.issued[l.Scope] = max(w.held.issued[l.Scope], l.Next)
	}
}
