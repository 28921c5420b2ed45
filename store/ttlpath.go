package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// A container's ttlPropertyPath names the property from which the times to live of its items count, instead
// of _ts. The property is read when an item is written, and its value is stored in the item's header and in
// its key in the index of expiry, so that expiry can be decided without the document.
//
// A change of the path is one record, like a change of the default, and applies at once to all items. The
// former path and policy become an era of the record. For an item of an earlier era, every reader derives
// its present life from the document (view.Lives). In the background the reindexer updates the header and
// the key of each item. Until it has finished, the index of expiry does not match the present path, so
// counts do not use it. Then the eras are removed from the record.

// compileLives makes the state's lives from its record.
func (st *containerState) compileLives() (err error) {
	basis := func(path string) view.Basis {
		b, perr := view.NewBasis(path)
		if perr != nil && err == nil {
			err = fmt.Errorf("%w: a ttlPropertyPath: %v", engine.ErrCorrupt, perr)
		}
		return b
	}
	st.lives = view.Lives{Basis: basis(st.rec.Basis)}
	for i, e := range st.rec.Eras {
		after := st.rec.Basis
		if i+1 < len(st.rec.Eras) {
			after = st.rec.Eras[i+1].Path
		}
		st.lives.Eras = append(st.lives.Eras, view.Era{Era: e.Era, After: basis(after)})
	}
	return err
}

// unsettled reports whether there may be items of an older indexing policy or of an earlier era.
func (st *containerState) unsettled() bool { return len(st.rec.IndexedBy) > 0 || len(st.rec.Eras) > 0 }

// rebased reports whether next counts times to live from another property than st.
func (st *containerState) rebased(next *containerState) bool { return st.rec.Basis != next.rec.Basis }

// setPolicy sets the expiry policy of next, whose spec was replaced in second now.
func (st *containerState) setPolicy(next *containerState, now int64) {
	path := definition.PathKey(next.spec.TTLPropertyPath)
	if path == st.rec.Basis {
		next.rec.Policy = st.policy().With(next.spec.DefaultTTL, now)
		return
	}
	policy, era := st.policy().Rebase(next.spec.DefaultTTL, now)
	next.rec.Policy, next.rec.Basis = policy, path
	next.rec.Eras = append(slices.Clip(st.rec.Eras), record.Era{Era: era, Path: st.rec.Basis})
}

// followPaths upgrades containers that were written before ttlPropertyPath was supported. Their specs
// contain it, but their items expired by their _ts. followPaths makes them use the path from now on.
func (ds *dataset) followPaths(ctx context.Context) error {
	ds.mu.RLock()
	containers := ds.cat.containers
	ds.mu.RUnlock()
	for _, c := range containers {
		st := c.state.Load()
		if st.dropped || definition.PathKey(st.spec.TTLPropertyPath) == st.rec.Basis {
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
		return c.change(ctx, func(st containerState, now int64) (containerState, error) {
			next := st
			st.setPolicy(&next, now)
			if err := c.changeIndex(ctx, &next, &st); err != nil {
				return st, err
			}
			return next, c.setContainer(ctx, &st, &next)
		})
	})
}
