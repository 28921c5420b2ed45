package pebble

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
)

// Restore replaces the data by those of a snapshot in one step, and returns the engine that has them: see
// engine.Snapshotter. It copies and opens the snapshot while this engine still runs. Only then it refuses
// calls, until adopt, which may write to the new engine, has returned and a few syncs have completed.
func (e *Engine) Restore(ctx context.Context, name string,
	adopt func(next engine.Engine) error) (engine.Engine, error) {
	var next *Engine
	err := e.withSnapshot(ctx, name, func(h *dataFolder) (err error) {
		if err := e.fence.err(); err != nil {
			return err
		}
		next, err = h.openCopy(name, livePrefix)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := e.replaceWith(next, adopt); err != nil {
		return nil, err
	}
	return next, nil
}

// errReplaced is the error that stops an engine from writing to the disk after Restore has replaced it.
var errReplaced = errors.New("its data was replaced by a snapshot's")

// replaceWith stops e and makes next, on which it first calls adopt, the engine of the data folder. If that
// fails, e continues.
func (e *Engine) replaceWith(next *Engine, adopt func(engine.Engine) error) error {
	e.stop()
	h := e.folder
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
	if errors.Is(err, errHalfRestored) {
		// It is unknown which data are current, so neither engine may write: both fences trip, and no file
		// is removed.
		e.fence.trip(err)
		next.fence.trip(err)
		next.afterClose = func() error { return nil }
		return errors.Join(e.fence.err(), next.Close())
	}
	if err != nil {
		return errors.Join(err, next.Close())
	}
	moved = true
	old := e.dir
	e.folder, e.afterClose = nil, func() error { h.erase(old); return nil }
	next.folder, next.afterClose = h, h.lock.Close
	return nil
}

// stop refuses new calls and waits until the running ones have returned. Storing false in shut admits calls
// again.
func (e *Engine) stop() {
	e.shut.Store(true)
	for e.activeCalls.Load() > 0 {
		<-e.drained
	}
}
