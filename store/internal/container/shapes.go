package container

import (
	"sync"

	"github.com/mayflydb/mayfly/store/internal/split"
)

// ShapeBook caches the shapes that have a record in a range. A record is never removed while documents have
// index entries, so the cache stays valid. Shapes that are not in it are looked up.
type ShapeBook struct {
	mu    sync.RWMutex
	Known map[ShapeName]struct{}
	full  bool   // there are view.MaxShapes records; no more will be added
	wipe  uint32 // the last wipe of the index that the cache knows: see Follow
}

// ShapeName is the name of a shape in the index.
type ShapeName = split.Shape

// LookUp reports whether a shape is known to have a record, and whether there is no room for more.
func (b *ShapeBook) LookUp(name ShapeName) (known, full bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	_, known = b.Known[name]
	return known, b.full
}

// Follow empties the cache if the last wipe of the index is another one than the cache knows. It is called
// under the lock of the range's scope, if several stores tell each other of wipes.
func (b *ShapeBook) Follow(wipe uint32) {
	if b.Wipe() == wipe {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Known, b.full, b.wipe = nil, false, wipe
}

// Wipe returns the last wipe of the index that the cache knows.
func (b *ShapeBook) Wipe() uint32 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.wipe
}

// Learn adds the shapes that a transaction has found, after its commit. wipe is the last wipe of the index
// before the transaction: if the cache knows another one since, the shapes are out of date.
func (b *ShapeBook) Learn(names []ShapeName, full bool, wipe uint32) {
	if len(names) == 0 && !full {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wipe != wipe {
		return
	}
	if b.Known == nil {
		b.Known = make(map[ShapeName]struct{})
	}
	for _, n := range names {
		b.Known[n] = struct{}{}
	}
	b.full = b.full || full
}

// Forget empties the cache.
func (b *ShapeBook) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Known, b.full = nil, false
}
