package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

// The state of a container (policies, settings, tombstones and ranges) is kept in memory as a whole, and in
// records on disk. Several stores may be open over one engine; each has its own copy of the state.
// Therefore states have versions, which are stored in the mark that the engine keeps with each slot's
// scope.
//
// A change of the container is made in the scopes of all of its slots, and raises their marks. A
// transaction compares the mark of its slot with the version of its state first. A read compares the mark
// that it receives with the position of its data. A different version means that another store has changed
// the container. Then everything read is discarded, the state is read again, and the operation starts over.
//
// A container's first version is firstVersion, so that the mark 0 of an erased scope is never a valid
// version.
//
// The upper half of a mark identifies the store that has written to the slot last. A store that finds
// another one there first reads the moments of the last writes in the slot, so that it never dates a write
// before a stored one, whatever the clocks of the servers say (takeOver). A store that is alone does so
// once for each slot.
//
// If the engine tells the time, all stores date their writes by it, behind the slot's lock, so no write is
// dated before a stored one and nobody takes over. Then the upper half identifies the last wipe of the slot's
// index, since what stores have cached about the index ends with it.
//
//	+---------------+---------+
//	| store or wipe | version |   a slot's mark
//	+---------------+---------+
//	     32 bits      32 bits

// versionOf returns the version in a slot's mark.
func versionOf(mark uint64) uint32 { return uint32(mark) }

// ownMark returns a mark that identifies this store.
func (ds *dataset) ownMark(version uint32) uint64 { return uint64(ds.server)<<32 | uint64(version) }

// remark returns mark with another version.
func remark(mark uint64, version uint32) uint64 { return mark&^math.MaxUint32 | uint64(version) }

// elsewhereError reports that an operation has used an outdated state of the container.
type elsewhereError struct{ version uint32 }

func (e *elsewhereError) Error() string {
	return fmt.Sprintf("store: the container has changed since its version %d", e.version)
}

// errSplitElsewhere refuses writes to a range that another store is splitting: that store would not copy
// them.
var errSplitElsewhere = &fault.Error{Code: fault.CodeUnavailable,
	Message: "The partition range is being split by another server.",
	Hint:    "try again"}

// firstVersion is the version of a container's first state.
const firstVersion = 1

// current fails with *elsewhereError if the state is outdated according to a slot's mark.
func (st *containerState) current(mark uint64) error {
	if versionOf(mark) != st.version {
		return &elsewhereError{st.version}
	}
	return nil
}

// writable is the first step of a transaction. It fails if the transaction must not write to the slot: with
// *elsewhereError if the state is outdated, or with errSplitElsewhere if another store is splitting the
// range.
func (c *Container) writable(t engine.Txn, st *containerState, s *partition) error {
	mark := t.Mark(s.scope)
	if err := st.current(mark); err != nil {
		return err
	}
	if st.elsewhere && st.rec.Split.From == s.number {
		return errSplitElsewhere
	}
	return c.takeOver(t, s, mark)
}

// commitRecord makes a change of the container's state durable that also changes its record. fn writes the
// changes, in the scopes of all slots, of new unused ones, and of the catalog. commitRecord sets the
// version of next. The caller holds the catalog's lock and the gate.
func (c *Container) commitRecord(ctx context.Context, st, next *containerState,
	fn func(engine.Txn) error) error {
	return c.ds.changeCatalog(ctx, func(t *host.Change) error {
		t.NoteNumber(uint32(record.HighestID(next.rec.Ranges)))
		return st.commit(t, next, func() error { return fn(t) })
	}, st.scopes()...)
}

// commitTombstones is commitRecord for a change of the tombstones. They are not part of the record, so it
// does not need the catalog.
func (c *Container) commitTombstones(ctx context.Context, st, next *containerState,
	fn func(engine.Txn) error) error {
	_, err := c.ds.eng.Update(ctx, st.scopes(), func(t engine.Txn) error {
		return st.commit(t, next, func() error { return fn(t) })
	})
	return classify.ToFault(err)
}

// commit is the common part of the transactions that replace state st by next.
func (st *containerState) commit(t engine.Txn, next *containerState, fn func() error) error {
	marks := make(map[*partition]uint64, len(st.ranges))
	for _, s := range st.ranges {
		marks[s] = t.Mark(s.scope)
		if err := st.current(marks[s]); err != nil {
			return err
		}
	}
	if st.elsewhere {
		return errSplitElsewhere
	}
	if err := fn(); err != nil {
		return err
	}
	next.version = st.version + 1
	from := uint64(0) // the mark of the split range: its halves keep the store in it
	for _, s := range st.ranges {
		if !slices.Contains(next.ranges, s) {
			from = marks[s]
			t.SetMark(s.scope, 0)
		}
	}
	for _, s := range next.ranges {
		if !slices.Contains(st.ranges, s) {
			marks[s] = from
		}
		t.SetMark(s.scope, remark(marks[s], next.version))
	}
	return nil
}

// takeOver records in the mark of a slot that this store writes to it now. If another store has written
// before, it raises the clock, so that new writes are not dated before the stored ones.
func (c *Container) takeOver(t engine.Txn, s *partition, mark uint64) error {
	if c.ds.timed {
		s.shapes.follow(uint32(mark >> 32))
		return nil
	}
	own := c.ds.ownMark(versionOf(mark))
	if mark == own {
		return nil
	}
	if _, err := c.loadMoments(t, s); err != nil {
		return err
	}
	s.shapes.forget() // records may have been deleted
	t.SetMark(s.scope, own)
	return nil
}

// wipeOf returns the last wipe of a slot's index, 0 if the slot's mark does not have it.
func (ds *dataset) wipeOf(t engine.Txn, s *partition) uint32 {
	if !ds.timed {
		return 0
	}
	return uint32(t.Mark(s.scope) >> 32)
}

// wipeMark returns the mark of a slot for a new wipe of its index.
func (ds *dataset) wipeMark(mark uint64) uint64 {
	wipe := uint32(mark>>32) + 1
	return uint64(wipe)<<32 | uint64(versionOf(mark))
}

// refreshed reports whether an operation has failed because another store has changed the container. If so,
// it has read the state again, and the operation may be repeated.
func (c *Container) refreshed(ctx context.Context, err error) (bool, error) {
	if err == nil {
		return false, nil
	}
	var gone *elsewhereError
	if !errors.As(err, &gone) {
		return false, err
	}
	st, _, _, err := c.look(ctx)
	if err != nil {
		return false, err
	}
	if st.version == gone.version { // else this store has changed it, or it was refreshed already
		err = c.refresh(ctx, st)
	}
	return err == nil, err
}

// outdated is called before refusing a request on the basis of state st alone, without having read
// anything. It reports whether st was outdated; if so, the state has been read again.
func (c *Container) outdated(ctx context.Context, st *containerState) bool {
	scope := st.ranges[0].scope
	err := c.ds.view(ctx, func(r engine.Reader) error {
		at, err := r.Positions([][]byte{scope})
		if err != nil {
			return err
		}
		return st.current(at[0].Mark)
	})
	again, _ := c.refreshed(ctx, err)
	return again
}

// again runs fn, which depends on one state of the container, and repeats it as long as that state was
// outdated. The caller does not hold the catalog's lock.
func (c *Container) again(ctx context.Context, fn func() error) error {
	for {
		err := fn()
		if errors.Is(err, host.ErrCatalogMoved) {
			continue // the next lock of the catalog follows the change
		}
		again, err := c.refreshed(ctx, err)
		if !again {
			return err
		}
	}
}

// againLocked is again for a caller that holds the catalog's lock.
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

// againChange is change, repeated by again.
func (c *Container) againChange(ctx context.Context,
	fn func(containerState, int64) (containerState, error)) error {
	return c.again(ctx, func() error { return c.change(ctx, fn) })
}

// commitDrop is commitRecord for containers that are dropped together. The caller holds the catalog's lock
// and all gates.
func (ds *dataset) commitDrop(ctx context.Context, containers []*Container,
	fn func(*host.Change) error) error {
	var scopes [][]byte
	for _, c := range containers {
		scopes = append(scopes, c.state.Load().scopes()...)
	}
	return ds.changeCatalog(ctx, func(t *host.Change) error {
		for _, c := range containers {
			st := c.state.Load()
			for _, s := range st.ranges {
				if err := st.current(t.Mark(s.scope)); err != nil {
					return err
				}
				t.SetMark(s.scope, 0)
			}
		}
		return fn(t)
	}, scopes...)
}

// refresh reads the container's state again if it is still st. The caller does not hold the gate.
func (c *Container) refresh(ctx context.Context, st *containerState) error {
	err := c.ds.view(ctx, func(r engine.Reader) error { return c.refreshFrom(ctx, r, st) })
	if err != nil {
		return err
	}
	return c.usable(c.state.Load())
}

// refreshFrom is refresh with reader r. It keeps a state that is not older than the stored one.
func (c *Container) refreshFrom(ctx context.Context, r engine.Reader, st *containerState) error {
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
	if !next.dropped && next.version <= st.version {
		return nil
	}
	for _, scope := range append([][]byte{host.CatalogScope()}, st.scopes()...) {
		if err := c.ds.settle(ctx, scope, 0); err != nil { // callers may report the new state
			return err
		}
	}
	c.adopt(st, &next)
	return nil
}

// followSplit checks whether a split by another store has ended, if there was one.
func (c *Container) followSplit(ctx context.Context) error {
	if !c.state.Load().elsewhere {
		return nil
	}
	return c.view(ctx, func(*containerState, int64, engine.Reader) error { return nil })
}

// scopes returns the scopes of the container's slots.
func (st *containerState) scopes() [][]byte {
	list := make([][]byte, len(st.ranges))
	for i, s := range st.ranges {
		list[i] = s.scope
	}
	return list
}

// storedRecord returns the record of the container's name. If the container was dropped, it is absent or
// that of another container.
func (c *Container) storedRecord(r engine.Reader) (rec record.Container, err error) {
	raw, err := r.Get(layout.ContainerKey(c.d.rec.Num, c.name))
	if err == nil {
		err = host.DecodeRecord(raw, &rec)
	}
	return rec, err
}

// reread returns a state made from the stored records. Ranges that st has, too, keep their partition. It
// does not change the container, since r may be older than its state.
func (c *Container) reread(r engine.Reader, st *containerState) (next containerState, err error) {
	next = *st
	rec, err := c.storedRecord(r)
	if isAbsent(err) || err == nil && rec.CID != c.cid {
		next.dropped = true
		return next, nil
	}
	if err != nil {
		return next, err
	}
	spec, _, err := definition.ParseContainerSpec(rec.Spec, false)
	if err != nil {
		return next, fmt.Errorf("%w: container record: %v", engine.ErrCorrupt, err)
	}
	next = containerState{rec: rec, spec: spec, vectors: spec.Vectors(), elsewhere: st.elsewhere}
	if rec.Split == nil || st.rec.Split == nil || *rec.Split != *st.rec.Split {
		next.elsewhere = rec.Split != nil
	}
	if err := next.compile(); err != nil {
		return next, err
	}
	for _, rr := range rec.Ranges {
		i := slices.IndexFunc(st.ranges, func(s *partition) bool {
			return s.number == rr.Slot && s.rec.ID == rr.ID
		})
		if i < 0 {
			s, err := newPartition(c.cid, rr)
			if err != nil {
				return next, err
			}
			next.ranges = append(next.ranges, s)
			continue
		}
		next.ranges = append(next.ranges, st.ranges[i])
	}
	return next, c.loadInto(r, &next)
}

// adopt makes next, which reread has returned, the container's state. The caller holds the gate.
func (c *Container) adopt(st, next *containerState) {
	for _, s := range st.ranges {
		s.shapes.forget()
		s.rescan.Store(true)
		if next.rec.IndexRound != st.rec.IndexRound {
			s.reindexed.Store(0)
		}
		if !next.dropped && !slices.Contains(next.ranges, s) { // its position stays what it was at the split
			s.behind.Store(s.shown.Load() + 1)
		}
	}
	c.state.Store(next)
	c.watch.Notify()
	c.expirySubscribers.Notify()
}
