package container

import (
	"sync"

	"github.com/mayflydb/mayfly/store/internal/split"
)

// DocumentShapeRecordCache caches which shapes have a record in a partition range. A shape is the set of
// paths of a document; a range stores a record for each shape, so that a query finds the documents that lack
// a path. A record is never removed while documents have index entries, so the cache stays valid. A shape
// that is not in the cache may have a record all the same.
type DocumentShapeRecordCache struct {
	mu    sync.RWMutex
	Known map[DocumentShapeHash]struct{}
	full  bool   // there are view.MaxShapes records; no more will be added
	wipe  uint32 // number of the last wipe of the index that the cache has followed
}

// DocumentShapeHash identifies a document's shape (the set of its paths) in the index.
type DocumentShapeHash = split.DocumentShapeHash

// LookUp returns known = true if the cache has the shape (the set of paths of a document) with this name,
// and full = true if the range already has the maximum number of shape records, so that no more may be
// added.
func (b *DocumentShapeRecordCache) LookUp(name DocumentShapeHash) (known, full bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	_, known = b.Known[name]
	return known, b.full
}

// Follow empties the cache if the whole index of the range was deleted since the last call: wipe is the
// number of the last such deletion. If several servers share the engine, it is called inside a transaction
// on the range.
func (b *DocumentShapeRecordCache) Follow(wipe uint32) {
	if b.Wipe() == wipe {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Known, b.full, b.wipe = nil, false, wipe
}

// Wipe returns the number of the latest deletion of the range's whole index that the cache takes into account
// (deletions are counted). Follow sets this number when it empties the cache after such a deletion.
func (b *DocumentShapeRecordCache) Wipe() uint32 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.wipe
}

// Learn adds shapes (sets of paths) of which a transaction has stored or found the records, after its
// commit. full means that the range has the maximum number of shape records. wipe is the number that Wipe
// returned before the transaction: if the whole index of the range has been deleted since, the shapes are
// out of date, and Learn does nothing.
func (b *DocumentShapeRecordCache) Learn(names []DocumentShapeHash, full bool, wipe uint32) {
	if len(names) == 0 && !full {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wipe != wipe {
		return
	}
	if b.Known == nil {
		b.Known = make(map[DocumentShapeHash]struct{})
	}
	for _, n := range names {
		b.Known[n] = struct{}{}
	}
	b.full = b.full || full
}

// Forget empties the cache of shapes, sets of paths of documents.
func (b *DocumentShapeRecordCache) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Known, b.full = nil, false
}
