package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/mayflydb/mayfly/engine"
)

// serverCluster is the set of running servers.
type serverCluster struct {
	mu      sync.Mutex
	list    []*simulatedMayflyServer
	started int
	jobs    sync.WaitGroup // servers that are being opened or closed, and ends of disturbances
	lives   sync.WaitGroup // goroutines that end with their server
}

// next returns a number for a new server, starting with 1.
func (c *serverCluster) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started++
	return c.started
}

func (c *serverCluster) add(s *simulatedMayflyServer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, s)
}

// any returns a random server, or nil if none is running.
func (c *serverCluster) any(rng *rand.Rand) *simulatedMayflyServer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == 0 {
		return nil
	}
	return c.list[rng.IntN(len(c.list))]
}

// all returns the running servers.
func (c *serverCluster) all() []*simulatedMayflyServer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// remove takes a random server from the set of running servers and returns it, for the caller to end it.
// It returns nil if none is running.
func (c *serverCluster) remove(rng *rand.Rand) *simulatedMayflyServer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == 0 {
		return nil
	}
	n := rng.IntN(len(c.list))
	s := c.list[n]
	c.list = slices.Delete(c.list, n, n+1)
	return s
}

// grow opens servers until the given number is running. It tries again if a new server could not reach the
// database.
func (w *RunningSimulation) grow(ctx context.Context, servers int, rng *rand.Rand) error {
	for len(w.servers.all()) < servers {
		s, err := w.newServer(ctx, rng)
		if errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrUnknownOutcome) {
			continue
		}
		if err != nil {
			return err
		}
		w.employ(s)
	}
	return nil
}

// employ adds a server to the running ones. It also starts a task in which the server competes for a lease
// that only the simulation uses, to check that two servers never hold it at the same time.
func (w *RunningSimulation) employ(s *simulatedMayflyServer) {
	w.servers.add(s)
	w.trace("%s runs", s.name)
	w.servers.lives.Go(func() { w.holdLease(s) })
}

// end closes a server. If kill is set, it kills the server before.
func (w *RunningSimulation) end(s *simulatedMayflyServer, kill bool) {
	s.gone.Store(true)
	close(s.ends)
	if kill {
		s.engine.Kill()
	}
	w.servers.jobs.Go(func() {
		s.engine.Resume()
		if err := s.host.Close(); err != nil && !kill {
			w.trace("%s: %v", s.name, err)
		}
		w.trace("%s has ended, killed: %t", s.name, kill)
	})
}
