package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// The state of a container (policies, settings, tombstones and ranges) is kept in memory as a whole, and in
// records on disk. Several servers may have one engine open; each has its own copy of the state. Therefore
// states have versions, which are stored in the mark that the engine keeps with each range's scope.
//
// A change of the container is made in the scopes of all of its ranges, and raises their marks. A
// transaction compares the mark of its range with the version of its state first. A read compares the mark
// that it receives with the position of its data. A different version means that another server has changed
// the container. Then the operation discards everything that it has read, reads the state again, and starts
// over.
//
// A container's first version is container.FirstVersion, so that the mark 0 of an erased scope is never a
// valid version.
//
// The upper half of a mark identifies the server that has written to the range last. A server that finds
// the id of another one there first reads the moments of the last writes in the range, so that it never
// dates a write before a stored one, even if the clocks of the servers differ (takeOver). A server that is
// alone does so once for each range.
//
// If the engine has a clock (PostgreSQL's), all servers date their writes by it while they hold the range's
// lock. So no write is dated before a stored one, and takeOver has nothing to do. Then the upper half
// identifies the last wipe of the range's index, which invalidates what servers have cached about the
// index.
//
//	+---------------+---------+
//	| store or wipe | version |   a range's mark
//	+---------------+---------+
//	     32 bits      32 bits

// ownMark returns the mark (a number that the engine stores for each range) of a range that this server was
// the last to write to, with the given version of the container's state.
func (ds *openDataset) ownMark(version uint32) uint64 { return uint64(ds.server)<<32 | uint64(version) }

// writable is the first step of a transaction. It fails if the transaction must not write to the range:
// with *container.OutdatedStateError if the state is outdated, or with container.ErrSplitElsewhere if another
// server is splitting the range.
func (c *Container) writable(t engine.Txn, st *container.State, s *container.Partition) error {
	mark := t.Mark(s.Scope)
	if err := st.Current(mark); err != nil {
		return err
	}
	if st.Elsewhere && st.Rec.Split.From == s.Number {
		return container.ErrSplitElsewhere
	}
	return c.takeOver(t, s, mark)
}

// commitRecord makes a change of the container's state and of its record durable. fn writes the change, in a
// transaction over the engine scopes of all ranges, also of new ones that are not used yet, and of the
// catalog. commitRecord sets the version of next, the state that replaces st. The caller holds the catalog's
// lock and the container's gate (its lock).
func (c *Container) commitRecord(ctx context.Context, st, next *container.State,
	fn func(engine.Txn) error) error {
	return c.ds.changeCatalog(ctx, func(t *host.CatalogTxn) error {
		t.RecordNumber(uint32(record.HighestID(next.Rec.Ranges)))
		return st.Commit(t, next, func() error { return fn(t) })
	}, st.Scopes()...)
}

// commitTombstones makes a change of the container's tombstones (the records of deleted partition keys)
// durable, and sets the version of next. Tombstones are not part of the container's record, so the caller
// need not hold the catalog's lock.
func (c *Container) commitTombstones(ctx context.Context, st, next *container.State,
	fn func(engine.Txn) error) error {
	_, err := c.ds.eng.Update(ctx, st.Scopes(), func(t engine.Txn) error {
		return st.Commit(t, next, func() error { return fn(t) })
	})
	return classify.ToFault(err)
}

// takeOver records in the mark of a range (a number that the engine stores for it) that this server was the
// last to write to it. If the last one was another server, takeOver moves the clock ahead of that server's
// last write, so that new writes are not dated before the stored ones. If the engine has a clock of its own,
// which dates the writes of all servers, neither is needed.
func (c *Container) takeOver(t engine.Txn, s *container.Partition, mark uint64) error {
	if c.ds.timed {
		s.Shapes.Follow(uint32(mark >> 32))
		return nil
	}
	own := c.ds.ownMark(container.VersionOf(mark))
	if mark == own {
		return nil
	}
	if _, err := c.loadMoments(t, s); err != nil {
		return err
	}
	s.Shapes.Forget() // records may have been deleted
	t.SetMark(s.Scope, own)
	return nil
}

// wipeTerms deletes all index entries of a range. It also changes the range's mark (a number that the engine
// stores for it), so that other servers discard what they have cached about the index.
func (c *Container) wipeTerms(t *transaction.Tx) {
	t.WipeTerms()
	if c.ds.timed {
		scope := t.Range.Scope
		mark := t.Mark(scope)
		t.SetMark(scope, uint64(uint32(mark>>32)+1)<<32|uint64(container.VersionOf(mark)))
	}
}

// refreshed checks whether an operation has failed with err because another server has changed the
// container. If so, it reads the state again and returns true: the operation may be repeated. Otherwise it
// returns err.
func (c *Container) refreshed(ctx context.Context, err error) (bool, error) {
	if err == nil {
		return false, nil
	}
	var gone *container.OutdatedStateError
	if !errors.As(err, &gone) {
		return false, err
	}
	st, _, _, err := c.stateAndTime(ctx)
	if err != nil {
		return false, err
	}
	if st.Version == gone.Version { // else this server has changed it, or it was refreshed already
		err = c.refresh(ctx, st)
	}
	return err == nil, err
}

// outdated reports whether another server has changed the container since state st was read; if so, it
// reads the state again. An operation calls it before it refuses a request because of st alone, without
// having read anything else.
func (c *Container) outdated(ctx context.Context, st *container.State) bool {
	scope := st.Ranges[0].Scope
	err := c.ds.view(ctx, func(r engine.Reader) error {
		at, err := r.Positions([][]byte{scope})
		if err != nil {
			return err
		}
		return st.Current(at[0].Mark)
	})
	again, _ := c.refreshed(ctx, err)
	return again
}

// retryOutdated runs fn, which depends on one state of the container. While that state turns out to be
// outdated, it reads the state again and repeats fn. The caller does not hold the catalog's lock.
func (c *Container) retryOutdated(ctx context.Context, fn func() error) error {
	for {
		err := fn()
		if errors.Is(err, host.ErrCatalogMoved) {
			continue // taking the catalog's lock loads the change
		}
		again, err := c.refreshed(ctx, err)
		if !again {
			return err
		}
	}
}

// againLocked runs fn, which depends on one state of the container, and repeats it while that state turns out
// to be outdated. The caller holds the catalog's lock.
func (c *Container) againLocked(ctx context.Context, fn func() error) error {
	for {
		err := fn()
		if errors.Is(err, host.ErrCatalogMoved) {
			if err := c.ds.in.Catalog().Follow(ctx); err != nil {
				return classify.ToFault(err)
			}
			continue
		}
		again, err := c.refreshed(ctx, err)
		if !again {
			return err
		}
	}
}

// againChange calls change, and repeats it with the new state of the container while the state turns out to
// be outdated because another server has changed it.
func (c *Container) againChange(ctx context.Context,
	fn func(container.State, int64) (container.State, error)) error {
	return c.retryOutdated(ctx, func() error { return c.change(ctx, fn) })
}

// commitDrop makes the drop of several containers durable in one transaction. The caller holds the catalog's
// lock and the gates (locks) of the containers.
func (ds *openDataset) commitDrop(ctx context.Context, containers []*Container,
	fn func(*host.CatalogTxn) error) error {
	var scopes [][]byte
	for _, c := range containers {
		scopes = append(scopes, c.state.Load().Scopes()...)
	}
	return ds.changeCatalog(ctx, func(t *host.CatalogTxn) error {
		for _, c := range containers {
			st := c.state.Load()
			for _, s := range st.Ranges {
				if err := st.Current(t.Mark(s.Scope)); err != nil {
					return err
				}
				t.SetMark(s.Scope, 0)
			}
		}
		return fn(t)
	}, scopes...)
}

// retryDrop runs drop, which drops several containers, and repeats it while the state of one of them turns
// out to be outdated. It fails with host.ErrCatalogMoved if another server has dropped one of them meanwhile.
// The caller holds the catalog's lock.
func (ds *openDataset) retryDrop(ctx context.Context, containers []*Container, drop func() error) error {
	for {
		failed := drop()
		var outdated *container.OutdatedStateError
		if !errors.As(failed, &outdated) {
			return failed
		}
		for _, c := range containers {
			_, err := c.refreshed(ctx, failed)
			if fault.ErrorCode(err) == fault.CodeOwnerNotFound {
				return host.ErrCatalogMoved
			}
			if err != nil {
				return err
			}
		}
	}
}

// refresh reads the container's state again, unless it has changed from st already. The caller does not hold
// the container's gate (its lock).
func (c *Container) refresh(ctx context.Context, st *container.State) error {
	err := c.ds.view(ctx, func(r engine.Reader) error { return c.refreshFrom(ctx, r, st) })
	if err != nil {
		return err
	}
	return c.usable(c.state.Load())
}

// refreshFrom reads the container's state again with reader r, unless it has changed from st already. It
// keeps a state that is not older than the stored one.
func (c *Container) refreshFrom(ctx context.Context, r engine.Reader, st *container.State) error {
	if err := c.gate.Shut(ctx); err != nil {
		return err
	}
	defer c.gate.Open()
	if c.state.Load() != st {
		return nil
	}
	next, err := c.reread(r, st)
	if err != nil {
		return classify.ToFault(err)
	}
	if !next.Dropped && next.Version <= st.Version {
		return nil
	}
	for _, scope := range append([][]byte{host.CatalogScope()}, st.Scopes()...) {
		if err := c.ds.settle(ctx, scope, 0); err != nil { // callers may report the new state
			return err
		}
	}
	c.adopt(st, &next)
	return nil
}

// followSplit checks whether a split by another server has ended, if there was one, by reading the state
// again.
func (c *Container) followSplit(ctx context.Context) error {
	if !c.state.Load().Elsewhere {
		return nil
	}
	return c.inspect(ctx, func(*view.ContainerAtTime, *container.State, engine.Reader) error { return nil })
}

// While a server splits a range, the other servers cannot write to it, since the copy would miss their
// writes. Their writes wait for the end of the split. They do not ask the engine meanwhile: the end of a
// split changes the catalog, which each server follows.

// afterSplit checks whether a write has failed with err because another server is splitting the range. If so,
// it waits until that server's split has ended and returns true: the write may be repeated. It waits for
// Options.QueryTime at most. Otherwise it returns err. The caller holds neither the container's gate (its
// lock) nor the catalog's lock.
func (c *Container) afterSplit(ctx context.Context, err error) (bool, error) {
	if !errors.Is(err, container.ErrSplitElsewhere) || !c.ds.in.Shared() {
		return false, err
	}
	alarm, stop := c.ds.opts.Wall.After(c.ds.opts.QueryTime)
	defer stop()
	for {
		change := c.splitEnds.Changed()
		if err := c.followSplit(ctx); err != nil { // the split may have ended before Changed
			return false, err
		}
		if !c.state.Load().Elsewhere {
			return true, nil
		}
		select {
		case <-change:
		case <-alarm:
			return false, err
		case <-ctx.Done():
			return false, classify.ToFault(ctx.Err())
		}
	}
}

// retryAfterSplit runs fn, which changes the container. If fn fails because another server is splitting a
// range, it waits until the split has ended, for Options.QueryTime at most, and runs fn again.
func (c *Container) retryAfterSplit(ctx context.Context, fn func() error) error {
	for {
		again, err := c.afterSplit(ctx, fn())
		if !again {
			return err
		}
	}
}

// storedRecord returns the stored record under the container's name. If the container was dropped, there is
// no record, or it is that of a newer container with another number (CID).
func (c *Container) storedRecord(r engine.Reader) (rec record.Container, err error) {
	raw, err := r.Get(layout.ContainerKey(c.d.rec.Num, c.name))
	if err == nil {
		err = host.DecodeRecord(raw, &rec)
	}
	return rec, err
}

// reread reads the container's records by r and returns the state that they describe. The Partition values of
// st are used again for ranges that still exist. reread does not change the container's current state, which
// may be newer than r.
func (c *Container) reread(r engine.Reader, st *container.State) (next container.State, err error) {
	next = *st
	rec, err := c.storedRecord(r)
	if isAbsent(err) || err == nil && rec.CID != c.cid {
		next.Dropped = true
		return next, nil
	}
	if err != nil {
		return next, err
	}
	spec, _, err := definition.ParseContainerSpec(rec.Spec, false)
	if err != nil {
		return next, fmt.Errorf("%w: container record: %v", engine.ErrCorrupt, err)
	}
	next = container.State{Rec: rec, Spec: spec, Vectors: spec.Vectors(), Elsewhere: st.Elsewhere}
	if rec.Split == nil || st.Rec.Split == nil || *rec.Split != *st.Rec.Split {
		next.Elsewhere = rec.Split != nil
	}
	if err := next.Compile(); err != nil {
		return next, err
	}
	for _, rr := range rec.Ranges {
		i := slices.IndexFunc(st.Ranges, func(s *container.Partition) bool {
			return s.Number == rr.Number && s.Rec.ID == rr.ID
		})
		if i < 0 {
			s, err := container.NewPartition(c.cid, rr)
			if err != nil {
				return next, err
			}
			next.Ranges = append(next.Ranges, s)
			continue
		}
		next.Ranges = append(next.Ranges, st.Ranges[i])
	}
	return next, c.loadInto(r, &next)
}

// adopt makes next, a state that reread has read from the engine, the container's current state in place of
// st. It discards what is cached for the ranges of st and wakes the operations that wait for a change. The
// caller holds the container's gate (its lock) exclusively.
func (c *Container) adopt(st, next *container.State) {
	for _, s := range st.Ranges {
		s.Shapes.Forget()
		s.Rescan.Store(true)
		if next.Rec.IndexRound != st.Rec.IndexRound {
			s.Reindexed.Store(0)
		}
		if !next.Dropped && !slices.Contains(next.Ranges, s) { // a range that was split keeps its position
			s.Behind.Store(s.Shown.Load() + 1)
		}
	}
	c.state.Store(next)
	c.notifier.Notify()
	c.expirySubscribers.Notify()
	c.splitEnds.Notify()
}
