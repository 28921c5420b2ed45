package pebble

import (
	"bytes"
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// rowCache keeps the values of single keys that are read often. A lookup in Pebble searches a block in each
// level of its tree; a lookup here is one access of a map.
//
// A value in the cache is always the newest committed one. Whether it is also the value in the snapshot of
// a reader is decided by epochs. Each commit that changes keys goes through three steps:
//
//	begin    removes its keys from the cache and counts it as pending in the slots of the keys
//	(apply)  the commit becomes visible
//	end      takes the next epoch, stores it in the slots of its keys, and is not pending any more
//
// A reader notes the current epoch before it opens its snapshot. It uses the cache for a key, to read or to
// store a value, only if no commit is pending in the slot of the key and the epoch in the slot is not higher
// than the reader's. Then all changes of the key so far are in the snapshot: a commit that is not in the
// snapshot becomes visible after the reader has noted its epoch, so it is either pending, or has ended with
// a higher epoch, or has not begun and so has not changed anything.
type rowCache struct {
	seed   maphash.Seed
	holds  atomic.Pointer[func(key []byte) bool] // see Engine.CacheRows; nil: the cache is not used
	epoch  atomic.Uint64
	shards [rowShards]rowCacheShard
}

const (
	rowShards = 64
	rowSlots  = 64 // of a shard
	// maxCachedRow is the size of the largest value that is cached.
	maxCachedRow = 16 << 10
	// rowOverhead is the approximate memory of a cached value beside its key and its bytes.
	rowOverhead = 128
	// maxRowCache is the maximum memory of a row cache in bytes. Below that maximum, a row cache has one part
	// in rowCacheShare of the memory that the engine may use for caches.
	maxRowCache   = 32 << 20
	rowCacheShare = 8
)

// rowCacheBytes returns the memory of the row cache if an engine may use cacheBytes for caches.
func rowCacheBytes(cacheBytes int64) int64 { return min(cacheBytes/rowCacheShare, maxRowCache) }

// rowCacheShard is a part of a rowCache with a lock of its own.
type rowCacheShard struct {
	mu    sync.Mutex
	rows  map[uint64]*cachedRow // by the hash of the key; a row replaces another with the same hash
	ring  []*cachedRow          // all rows, around which the hand goes
	hand  int                   // index in ring of the row that is considered next for eviction
	size  int64
	limit int64
	slots [rowSlots]rowCacheSlotCommits
	// offered has a bit for each hash of a key that was offered lately, and count is their number. A value is
	// stored when it is offered for the second time, so that a query that reads many documents once does not
	// evict the others.
	offered [offeredWords]uint64
	count   int
}

// cachedRow is a key with its value.
type cachedRow struct {
	hash  uint64
	key   string
	value []byte
	at    int  // its index in the ring
	used  bool // since the hand passed
}

// rowCacheSlotCommits describes the commits that change keys of one slot of the row cache, the keys whose
// hashes belong to the same group. It has the number of commits that are about to become visible (pending),
// and the count of ended commits when the last one of the slot ended (changed).
type rowCacheSlotCommits struct {
	pending int
	changed uint64 // epoch of the last commit that has ended
}

func newRowCache(size int64) *rowCache {
	c := &rowCache{seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].rows, c.shards[i].limit = map[uint64]*cachedRow{}, size/rowShards
	}
	return c
}

// CacheRows makes the engine keep values that are read often in memory: see engine.RowCacheEngine.
func (e *Engine) CacheRows(holds func(key []byte) bool) { e.rows.holds.Store(&holds) }

// hash returns the hash of a key, or false if the cache does not hold the values of such keys.
func (c *rowCache) hash(key []byte) (hash uint64, ok bool) {
	if holds := c.holds.Load(); holds == nil || !(*holds)(key) {
		return 0, false
	}
	return maphash.Bytes(c.seed, key), true
}

// lock locks the shard of the cache that belongs to a key's hash. It returns the shard, which the caller
// unlocks, and the slot in it, which all keys with this hash share.
func (c *rowCache) lock(hash uint64) (*rowCacheShard, *rowCacheSlotCommits) {
	s := &c.shards[hash%rowShards]
	s.mu.Lock()
	return s, &s.slots[hash/rowShards%rowSlots]
}

// shows reports whether a snapshot has the latest values of all keys in the slot: no commit of such a key is
// pending, and the last one had ended before the snapshot was opened. epoch is the count of ended commits
// that was read before the snapshot was opened.
func (s *rowCacheSlotCommits) shows(epoch uint64) bool { return s.pending == 0 && s.changed <= epoch }

// get returns the cached value of a key with the hash h, if that is the value in the reader's snapshot;
// otherwise it returns false. epoch is the number of ended commits that the reader has read before it opened
// the snapshot.
func (c *rowCache) get(h uint64, key []byte, epoch uint64) ([]byte, bool) {
	s, slot := c.lock(h)
	defer s.mu.Unlock()
	row := s.rows[h]
	if row == nil || row.key != string(key) || !slot.shows(epoch) {
		return nil, false
	}
	row.used = true
	return row.value, true
}

// put offers the cache the value of a key with the hash h. The value was read from a snapshot; epoch is the
// count of ended commits that the reader read before it opened the snapshot. The value is stored if it is the
// newest one and was offered before.
func (c *rowCache) put(h uint64, key, value []byte, epoch uint64) {
	if len(value) > maxCachedRow {
		return
	}
	s, slot := c.lock(h)
	defer s.mu.Unlock()
	if !s.offer(h) || !slot.shows(epoch) {
		return
	}
	if old := s.rows[h]; old != nil {
		s.remove(old)
	}
	row := &cachedRow{hash: h, key: string(key), value: bytes.Clone(value), at: len(s.ring)}
	s.rows[h] = row
	s.ring = append(s.ring, row)
	s.size += row.size()
	s.evict()
}

// A shard remembers which keys were offered by one bit each, and forgets all of them after maxOffered keys.
// Two keys with the same bit are not told apart; with these numbers that happens to one key in 32.
const (
	maxOffered   = 1024
	offeredWords = 256 // of 64 bits
)

// offer sets the bit of a key with the given hash, and reports whether it was set already: then the key was
// very probably offered before.
func (s *rowCacheShard) offer(hash uint64) bool {
	bit := hash / rowShards / rowSlots
	word, mask := &s.offered[bit/64%offeredWords], uint64(1)<<(bit%64)
	if *word&mask != 0 {
		return true
	}
	if s.count++; s.count > maxOffered {
		s.offered, s.count = [offeredWords]uint64{}, 1
	}
	*word |= mask
	return false
}

func (r *cachedRow) size() int64 { return int64(len(r.key)+len(r.value)) + rowOverhead }

// evict removes rows until the shard is within its limit, by the CLOCK algorithm: the hand goes around the
// ring, and spares each row once that was used since it last passed.
func (s *rowCacheShard) evict() {
	for s.size > s.limit {
		s.hand %= len(s.ring)
		if row := s.ring[s.hand]; row.used {
			row.used = false
			s.hand++
		} else {
			s.remove(row)
		}
	}
}

// remove removes a row. The last row of the ring takes its place.
func (s *rowCacheShard) remove(row *cachedRow) {
	delete(s.rows, row.hash)
	s.size -= row.size()
	last := len(s.ring) - 1
	s.ring[row.at], s.ring[last].at = s.ring[last], row.at
	s.ring[last] = nil
	s.ring = s.ring[:last]
}

// begin prepares the cache for a commit that is about to become visible. The commit changes the keys with
// these hashes or, if all is set, any keys.
func (c *rowCache) begin(hashes []uint64, all bool) {
	if all {
		for i := range c.shards {
			c.shards[i].beginAll()
		}
	}
	for _, h := range hashes {
		s, slot := c.lock(h)
		slot.pending++
		if row := s.rows[h]; row != nil {
			s.remove(row)
		}
		s.mu.Unlock()
	}
}

// end informs the cache that a commit has become visible to new snapshots. The commit has changed the keys
// with these hashes or, if all is set, any keys.
func (c *rowCache) end(hashes []uint64, all bool) {
	if len(hashes) == 0 && !all {
		return
	}
	epoch := c.epoch.Add(1)
	if all {
		for i := range c.shards {
			c.shards[i].endAll(epoch)
		}
	}
	for _, h := range hashes {
		s, slot := c.lock(h)
		slot.end(epoch)
		s.mu.Unlock()
	}
}

// end records that a commit that changes keys of the slot has become visible. epoch is the number of commits
// that have ended, including this one.
func (s *rowCacheSlotCommits) end(epoch uint64) {
	s.pending--
	s.changed = max(s.changed, epoch)
}

// beginAll prepares the shard for a commit that changes a range of keys: it removes all rows, since any of
// them may be in the range, and counts the commit as pending in all slots.
func (s *rowCacheShard) beginAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.rows)
	s.ring, s.hand, s.size = nil, 0, 0
	for i := range s.slots {
		s.slots[i].pending++
	}
}

func (s *rowCacheShard) endAll(epoch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.slots {
		s.slots[i].end(epoch)
	}
}

// Cached returns a value from the row cache: see engine.RowCacher.
func (s *snapshotReader) Cached(key []byte) (value []byte, ok bool) {
	if s.base == nil {
		return nil, false // there is no snapshot yet
	}
	hash, ok := s.e.rows.hash(key)
	if !ok {
		return nil, false
	}
	return s.e.rows.get(hash, key, s.epoch)
}

// Cache offers a value to the row cache: see engine.RowCacher.
func (s *snapshotReader) Cache(key, value []byte) {
	if s.base == nil {
		return
	}
	if hash, ok := s.e.rows.hash(key); ok {
		s.e.rows.put(hash, key, value, s.epoch)
	}
}

// changeRow records the change of a key for the row cache.
func (t *txn) changeRow(key []byte) {
	if h, ok := t.e.rows.hash(key); ok {
		t.rows = append(t.rows, h)
	}
}
