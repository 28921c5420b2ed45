package database

import (
	"context"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// errLost is the error of an exchange whose connection broke.
var errLost = errors.New("the connection to the database broke")

// Engine is the engine of one server, on the simulated database. Its methods are safe for concurrent use.
type Engine struct {
	d       *Database
	name    string
	seed    uint64
	machine ttl.Clock // the clock of the server's machine
	inbox   notificationInbox
	calls   engine.RunningCallTracker

	mu      sync.Mutex // guards the following fields; never held while waiting
	queues  map[string]*lsnScopeUpdateQueue
	told    int64         // the latest time that the database has returned, in microseconds since 1970
	paused  chan struct{} // closed when the server continues; nil: it is not paused
	commits uint64
	groups  uint64
	// drawn counts the exchanges that began at the time drawnAt, in nanoseconds since 1970, by hashes of
	// their operations and keys.
	drawn   map[uint64]uint64
	drawnAt int64

	dead chan struct{} // closed by Kill
}

var (
	_ engine.Getter               = (*Engine)(nil)
	_ engine.SharedEngine         = (*Engine)(nil)
	_ engine.DatabaseTimeReporter = (*Engine)(nil)
	_ engine.CommitNotifier       = (*Engine)(nil)
)

// Open returns the engine of a server. The name seeds the delays of its exchanges. machine is the clock of
// the server's machine; nil is the database's clock.
func (d *Database) Open(name string, machine ttl.Clock) *Engine {
	if machine == nil {
		machine = d.clock
	}
	e := &Engine{d: d, name: name, machine: machine, queues: make(map[string]*lsnScopeUpdateQueue),
		drawn: make(map[uint64]uint64),
		inbox: newInbox(), dead: make(chan struct{})}
	e.seed = d.o.Seed + 1
	for _, b := range []byte(name) {
		e.seed = mix(e.seed + uint64(b))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.engines = append(d.engines, e)
	return e
}

// Shared reports whether other processes may have the data open at the same time.
func (e *Engine) Shared() bool { return true }

// Told returns the latest time that a response of the database contained, by the database's clock. Before the
// first response it returns the zero time.
func (e *Engine) Told() time.Time {
	if e.d.o.Defects.OwnTime {
		return e.machine.Now().UTC().Truncate(time.Microsecond)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.told == 0 {
		return time.Time{}
	}
	return time.UnixMicro(e.told).UTC()
}

// tell returns the time that the server must use after a response of the database that contains the time now,
// in microseconds since 1970. This is now, and tell records it as the latest time that Told returns; with the
// defect OwnTime it is the time of the server's own machine.
func (e *Engine) tell(now int64) int64 {
	if e.d.o.Defects.OwnTime {
		return e.machine.Now().UnixMicro()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = max(e.told, now)
	return now
}

// Kill ends the server without a warning. It sends no more requests; requests that it has sent may still be
// executed. Its calls fail.
func (e *Engine) Kill() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !isClosed(e.dead) {
		close(e.dead)
	}
}

func (e *Engine) killed() bool { return isClosed(e.dead) }

// Pause stops the server until Resume: it neither sends requests nor receives responses.
func (e *Engine) Pause() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.paused == nil {
		e.paused = make(chan struct{})
	}
}

// Resume ends a Pause.
func (e *Engine) Resume() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.paused != nil {
		close(e.paused)
		e.paused = nil
	}
}

// Running waits while the server is paused, at most until done is closed.
func (e *Engine) Running(done <-chan struct{}) {
	for {
		e.mu.Lock()
		paused := e.paused
		e.mu.Unlock()
		if paused == nil {
			return
		}
		select {
		case <-paused:
		case <-e.dead:
			return
		case <-done:
			return
		}
	}
}

// Close waits for running calls and disconnects the server from the database.
func (e *Engine) Close() error {
	if err := e.calls.Close(); err != nil {
		return err
	}
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	e.d.engines = slices.DeleteFunc(e.d.engines, func(o *Engine) bool { return o == e })
	return nil
}

// draws returns the random numbers of an exchange. They depend only on the seed, the server, the time, the
// operation and the keys. So they do not depend on the order of exchanges that begin at the same moment,
// unless they are equal.
func (e *Engine) draws(o NetworkExchangeKind, keys [][]byte) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(o))
	for _, key := range keys {
		_, _ = h.Write(key)
		_, _ = h.Write([]byte{0})
	}
	sum, now := h.Sum64(), e.d.clock.Now().UnixNano()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.drawnAt != now {
		e.drawnAt = now
		clear(e.drawn)
	}
	e.drawn[sum]++
	return rand.New(rand.NewPCG(mix(e.seed+uint64(now)), mix(sum+e.drawn[sum])))
}

// delay waits for the time that a request or a response takes.
func (e *Engine) delay(draws *rand.Rand) {
	n := &e.d.o.Network // Calm changes only the probabilities
	if n.MaxDelay <= 0 {
		return
	}
	d := n.MinDelay
	if n.MaxDelay > n.MinDelay {
		d += time.Duration(draws.Int64N(int64(n.MaxDelay - n.MinDelay)))
	}
	pause(context.Background(), e.d.clock, d)
}

// exchange runs execute at the database after the delay of a request, and returns after the delay of the
// response. giveUp is closed when limit has passed. It returns errLost if the connection breaks. x says for
// what the exchange is: its operation and its keys.
func (e *Engine) exchange(x NetworkExchange, limit time.Duration,
	execute func(giveUp <-chan struct{}) error) error {
	x.Err = e.transmit(limit, e.draws(x.Operation, x.Keys), func(giveUp <-chan struct{}) error {
		x.Version = e.d.changes()
		return execute(giveUp)
	})
	e.exchanged(x)
	return x.Err
}

// exchanged reports a finished request and response between this server and the database to
// Options.Exchanged, if that is set.
func (e *Engine) exchanged(x NetworkExchange) {
	if fn := e.d.o.Exchanged; fn != nil {
		x.Server = e.name
		fn(x)
	}
}

func (e *Engine) transmit(limit time.Duration, draws *rand.Rand,
	execute func(giveUp <-chan struct{}) error) error {
	d := e.d
	e.Running(nil)
	if e.killed() {
		return errLost
	}
	d.count(func(s *Stats) { s.Trips++ })
	giveUp := make(chan struct{})
	if d.timed() {
		stop := ttl.AfterFunc(d.clock, limit, func() { close(giveUp) })
		defer stop()
	}
	if d.chance(draws, func(n NetworkConditions) float64 { return n.LostRequest }) {
		d.count(func(s *Stats) { s.Lost++ })
		e.delay(draws)
		return errLost
	}
	e.delay(draws)
	if err := d.arrive(); err != nil {
		return err
	}
	err := execute(giveUp)
	if d.chance(draws, func(n NetworkConditions) float64 { return n.LostAnswer }) {
		d.count(func(s *Stats) { s.Lost++ })
		return errLost
	}
	e.delay(draws)
	e.Running(nil)
	if isClosed(giveUp) || e.killed() {
		return errLost
	}
	return err
}

// ask runs an exchange that only reads. It repeats the exchange a few times if the connection breaks.
func (e *Engine) ask(ctx context.Context, x NetworkExchange, execute func() error) error {
	for try := 0; ; try++ {
		err := e.exchange(x, readLimit, func(<-chan struct{}) error {
			e.d.work(e.d.o.Load.Trip)
			return execute()
		})
		switch {
		case !errors.Is(err, errLost):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case try == 3 || e.killed():
			return errors.Join(engine.ErrUnavailable, err)
		}
		pause(ctx, e.d.clock, 10*time.Millisecond<<try)
	}
}

// View runs fn over one snapshot: see engine.Engine.
func (e *Engine) View(ctx context.Context, fn func(engine.Reader) error) error {
	if err := e.calls.Begin(); err != nil {
		return err
	}
	defer e.calls.End()
	if err := ctx.Err(); err != nil {
		return err
	}
	s := &readTxnSnapshot{e: e, ctx: ctx}
	r := &snapshotOrTransactionReader{from: s}
	defer r.finish()
	return fn(r)
}

// Get returns the newest committed value of a key, outside any snapshot: see engine.Getter.
func (e *Engine) Get(ctx context.Context,
	scope, key []byte) (value []byte, at engine.LSNScopeStatus, err error) {
	err = e.View(ctx, func(r engine.Reader) error {
		r.(*snapshotOrTransactionReader).from.(*readTxnSnapshot).one = true
		all, err := r.Positions([][]byte{scope})
		if err != nil {
			return err
		}
		at = all[0]
		found, err := r.Get(key)
		value = slices.Clone(found)
		return err
	})
	return value, at, err
}

// Horizon returns the highest durable LSN of a scope: see engine.DurabilityReporter. It returns 0 if the
// database does not respond.
func (e *Engine) Horizon(scope []byte) (lsn uint64) {
	_ = e.View(context.Background(), func(r engine.Reader) error {
		at, err := r.Positions([][]byte{scope})
		if err == nil {
			lsn = at[0].LSN
		}
		return err
	})
	return lsn
}

// Settle returns at once, because everything that is visible is durable.
func (e *Engine) Settle(ctx context.Context, _ []byte, _ uint64) error {
	if err := e.calls.Begin(); err != nil {
		return err
	}
	defer e.calls.End()
	return ctx.Err()
}

// Metrics returns the counters since Open.
func (e *Engine) Metrics() engine.Metrics {
	e.mu.Lock()
	defer e.mu.Unlock()
	return engine.Metrics{Commits: e.commits, Barriers: e.groups}
}
