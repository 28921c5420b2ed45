package store

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/transaction"
)

// Containers that delete themselves when nobody uses them.
//
// The last use is kept in memory, in seconds of the data clock, and only for containers whose settings ask
// for it. On disk there is a record with a second up to a minute in the future, until which the container
// counts as used. The record is renewed when a later use is found, so that a container in constant use writes
// one small record a minute, without waiting for the disk. After a crash the stored second counts as the last
// use. So a crash may keep a container for a minute longer. A container can be deleted too early only if its
// last uses before a crash were reads since the last round of the reaper, because those are not stored yet.
// The last write is known from its _ts. Close stores the exact second.
//
// Each round of the reaper looks for containers that have been idle for too long. A container that is the
// archive of another one is never idle.

// usedUntilMargin is added to the second of the last use when that is stored, so that it need not be
// stored at every use: a crash can make the container look used up to 60 seconds longer, but not idle too
// early.
const usedUntilMargin = 60

// beginUse reports the start of a request to the container to the reaper, which yields to requests, and
// records the use for AutoDeleteOnIdle. endUse must be called at the end of the request.
func (c *Container) beginUse() {
	c.ds.in.Enter()
	if c.state.Load().Rec.Settings.AutoDeleteOnIdle > 0 {
		container.Raise(&c.used, c.moment())
	}
}

func (c *Container) endUse() { c.ds.in.Leave() }

// errInUse ends the drop of an idle container that has been used in the meantime.
var errInUse = errors.New("the container was used meanwhile")

// idle reports whether the container has not been used for AutoDeleteOnIdle seconds.
func (c *Container) idle() bool {
	limit := int64(c.state.Load().Rec.Settings.AutoDeleteOnIdle)
	return limit > 0 && c.moment()-c.used.Load() >= limit
}

// tendIdle deletes the containers that have been idle for too long, and stores when the others were used.
// It runs in a turn of the reaper. If the catalog is being changed it does nothing, since the next turn
// follows soon.
func (ds *openDataset) tendIdle(ctx context.Context) error {
	var timed []*Container
	ds.mu.RLock()
	for _, c := range ds.cat.containers {
		if c.state.Load().Rec.Settings.AutoDeleteOnIdle > 0 {
			timed = append(timed, c)
		}
	}
	ds.mu.RUnlock()
	if len(timed) == 0 || !ds.in.Catalog().TryLock() {
		return nil
	}
	defer ds.in.Catalog().Unlock()
	var errs []error
	for _, c := range timed {
		if err := c.tendIdle(ctx); err != nil && fault.ErrorCode(err) != fault.CodeOwnerNotFound {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// tendIdle deletes the container if it has been idle for too long; otherwise it stores when it was used. The
// caller holds the catalog's lock.
func (c *Container) tendIdle(ctx context.Context) error {
	switch used := c.used.Load(); {
	case !c.idle():
		if used <= c.usedKept {
			return nil
		}
		return c.keepUse(ctx, used+usedUntilMargin, true)
	case len(c.archiveOf()) > 0:
		return nil
	}
	if err := c.usedElsewhere(ctx); err != nil || !c.idle() {
		return classify.ToFault(err)
	}
	limit := c.Settings().AutoDeleteOnIdle
	err := c.d.drop(ctx, c, func() error {
		if !c.idle() {
			return errInUse
		}
		return nil
	})
	if errors.Is(err, errInUse) {
		return nil
	}
	if err == nil {
		c.ds.opts.Logger.Info("an idle container was deleted", "database", c.d.ID(),
			"container", c.name, "seconds", limit)
	}
	return err
}

// loadUse reads the stored second of the container's last use, by any server, which decides whether the
// container is idle.
func (c *Container) loadUse(r engine.Reader) error {
	v, err := r.Get(layout.UsedKey(c.cid))
	if err != nil && !isAbsent(err) {
		return err
	}
	if n, ok := layout.NumberOf(v); ok && int64(n) != c.usedKept { // otherwise this server has written it
		container.Raise(&c.used, int64(n))
		c.usedKept = int64(n)
	}
	return nil
}

// usedElsewhere reads the last use that other servers have stored, and updates the last use in memory.
func (c *Container) usedElsewhere(ctx context.Context) error {
	return c.ds.view(ctx, func(r engine.Reader) error {
		if err := c.loadUse(r); err != nil {
			return err
		}
		for _, s := range c.state.Load().Ranges {
			last, err := c.loadMoments(r, s)
			if err != nil {
				return err
			}
			container.Raise(&c.used, last)
		}
		return nil
	})
}

// keepUse stores the second until which the container counts as used. It does nothing if the container has
// been dropped. If relaxed is set, it does not wait until the second is durable.
func (c *Container) keepUse(ctx context.Context, until int64, relaxed bool) error {
	err := c.ds.changeCatalog(ctx, func(t *host.CatalogTxn) error {
		v, err := t.Get(layout.ContainerKey(c.d.rec.Num, c.name))
		if isAbsent(err) {
			return nil
		}
		var rec record.Container
		if err == nil {
			err = host.DecodeRecord(v, &rec)
		}
		if err != nil || rec.CID != c.cid {
			return err
		}
		transaction.SetUsed(t, c.cid, until)
		if relaxed {
			t.Relax()
		}
		return nil
	})
	if err == nil {
		c.usedKept = until
	}
	return err
}

// keepUses stores when containers with AutoDeleteOnIdle were last used. It is called when the data are
// closed and no request is running any more.
func (ds *openDataset) keepUses(ctx context.Context) error {
	ds.mu.RLock()
	containers := ds.cat.containers
	ds.mu.RUnlock()
	var errs []error
	for _, c := range containers {
		st := c.state.Load()
		if used := c.used.Load(); st.Rec.Settings.AutoDeleteOnIdle > 0 && !st.Dropped && used != c.usedKept {
			errs = append(errs, c.keepUse(ctx, used, false))
		}
	}
	return errors.Join(errs...)
}
