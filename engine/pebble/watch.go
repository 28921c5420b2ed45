package pebble

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/mayflydb/mayfly/engine"
)

// Watch calls fn with each key and range of keys that a transaction changes, after the change has become
// visible and before Update returns. A single key is a range whose End is nil and single is true. fn must
// be fast, must not call the Engine, and must copy the slices that it keeps. Only one function can watch an
// Engine at a time; stop ends it.
func (e *Engine) Watch(fn func(r engine.Range, single bool)) (stop func()) {
	e.watcher.Store(&fn)
	return func() { e.watcher.CompareAndSwap(&fn, nil) }
}

// changes calls fn with each key and each range of keys that a batch sets or deletes.
func changes(b batchrepr.Reader, fn func(r engine.Range, single bool)) error {
	for {
		kind, key, value, ok, err := b.Next()
		if err != nil || !ok {
			return err
		}
		switch kind {
		case pebble.InternalKeyKindSet, pebble.InternalKeyKindDelete:
			fn(engine.Range{Start: key}, true)
		case pebble.InternalKeyKindRangeDelete:
			fn(engine.Range{Start: key, End: value}, false)
		default:
			return fmt.Errorf("%w: a batch with %v", engine.ErrCorrupt, kind)
		}
	}
}

// DiskUsage estimates how many bytes the keys of a range take on disk.
func (e *Engine) DiskUsage(r engine.Range) (uint64, error) {
	if err := e.enter(); err != nil {
		return 0, err
	}
	defer e.leave()
	start, end := r.Start, r.End
	if len(start) == 0 {
		start = []byte{0}
	}
	if end == nil {
		end = []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}
	}
	n, err := e.db.EstimateDiskUsage(start, end)
	return n, readError(err)
}
