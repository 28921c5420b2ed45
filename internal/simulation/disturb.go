package simulation

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// disturb causes random disturbances until ctx ends.
func (w *RunningSimulation) disturb(ctx context.Context, rng *rand.Rand) {
	if w.config.Chaos <= 0 {
		return
	}
	c := &client{w: w, name: "operator", rng: rng}
	for c.think(ctx, w.config.Chaos) {
		switch n := rng.IntN(20); {
		case n < 4:
			w.open(ctx, rng)
		case n < 7:
			w.remove(rng, true)
		case n < 8:
			w.remove(rng, false)
		case n < 12:
			w.pause(rng)
		case n < 14:
			w.outage(rng)
		case n < 16:
			w.freeze(rng)
		case n < 18:
			w.docs.split(c)
		default:
			w.docs.changePolicy(c)
		}
	}
}

// open starts one more server, unless there are twice as many as at the start.
func (w *RunningSimulation) open(ctx context.Context, rng *rand.Rand) {
	if len(w.servers.all()) >= 2*w.config.Servers {
		return
	}
	own := rand.New(rand.NewPCG(rng.Uint64(), 0))
	w.servers.jobs.Go(func() {
		s, err := w.newServer(context.WithoutCancel(ctx), own)
		if err != nil {
			w.trace("a server could not start: %v", err)
			return
		}
		w.employ(s)
	})
}

// remove ends a random server, unless it is the only one: it kills the server if kill is set, and otherwise
// closes it.
func (w *RunningSimulation) remove(rng *rand.Rand, kill bool) {
	if len(w.servers.all()) < 2 {
		return
	}
	s := w.servers.remove(rng)
	w.trace("%s ends, killed: %t", s.name, kill)
	w.end(s, kill)
}

// pause suspends a random server for up to 25 seconds: it sends nothing to the database, and its timers do
// not fire.
func (w *RunningSimulation) pause(rng *rand.Rand) {
	s := w.servers.any(rng)
	if s == nil {
		return
	}
	d := time.Duration(rng.Int64N(int64(25 * time.Second)))
	w.trace("%s is paused for %v", s.name, d)
	w.setPaused(s, true)
	w.later(d, func() { w.setPaused(s, false) })
}

func (w *RunningSimulation) setPaused(s *simulatedMayflyServer, paused bool) {
	w.servers.mu.Lock()
	s.paused = paused
	w.servers.mu.Unlock()
	if paused {
		s.engine.Pause()
	} else {
		s.engine.Resume()
	}
}

// outage makes every request to the database fail for up to 15 seconds.
func (w *RunningSimulation) outage(rng *rand.Rand) {
	d := time.Duration(rng.Int64N(int64(15 * time.Second)))
	w.trace("the database fails for %v", d)
	w.data.Fail()
	w.later(d, w.data.Recover)
}

// freeze makes the database execute no request for up to 12 seconds; requests wait.
func (w *RunningSimulation) freeze(rng *rand.Rand) {
	d := time.Duration(rng.Int64N(int64(12 * time.Second)))
	w.trace("the database is frozen for %v", d)
	w.data.Freeze()
	w.later(d, w.data.Thaw)
}

// later runs fn after the simulated time d, in a goroutine of its own.
func (w *RunningSimulation) later(d time.Duration, fn func()) {
	w.servers.jobs.Go(func() {
		alarm, stop := w.clock.After(d)
		defer stop()
		<-alarm
		fn()
	})
}

// leaseHolderAndLSNTracker records which server holds the simulation's own lease (see holdLease), and the
// next LSN (log sequence number) of each scope.
type leaseHolderAndLSNTracker struct {
	mu      sync.Mutex
	working *simulatedMayflyServer // nil: none
	issued  map[string]uint64      // the next LSN of each scope
}

// holdLease makes a server request a certain lease of package host until the server ends; only the simulation
// uses this lease. It checks that two servers that are not paused never hold the lease at the same time.
func (w *RunningSimulation) holdLease(s *simulatedMayflyServer) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.servers.lives.Go(func() {
		<-s.ends
		cancel()
	})
	s.host.Instance().WhileLeased(ctx, "simulated", func(ctx context.Context) {
		w.takeLease(s)
		<-ctx.Done()
		w.held.mu.Lock()
		defer w.held.mu.Unlock()
		if w.held.working == s {
			w.held.working = nil
		}
	})
}

func (w *RunningSimulation) takeLease(s *simulatedMayflyServer) {
	w.servers.mu.Lock()
	paused := s.paused
	w.servers.mu.Unlock()
	w.held.mu.Lock()
	defer w.held.mu.Unlock()
	other := w.held.working
	w.held.working = s
	if other == nil || other.gone.Load() || paused {
		return
	}
	w.servers.mu.Lock()
	defer w.servers.mu.Unlock()
	if !other.paused {
		w.violate("%s has the lease that %s works under", s.name, other.name)
	}
}
