package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// Metrics is a snapshot of the store's counters and of what waits to be purged.
type Metrics struct {
	Databases  int
	Containers int
	Purged     uint64 // items purged since Open, by the reaper or by a write that met a ghost
	Backlog    Backlog
	Reaper     ttl.ReaperMetrics
	Engine     engine.Metrics
}

// Metrics measures the store. It reads the heads of the expiry indexes, so it costs more with a larger backlog.
func (db *DB) Metrics(ctx context.Context) (Metrics, error) {
	db.mu.RLock()
	m := Metrics{Databases: len(db.cat.databases), Containers: len(db.cat.containers)}
	containers := db.cat.containers
	db.mu.RUnlock()
	m.Purged = db.purged.Load()
	m.Reaper = db.reaper.Metrics()
	m.Engine = db.eng.Metrics()
	err := db.eng.View(ctx, func(r engine.Reader) error {
		for _, c := range containers {
			st, now, err := c.enter()
			if err != nil {
				continue // dropped
			}
			c.gate.RUnlock()
			for _, s := range st.ranges {
				b, err := backlog(r, st.policy(), s, now)
				if err != nil {
					return err
				}
				m.Backlog.Items += b.Items
				m.Backlog.Oldest = max(m.Backlog.Oldest, b.Oldest)
			}
		}
		return nil
	})
	return m, wrap(err)
}
