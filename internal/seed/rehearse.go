package seed

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// rehearsalCache is the size of the block cache of the temporary store, in bytes.
const rehearsalCache = 8 << 20

// DryRun applies the seed to a temporary server in memory with a virtual clock. It finds all errors that do
// not depend on the target server.
func (s *Seed) DryRun(ctx context.Context) (err error) {
	e, err := pebble.Open(ctx, pebble.Options{Memory: true, CacheBytes: rehearsalCache})
	if err != nil {
		return err
	}
	queues := queue.New(queue.Options{})
	db, err := store.Open(ctx, e,
		store.Options{Clock: ttl.NewVirtualClock(ttl.SystemClock{}), ManualReaper: true}, queues.Tenant())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = s.Apply(ctx, ApplyTarget{DB: db, Queues: queues, Forward: true})
	return err
}
