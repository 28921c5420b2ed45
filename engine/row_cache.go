package engine

// RowCacheEngine is an optional interface of an engine that has a row cache: it can keep often-read values
// in memory.
type RowCacheEngine interface {
	// CacheRows turns the row cache on for the keys for which holds returns true. Later Gets of the engine
	// use it, and the Readers of later Views implement RowCacher. holds must be safe for concurrent use, and
	// always return the same for a key. No Update that changes such keys may run during CacheRows.
	CacheRows(holds func(key []byte) bool)
}

// CacheRows turns the row cache of e on for the keys for which holds returns true: see RowCacheEngine. It
// does nothing if e has no row cache.
func CacheRows(e Engine, holds func(key []byte) bool) {
	if c, ok := e.(RowCacheEngine); ok {
		c.CacheRows(holds)
	}
}

// RowCacher is an optional interface of the Readers of an engine with a row cache, which keeps often-read
// values in memory. Reads by an Iterator do not use the cache. A caller that reads single keys by an
// Iterator can use the cache through these methods.
type RowCacher interface {
	// Cached returns the value of a key in the snapshot of the reader, if it is in the cache. The slice is
	// valid as long as that of a Get, and must not be changed.
	Cached(key []byte) (value []byte, ok bool)
	// Cache offers the cache the value that the reader has returned for a key. The slices are copied if the
	// value is kept.
	Cache(key, value []byte)
}
