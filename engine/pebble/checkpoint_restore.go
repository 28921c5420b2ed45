package pebble

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
)

// Restore implements engine.Snapshotter. The time that calls are refused for is that of adopt and of a few
// syncs; copying and opening the snapshot happen before, beside the running engine.
func (e *Engine) Restore(ctx context.Context, name string,
	adopt func(next engine.Engine) error) (engine.Engine, error) {
	var next *Engine
	err := e.withSnapshot(ctx, name, func(h *home) (err error) {
		if err := e.fence.err(); err != nil {
			return err
		}
		next, err = h.openCopy(name, livePrefix)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := e.succeed(next, adopt); err != nil {
		return nil, err
	}
	return next, nil
}

// errReplaced is why the disk is cut off from an engine whose data does not count any more.
var errReplaced = errors.New("its data was replaced by a snapshot's")

// succeed stops e and lets next take its place, or lets e go on.
func (e *Engine) succeed(next *Engine, adopt func(engine.Engine) error) error {
	e.stop()
	h := e.home
	moved := false
	defer func() {
		if !moved {
			e.shut.Store(false)
		}
	}()
	err := adopt(next)
	if err == nil {
		err = next.sync()
	}
	if err == nil {
		err = h.move(next.dir)
	}
	if errors.Is(err, errUnknown) {
		// Neither engine may write to what may not count: both are cut off, and what is on disk stays.
		e.fence.trip(err)
		next.fence.trip(err)
		next.after = func() error { return nil }
		return errors.Join(e.fence.err(), next.Close())
	}
	if err != nil {
		return errors.Join(err, next.Close())
	}
	moved = true
	old := e.dir
	e.home, e.after = nil, func() error { h.erase(old); return nil }
	next.home, next.after = h, h.lock.Close
	return nil
}

// stop shuts the door and waits until nobody is inside. Storing false in shut opens it again.
func (e *Engine) stop() {
	e.shut.Store(true)
	for e.inside.Load() > 0 {
		<-e.empty
	}
}
