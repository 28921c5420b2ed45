package migrate

import (
	"bytes"
	"slices"
	"sync"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
)

// manyNoted is the number of recorded keys from which on they are copied at once, even in the middle of a
// pass over the source.
const manyNoted = 100_000

// changedKeys records which keys the source has changed after a pass of the migration has read them. Keys
// that the running pass has yet to read are not recorded.
type changedKeys struct {
	mu     sync.Mutex
	reach  []byte // every key below reach has been read
	open   bool   // a chunk is being read, which may end anywhere above reach
	whole  bool   // a pass has read all keys
	keys   map[string]struct{}
	ranges []engine.Range
}

// add records a change of the source, unless the running pass will read the changed keys anyway. It is the
// callback of WatchableSource.Watch. single says that r is the range of one key.
func (c *changedKeys) add(r engine.Range, single bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open && !c.whole && bytes.Compare(r.Start, c.reach) >= 0 {
		return
	}
	if !single {
		c.ranges = append(c.ranges, engine.Range{Start: bytes.Clone(r.Start), End: bytes.Clone(r.End)})
		return
	}
	if bytes.Equal(r.Start, host.HeadKey()) {
		return // the first record of the catalog, which EndMigration writes
	}
	if c.keys == nil {
		c.keys = map[string]struct{}{}
	}
	c.keys[string(r.Start)] = struct{}{}
}

// reading records that a pass is about to read a chunk. Until read is called all changes are recorded,
// because the end of the chunk is not yet known.
func (c *changedKeys) reading() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = true
}

// read records that a pass has read the source up to end. From now on changes below end are recorded, and
// changes above it are not. If end is nil, the pass has read the whole source, and all changes are recorded.
func (c *changedKeys) read(end []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Compare(end, c.reach) > 0 {
		c.reach = end
	}
	c.open, c.whole = false, c.whole || end == nil
}

// take removes and returns the recorded changes, the keys in order.
func (c *changedKeys) take() (keys [][]byte, ranges []engine.Range) {
	c.mu.Lock()
	taken := c.keys
	c.keys, ranges, c.ranges = nil, c.ranges, nil
	c.mu.Unlock()
	for k := range taken {
		keys = append(keys, []byte(k))
	}
	slices.SortFunc(keys, bytes.Compare)
	return keys, ranges
}

// putBack records changes again that take has removed, after their copy failed.
func (c *changedKeys) putBack(keys [][]byte, ranges []engine.Range) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil {
		c.keys = map[string]struct{}{}
	}
	for _, k := range keys {
		c.keys[string(k)] = struct{}{}
	}
	c.ranges = append(c.ranges, ranges...)
}

func (c *changedKeys) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.keys) + len(c.ranges)
}
