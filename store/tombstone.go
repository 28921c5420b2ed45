package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// A partition tombstone deletes a whole partition key at once. It is a record (partition key, LSN): all
// items of that key created at or below the LSN are deleted. Every reader checks it, as it checks the
// expiry policy, and the reaper frees the space in pieces, as for expired items. When no item with a lower
// LSN is left, the record is removed.
//
// Tombstones are few and short-lived, so a container's state holds all of them. They change under the gate,
// when no write of the container is running. So a create after an acknowledged tombstone has an LSN above
// it and finds the id free.

// DeletePartition deletes all items of one partition key, which must be complete, in one step and whatever
// their number. Their space is freed in the background.
func (c *Container) DeletePartition(ctx context.Context,
	pk definition.PartitionKey) (OperationReceipt, error) {
	c.beginUse()
	defer c.endUse()
	if pk.IsZero() {
		return c.refused(), fault.New(fault.CodeBadRequest,
			"PartitionKey value must be supplied for this operation.")
	}
	pk, err := c.def.FullKey(pk, "")
	if err != nil {
		return c.refused(), err
	}
	p := c.items.Locate(pk, "")
	var s *container.Partition
	deletion := func(st container.State, _ int64) (container.State, error) {
		s = st.RangeOf(p.EPK)
		next, name := st, layout.TombstoneName(p.EPK, p.PK)
		var lsn uint64
		err := c.commitTombstones(ctx, &st, &next, func(t engine.Txn) error {
			lsn = t.NextLSN(s.Scope)
			transaction.SetTombstone(t, c.cid, name, lsn)
			return nil
		})
		if err == nil {
			s.Show(lsn)
		}
		next.Tombstones = maps.Clone(st.Tombstones)
		if next.Tombstones == nil {
			next.Tombstones = make(map[string]uint64)
		}
		next.Tombstones[name] = lsn
		return next, err
	}
	err = c.retryAfterSplit(ctx, func() error { return c.againChange(ctx, deletion) })
	if err != nil {
		return c.refused(), err
	}
	c.ds.in.WakeReaper()
	return c.receipt(s, value.ChargeDeletePartition), nil
}

// sweepTombstones purges up to limit items of one range that were deleted with their whole partition key, and
// removes the tombstones (the records of deleted partition keys) that have no items left.
func (c *Container) sweepTombstones(ctx context.Context, st *container.State, s *container.Partition,
	limit int) (purged int,
	more bool, err error) {
	for _, name := range slices.Sorted(maps.Keys(st.Tombstones)) {
		lsn := st.Tombstones[name]
		epk, _, err := jsondoc.DecodeEscaped([]byte(name))
		if err != nil {
			return purged, false, fmt.Errorf("%w: a tombstone: %v", engine.ErrCorrupt, err)
		}
		if !s.Holds(epk) {
			continue
		}
		if purged >= limit {
			return purged, true, nil
		}
		want := limit - purged
		var found []sweep.ExpiryCandidate
		err = c.ds.view(ctx, func(r engine.Reader) (err error) {
			found, err = sweep.BelowTombstone(r, c.cid, name, lsn, want)
			return err
		})
		if err != nil {
			return purged, false, err
		}
		n, _, err := c.purge(ctx, s, found)
		purged += n
		if err != nil {
			return purged, false, err
		}
		if len(found) == want {
			return purged, true, nil
		}
		if err := c.removeTombstone(ctx, s, name, epk, lsn); err != nil {
			return purged, false, err
		}
	}
	return purged, false, nil
}

func (c *Container) removeTombstone(ctx context.Context, s *container.Partition, name string, epk []byte,
	lsn uint64) error {
	return c.againChange(ctx, func(st container.State, _ int64) (container.State, error) {
		if st.Tombstones[name] != lsn {
			return st, nil // a newer tombstone has replaced it
		}
		if st.RangeOf(epk) != s {
			return st, nil // the range was split: the items' new ranges have not been checked
		}
		next := st
		next.Tombstones = maps.Clone(st.Tombstones)
		delete(next.Tombstones, name)
		err := c.commitTombstones(ctx, &st, &next, func(t engine.Txn) error {
			transaction.DropTombstone(t, c.cid, name)
			t.Relax()
			return nil
		})
		return next, err
	})
}
