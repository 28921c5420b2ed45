package store

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

// Containers that delete themselves when nobody uses them.
//
// A use is remembered in memory, in seconds of the data clock, and only where the settings ask for it. What
// is stored of it is a promise ahead: "used until this second, at the latest". It is renewed when a use lies
// behind it, so that a container that is used all the time writes one small record a minute, without waiting
// for the disk. After a crash the promise stands for the use; it may keep a container a minute longer, never
// delete one early, but for reads of the last round, which were nowhere yet. A write is known by the _ts that
// it left. Close stores the very second.
//
// The reaper's rounds look for containers whose time has come. One that is the archive of another is never
// idle.

// usePromise is how far ahead of a use its record says that the container is in use, in seconds.
const usePromise = 60

// beginUse and endUse go around a request to the container: for the reaper, which gives way to it, and for
// AutoDeleteOnIdle.
func (c *Container) beginUse() {
	c.ds.in.Enter()
	if c.state.Load().rec.Settings.AutoDeleteOnIdle > 0 {
		raise(&c.used, c.moment())
	}
}

func (c *Container) endUse() { c.ds.in.Leave() }

// errInUse is why an idle container is not dropped after all.
var errInUse = errors.New("the container was used meanwhile")

// idle reports whether the container's time without use is over.
func (c *Container) idle() bool {
	limit := int64(c.state.Load().rec.Settings.AutoDeleteOnIdle)
	return limit > 0 && c.moment()-c.used.Load() >= limit
}

// tendIdle deletes the containers that have been idle for too long, and stores when the others were used. It
// is called in a turn of the reaper; while the catalog is being changed it does nothing, since the next turn
// is soon.
func (ds *dataset) tendIdle(ctx context.Context) error {
	var timed []*Container
	ds.mu.RLock()
	for _, c := range ds.cat.containers {
		if c.state.Load().rec.Settings.AutoDeleteOnIdle > 0 {
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

// tendIdle is DB.tendIdle for one container. The caller holds the catalog's lock.
func (c *Container) tendIdle(ctx context.Context) error {
	switch used := c.used.Load(); {
	case !c.idle():
		if used <= c.usedKept {
			return nil
		}
		return c.keepUse(ctx, used+usePromise, true)
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
		c.ds.opts.Logger.Info("a container that nobody has used was deleted", "database", c.d.ID(),
			"container", c.name, "seconds", limit)
	}
	return err
}

// loadUse reads when the container was last used, as far as that is known.
func (c *Container) loadUse(r engine.Reader) error {
	v, err := r.Get(layout.UsedKey(c.cid))
	if err != nil && !isAbsent(err) {
		return err
	}
	if n, ok := layout.NumberOf(v); ok && int64(n) != c.usedKept { // else it is this store's own promise
		raise(&c.used, int64(n))
		c.usedKept = int64(n)
	}
	return nil
}

// usedElsewhere reads when other stores over the engine have used the container: they may have stored it.
func (c *Container) usedElsewhere(ctx context.Context) error {
	return c.ds.view(ctx, func(r engine.Reader) error {
		if err := c.loadUse(r); err != nil {
			return err
		}
		for _, s := range c.state.Load().ranges {
			last, err := c.loadMoments(r, s)
			if err != nil {
				return err
			}
			raise(&c.used, last)
		}
		return nil
	})
}

// keepUse stores a second until which the container counts as used, unless it has been dropped.
func (c *Container) keepUse(ctx context.Context, until int64, relaxed bool) error {
	err := c.ds.changeCatalog(ctx, func(t *host.Change) error {
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
		setUsed(t, c.cid, until)
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

// keepUses stores when containers were last used, where their settings ask for it. The store is at rest.
func (ds *dataset) keepUses(ctx context.Context) error {
	ds.mu.RLock()
	containers := ds.cat.containers
	ds.mu.RUnlock()
	var errs []error
	for _, c := range containers {
		st := c.state.Load()
		if used := c.used.Load(); st.rec.Settings.AutoDeleteOnIdle > 0 && !st.dropped && used != c.usedKept {
			errs = append(errs, c.keepUse(ctx, used, false))
		}
	}
	return errors.Join(errs...)
}
