package host

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
)

// A restore does not change the data of the open instance. It opens the snapshot as a second instance and
// replaces the first one by it. Each instance has its own engine, catalog, clocks, reaper and open tenants,
// so no operation can read from both. An operation that runs while its instance is replaced fails with
// engine.ErrClosed on its next engine call, and its caller looks up its objects again.
//
// The new instance is a new incarnation. Catalog numbers continue from the higher of the two, and every
// scope of every tenant continues above the highest LSN that any scope of the old instance has issued. So
// an identifier that a client has stored never identifies something else.

// Restore replaces all data by a snapshot, in one step: after a crash there is either the old or the new
// data. Writes since the snapshot are lost; virtual clocks go back too. Operations that run during the
// restore fail with engine.ErrClosed; see Incarnation. Restore fails with engine.ErrNoSnapshot,
// engine.ErrDiskFull, ErrNoSnapshots and errors of tenants; then the host continues as before.
func (h *Host) Restore(ctx context.Context, name string) error {
	if err := h.work.Lock(ctx); err != nil {
		return err
	}
	defer h.work.Unlock()
	if err := h.restoreGate.Shut(ctx); err != nil {
		return err
	}
	defer h.restoreGate.Open()
	keeper, err := h.snapshotter()
	if err != nil {
		return err
	}
	old := h.Instance()
	next, err := h.replace(ctx, old, keeper, name)
	if err != nil {
		return err
	}
	next.start() // before any caller can use its reaper
	h.live.Store(next)
	// Errors of the old instance that only say it is closed do not matter: its data are deleted.
	if err := old.end(); err != nil && !Classify(err).Gone() {
		h.opts.Logger.Warn("the data that a restore has replaced could not be closed", "error", err)
	}
	return nil
}

// replace opens a snapshot as the host's new instance, while the catalog of the old instance is locked.
func (h *Host) replace(
	ctx context.Context, old *EngineInstance, k engine.Snapshotter, name string,
) (*EngineInstance, error) {
	if err := old.catalog.Lock(ctx); err != nil {
		return nil, err
	}
	defer old.catalog.Unlock()
	var scopes [][]byte
	err := old.eng.View(ctx, func(r engine.Reader) (err error) {
		scopes, err = scopesOf(r, h.tenants)
		return err
	})
	if err != nil {
		return nil, err
	}
	old.highest(scopes) // so that the position of each scope is in memory when the engine has stopped
	virtual := old.clock.virtual()
	clock, _ := old.clock.State()
	var next *EngineInstance
	_, err = k.Restore(ctx, name, func(e engine.Engine) (err error) {
		ctx := context.WithoutCancel(ctx)
		above := catalogHeader{Next: old.catalog.head.Next, Highest: old.highest(scopes)}
		found, err := adopt(ctx, e, h.opts, h.tenants, above)
		if err != nil {
			return err
		}
		if next, err = openInstance(ctx, h, e, h.opts, h.tenants); err == nil {
			next.found = found
		}
		return err
	})
	if err != nil {
		if virtual != nil {
			err = errors.Join(err, virtual.Restore(clock))
		}
		return nil, err
	}
	return next, nil
}

// highest returns the highest LSN that a client can have received from one of the engine scopes, which are
// key prefixes with a sequence of LSNs each, or from a dropped scope. The caller holds the catalog's lock.
func (in *EngineInstance) highest(scopes [][]byte) uint64 {
	high := in.catalog.head.Highest
	for _, scope := range scopes {
		high = max(high, in.eng.Horizon(scope))
	}
	return high
}
