package store

import (
	"context"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/container"
)

// A container's ttlPropertyPath names the property from which the times to live of its items count, instead
// of _ts. The property is read when an item is written, and its value is stored in the item's header and in
// its key in the index of expiry, so that expiry can be decided without the document.
//
// A change of the path is one record, like a change of the default, and applies at once to all items. The
// former path and policy become a period of the record. For an item of an earlier period, every reader derives its
// current time to live from the document (view.LifetimeRules). In the background the reindexer updates the
// header and the key of each item. Until it has finished, the index of expiry does not match the present
// path, so counts do not use it. Then the eras are removed from the record.

// followPaths upgrades containers that were written before ttlPropertyPath was supported. Their specs
// contain it, but their items expired by their _ts. followPaths makes them use the path from now on.
func (ds *openDataset) followPaths(ctx context.Context) error {
	ds.mu.RLock()
	containers := ds.cat.containers
	ds.mu.RUnlock()
	for _, c := range containers {
		st := c.state.Load()
		if st.Dropped || definition.PathKey(st.Spec.TTLPropertyPath) == st.Rec.Basis {
			continue
		}
		if err := c.followPath(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *Container) followPath(ctx context.Context) error {
	if err := c.ds.lockCatalog(ctx); err != nil {
		return err
	}
	defer c.ds.in.Catalog().Unlock()
	return c.againLocked(ctx, func() error {
		return c.change(ctx, func(st container.State, now int64) (container.State, error) {
			next := st
			st.SetPolicy(&next, now)
			if err := c.changeIndex(ctx, &next, &st); err != nil {
				return st, err
			}
			return next, c.setContainer(ctx, &st, &next)
		})
	})
}
