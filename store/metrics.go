package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// Metrics is a snapshot of the store's counters and of the purge backlog. It includes state that is not
// durable yet, so that it is available even while all writers wait for the disk.
type Metrics struct {
	Databases  int
	Containers []ContainerMetrics // in order of creation
	// Purged is the number of expired items purged since Open, by the reaper or by a write that needed the
	// id or a unique key of such an item. It includes items of dropped containers.
	Purged  uint64
	Backlog inspect.PurgeBacklog // of all containers
	Reaper  ttl.ReaperMetrics
	Engine  engine.Metrics

	StuckScripts int // scripts that were stopped for their time limit, and have not ended yet
}

// ContainerMetrics are the metrics of one container.
type ContainerMetrics struct {
	Database, Container string
	Purged              uint64 // items purged since Open
	Backlog             inspect.PurgeBacklog
	Now                 int64 // the current second of its clock, since 1970
	// NextExpiry is when the next live item may expire, in seconds since 1970; 0 if none will.
	NextExpiry int64
}

const backlogLimit = 100_000

// Metrics measures the store. It reads the expired entries at the beginning of the expiry indexes, so it
// costs more with a larger backlog of purges.
func (db *DB) Metrics(ctx context.Context) (Metrics, error) { return db.live().metrics(ctx) }

func (ds *openDataset) metrics(ctx context.Context) (Metrics, error) {
	ds.mu.RLock()
	m := Metrics{Databases: len(ds.cat.databases)}
	containers := ds.cat.containers
	ds.mu.RUnlock()
	m.Purged = ds.purged.Load()
	m.Reaper = ds.in.ReaperMetrics()
	m.Engine = ds.eng.Metrics()
	m.StuckScripts = ds.programs.Stuck()
	for _, c := range containers {
		one, err := c.metrics(ctx)
		if fault.ErrorCode(err) == fault.CodeOwnerNotFound {
			continue // dropped since
		}
		if err != nil {
			return m, err
		}
		m.Containers = append(m.Containers, one)
		m.Backlog.Items += one.Backlog.Items
		m.Backlog.Oldest = max(m.Backlog.Oldest, one.Backlog.Oldest)
	}
	return m, nil
}

func (c *Container) metrics(ctx context.Context) (ContainerMetrics, error) {
	m := ContainerMetrics{Database: c.d.ID(), Container: c.name, Purged: c.purged.Load()}
	err := c.inspect(ctx, func(state *view.ContainerAtTime, st *container.State, r engine.Reader) error {
		now := state.Now
		m.Now = now
		p := st.Policy()
		for i, s := range st.Ranges {
			b, err := inspect.Ghosts(state, &state.Ranges[i], r, backlogLimit)
			if err != nil {
				return err
			}
			m.Backlog.Items += b.Items
			m.Backlog.Oldest = max(m.Backlog.Oldest, b.Oldest)
			l := sweep.NewStep(p, s.Scope, &s.ExpiryPassPositions, now, 0)
			if err := l.NextExpiry(r); err != nil {
				return err
			}
			if l.Next != never && (m.NextExpiry == 0 || l.Next < m.NextExpiry) {
				m.NextExpiry = l.Next
			}
		}
		return nil
	})
	return m, classify.ToFault(err)
}

// ReaperState is the state of a container's reaper.
type ReaperState struct {
	Paused    bool // of this container
	AllPaused bool // of all containers
	Settings  definition.ReaperSettings
	Purged    uint64 // items purged here since Open, by the reaper or by a write that needed a ghost's id
	Backlog   inspect.PurgeBacklog
}

// Reaper returns the state of the container's reaper. It counts the items that have expired and are not
// purged.
func (c *Container) Reaper(ctx context.Context) (ReaperState, error) {
	s := ReaperState{
		Paused: c.paused(), AllPaused: c.ds.in.ReaperPaused(), Purged: c.purged.Load(),
	}
	if r := c.Settings().Reaper; r != nil {
		s.Settings = *r
	}
	m, err := c.metrics(ctx)
	s.Backlog = m.Backlog
	return s, err
}
