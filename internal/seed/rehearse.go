package seed

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// rehearsalCache is the block cache of a store that is soon gone, in bytes.
const rehearsalCache = 8 << 20

// Rehearse plants the seed into a server of its own, in memory and with a clock that can be moved: what can
// be known without the server that it is for is known then.
func (s *Seed) Rehearse(ctx context.Context) (err error) {
	e, err := pebble.Open(ctx, pebble.Options{Memory: true, CacheBytes: rehearsalCache})
	if err != nil {
		return err
	}
	queues := queue.New(queue.Options{})
	db, err := store.Open(ctx, e, store.Options{Clock: ttl.NewVirtual(ttl.Real{}), ManualReaper: true}, queues.Tenant())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = s.Plant(ctx, Target{DB: db, Queues: queues, Forward: true})
	return err
}
