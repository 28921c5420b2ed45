package work

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mayflydb/mayfly/engine"
)

// KeyCountCache caches the numbers of keys in key ranges of an engine, each for one KeyCountVersion of the
// partition range that the keys belong to. A caller may store a number only if all states of that version
// have the same keys in the key range. It is safe for concurrent use.
type KeyCountCache struct {
	recent *lru.Cache[countedKeyRange, cachedKeyCount]
}

// countedKeyRange is a range of keys of the engine, as a key of the cache.
type countedKeyRange struct{ start, end string }

// cachedKeyCount is a cached number of keys, for one version of a partition range.
type cachedKeyCount struct {
	version KeyCountVersion
	keys    int64
}

// KeyCountVersion identifies a state of a partition range whose index entries have been counted (a tally is
// such a count). Two states with the same KeyCountVersion have the same index entries, so a count that was
// cached for one is valid for the other.
type KeyCountVersion struct {
	LSN, Mark     uint64
	Swept, Leased uint64 // the seconds of the last purge and of the last change of a lease
}

// maxTallies is the maximum number of cached key ranges. Each takes about 200 bytes.
const maxTallies = 4096

// NewTallies returns an empty cache.
func NewTallies() *KeyCountCache {
	recent, err := lru.New[countedKeyRange, cachedKeyCount](maxTallies)
	if err != nil {
		panic(err) // the size is a constant above 0
	}
	return &KeyCountCache{recent}
}

// Get returns the number of keys in a key range, or false if it is not cached for the version.
func (t *KeyCountCache) Get(rg engine.Range, v KeyCountVersion) (keys int64, ok bool) {
	one, ok := t.recent.Get(countedKeyRange{string(rg.Start), string(rg.End)})
	return one.keys, ok && one.version == v
}

// Put stores the number of keys in a key range.
func (t *KeyCountCache) Put(rg engine.Range, v KeyCountVersion, keys int64) {
	t.recent.Add(countedKeyRange{string(rg.Start), string(rg.End)}, cachedKeyCount{v, keys})
}
