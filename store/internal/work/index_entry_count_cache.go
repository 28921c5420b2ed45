package work

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mayflydb/mayfly/engine"
)

// IndexEntryCountCache caches counts of index entries, which queries use for COUNT and to choose an index. A
// count belongs to an interval of the index entries of a partition range, given as a range of engine keys,
// and to an IndexEntryCountVersion of the partition range. A caller may store a count only if all states of
// that version have the same index entries in the interval. The cache is safe for concurrent use.
type IndexEntryCountCache struct {
	recent *lru.Cache[indexEntryCountCacheKey, cachedIndexEntryCount]
}

// indexEntryCountCacheKey is the range of the engine keys of index entries, as a key of the cache.
type indexEntryCountCacheKey struct{ start, end string }

// cachedIndexEntryCount is a cached number of index entries, for one version of a partition range.
type cachedIndexEntryCount struct {
	version IndexEntryCountVersion
	entries int64
}

// IndexEntryCountVersion identifies the set of index entries of a partition range. Two states of the range
// with the same version have the same index entries, so a count that was cached for one is valid for the
// other.
type IndexEntryCountVersion struct {
	LSN, Mark     uint64
	Swept, Leased uint64 // the seconds of the last purge and of the last change of a lease
}

// maxCachedCounts is the maximum number of cached key ranges. Each takes about 200 bytes.
const maxCachedCounts = 4096

// NewIndexEntryCountCache returns an empty cache.
func NewIndexEntryCountCache() *IndexEntryCountCache {
	recent, err := lru.New[indexEntryCountCacheKey, cachedIndexEntryCount](maxCachedCounts)
	if err != nil {
		panic(err) // the size is a constant above 0
	}
	return &IndexEntryCountCache{recent}
}

// Get returns the number of index entries in a key range, or false if it is not cached for the version.
func (t *IndexEntryCountCache) Get(rg engine.Range, v IndexEntryCountVersion) (entries int64, ok bool) {
	one, ok := t.recent.Get(indexEntryCountCacheKey{string(rg.Start), string(rg.End)})
	return one.entries, ok && one.version == v
}

// Put stores the number of index entries in a key range.
func (t *IndexEntryCountCache) Put(rg engine.Range, v IndexEntryCountVersion, entries int64) {
	t.recent.Add(indexEntryCountCacheKey{string(rg.Start), string(rg.End)}, cachedIndexEntryCount{v, entries})
}
