package store

import (
	"context"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/check"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/resource"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Check reads the whole store and calls report for each violation of an invariant. It stops when report
// returns false. For one snapshot of each container it proves that items and their keys in every family
// correspond one to one:
//
//	item (d) <-> point key (p), partition postings (k), feed entry (f),
//	             deadline (w or x, neither for ttl -1), unique keys (u), index entries (i, o)
//
// While documents are being reindexed, an item must have the entries that all applicable indexing policies
// agree on, and may have the entries of any of them. In a container that keeps all versions (v), Check
// proves that v has the current version of each item, and the predecessor of each version back to the
// oldest one kept. Check also proves that every item lies in the range that its partition key hashes to, is
// well-formed JSON and has an LSN below its range's ceiling, and that every key belongs to a container and
// a range. The returned error is a failure to read; a violation is not an error of Check.
func (db *DB) Check(ctx context.Context, report func(error) bool) error {
	return db.live().check(ctx, report)
}

func (ds *openDataset) check(ctx context.Context, report func(error) bool) error {
	ds.mu.RLock()
	containers := ds.cat.containers
	ds.mu.RUnlock()
	for _, c := range containers {
		more, err := c.check(ctx, report)
		if err != nil && fault.ErrorCode(err) != fault.CodeOwnerNotFound {
			return classify.ToFault(err)
		}
		if !more && err == nil {
			return nil
		}
	}
	return classify.ToFault(ds.view(ctx, func(r engine.Reader) error {
		known, err := record.KnownContainers(r)
		if err != nil {
			return err
		}
		if err := check.Orphans(r, known, report); err != nil {
			return err
		}
		return resource.Check(r, report)
	}))
}

// check checks the consistency of the container's stored data, and of its reference to an archive container.
// It calls report with each violation; more is false if report has returned false, which ends the check.
func (c *Container) check(ctx context.Context, report func(error) bool) (more bool, err error) {
	err = c.inspect(ctx, func(state *view.ContainerAtTime, st *container.State,
		r engine.Reader) (err error) {
		state.Now = c.moment() // the snapshot shows nothing that is later
		if name := st.Rec.Settings.MoveTo(); name != "" {
			_, absent := c.d.Container(name)
			if absent != nil && !report(fmt.Errorf("container %s/%s: its archive %q does not exist",
				c.d.ID(), c.name, name)) {
				return nil
			}
		}
		more, err = check.Container(state, value.StoredLimits, r, report)
		return err
	})
	return more, err
}
