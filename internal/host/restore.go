package host

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
)

// Going back to a snapshot does not change the data of the open instance: it opens the snapshot as a second
// one and puts that in the place of the first. Each of the two has its own engine, catalog, clocks, reaper
// and residents, so no operation can ever read of both: one that runs while its instance is replaced is
// refused with engine.ErrClosed, at its next step into the engine at the latest, and its caller looks up anew
// what it works on.
//
// The new instance is a new incarnation of the old: numbers of the catalog go on from the higher of the two,
// and every scope of every tenant goes on above the highest LSN that any scope of the old has issued. So
// nothing that a client still holds names something else than it did.

// Restore puts all data back to a snapshot, at once and in one step: a crash leaves the one or the other.
// What was written since the snapshot is gone; virtual clocks go back too. Operations that run meanwhile fail
// with engine.ErrClosed; see Incarnation. It fails with engine.ErrNoSnapshot and engine.ErrDiskFull,
// ErrNoSnapshots and errors of tenants; where it fails the host goes on as it was.
func (h *Host) Restore(ctx context.Context, name string) error {
	if err := h.work.Lock(ctx); err != nil {
		return err
	}
	defer h.work.Unlock()
	if err := h.turn.Shut(ctx); err != nil {
		return err
	}
	defer h.turn.Open()
	keeper, err := h.keeper()
	if err != nil {
		return err
	}
	old := h.Instance()
	next, err := h.replace(ctx, old, keeper, name)
	if err != nil {
		return err
	}
	next.start() // before anybody can ask it for its reaper
	h.live.Store(next)
	// Nobody waits for what the old one has to say: its data is gone.
	if err := old.end(); err != nil && !Classify(err).Gone() {
		h.opts.Logger.Warn("closing the data that a restore has replaced", "error", err)
	}
	return nil
}

// replace makes a new instance of a snapshot while the catalog of the old one stands still.
func (h *Host) replace(
	ctx context.Context, old *Instance, k engine.Snapshotter, name string,
) (*Instance, error) {
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
	old.highest(scopes) // so that each scope knows its position when the engine has stopped
	virtual := old.clock.virtual()
	clock, _ := old.clock.State()
	var next *Instance
	_, err = k.Restore(ctx, name, func(e engine.Engine) (err error) {
		ctx := context.WithoutCancel(ctx)
		above := head{Next: old.catalog.head.Next, Highest: old.highest(scopes)}
		found, err := adopt(ctx, e, h.opts, h.tenants, above)
		if err != nil {
			return err
		}
		if next, err = moveIn(ctx, h, e, h.opts, h.tenants); err == nil {
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

// highest is the highest LSN that a client can have seen of any of the scopes, or of one that was dropped.
// The caller holds the catalog's lock.
func (in *Instance) highest(scopes [][]byte) uint64 {
	high := in.catalog.head.Highest
	for _, scope := range scopes {
		high = max(high, in.eng.Horizon(scope))
	}
	return high
}
