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
// of the _ts. What an item has there is read when it is written, and stands in its header and in its key in
// the index of expiry, so that nobody needs the document to judge it.
//
// A change of the path is one record, as a change of the default is, and acts at once on all items: the path
// and the policy of before become an era of the record, and every reader works out from the document what an
// item of an earlier era is in the present one (view.Lives). In the background the reindexer goes over the
// items and gives each the header and the key that it has now. While it does, nothing is counted by the index
// of expiry, which does not stand by the present path yet. When it has come to the end the eras go out of the
// record.

// compileLives makes the state's lives of its record.
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

// rebased reports whether items count from something else in the next state.
func (st *containerState) rebased(next *containerState) bool { return st.rec.Basis != next.rec.Basis }

// setPolicy gives the next state, whose spec has been replaced in second now, its expiry policy.
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

// followPaths makes the containers of a data folder count from their ttlPropertyPath that were written before
// this was obeyed: it was kept in their specs, and their items lived by their _ts.
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
