package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/simulation/database"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
)

// simulatedMayflyServer is one server of a simulation: the real host, store and queues over an engine on the
// simulated database.
type simulatedMayflyServer struct {
	name   string
	engine *database.Engine
	host   *host.Host
	db     *store.DB
	queues *queue.Queues
	gone   atomic.Bool   // the server was killed or is being closed: its responses are ignored
	ends   chan struct{} // closed with gone
	paused bool          // guarded by the cluster's mutex
}

// newServer opens a server. It fails if the database does not respond.
func (w *RunningSimulation) newServer(ctx context.Context, rng *rand.Rand) (*simulatedMayflyServer, error) {
	s := &simulatedMayflyServer{name: fmt.Sprintf("server-%d", w.servers.next()), ends: make(chan struct{})}
	m := &machineClock{base: w.clock, since: w.clock.Now(), deaf: w.config.DeafTo,
		offset: time.Duration(rng.Int64N(int64(2*time.Hour))) - time.Hour,
		rate:   1 + (rng.Float64()-0.5)/2000}
	s.engine = w.data.Open(s.name, m)
	m.engine = s.engine
	s.queues = queue.New(queue.Options{})
	db, err := store.New(store.Options{Wall: m, Ranges: w.config.Ranges})
	if err != nil {
		return nil, err
	}
	s.db = db
	s.host, err = host.Open(ctx, s.engine, host.Options{Wall: m, Batch: 32}, db.Tenant(), s.queues.Tenant())
	if err != nil {
		return nil, err
	}
	return s, nil
}

// container returns a container by its name. If the server does not have the container, it loads the
// catalog again (CatchUp) and tries once more.
func (s *simulatedMayflyServer) container(ctx context.Context, name string) (*store.Container, error) {
	find := func() (*store.Container, error) {
		d, err := s.db.Database(databaseName)
		if err != nil {
			return nil, err
		}
		return d.Container(name)
	}
	c, err := find()
	if err == nil {
		return c, nil
	}
	if err := s.db.CatchUp(ctx); err != nil {
		return nil, err
	}
	return find()
}
