package work

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mayflydb/mayfly/engine"
)

// TallyCache caches the numbers of keys in key ranges of an engine, each for one TallyVersion of the
// partition range that the keys belong to. A caller may store a number only if all states of that version
// have the same keys in the key range. It is safe for concurrent use.
type TallyCache struct {
	recent *lru.Cache[tallyRange, tally]
}

// tallyRange is a range of keys of the engine, as a key of the cache.
type tallyRange struct{ start, end string }

// tally is a cached number of keys, for one version of a partition range.
type tally struct {
	version TallyVersion
	keys    int64
}

// TallyVersion identifies a state of a partition range whose index entries have been counted (a tally is such
// a count). Two states with the same TallyVersion have the same index entries, so a count that was cached for
// one is valid for the other.
type TallyVersion struct {
	LSN, Mark     uint64
	Swept, Leased uint64 // the seconds of the last purge and of the last change of a lease
}

// maxTallies is the maximum number of cached key ranges. Each takes about 200 bytes.
const maxTallies = 4096

// NewTallies returns an empty cache.
func NewTallies() *TallyCache {
	recent, err := lru.New[tallyRange, tally](maxTallies)
	if err != nil {
		panic(err) // the size is a constant above 0
	}
	return &TallyCache{recent}
}

// Get returns the number of keys in a key range, or false if it is not cached for the version.
func (t *TallyCache) Get(rg engine.Range, v TallyVersion) (keys int64, ok bool) {
	one, ok := t.recent.Get(tallyRange{string(rg.Start), string(rg.End)})
	return one.keys, ok && one.version == v
}

// Put stores the number of keys in a key range.
func (t *TallyCache) Put(rg engine.Range, v TallyVersion, keys int64) {
	t.recent.Add(tallyRange{string(rg.Start), string(rg.End)}, tally{v, keys})
}
