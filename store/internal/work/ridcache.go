package work

import (
	"hash/crc32"
	"hash/maphash"
	"sync"
)

// ItemRIDCache maps point keys (the engine key of an item's partition key and id) to rids (the number of an
// item in its container), so that a repeated point read needs one look-up in the engine instead of two. It
// is a hash table without chains: each key has one position, and a new entry replaces the old one.
//
// A stale entry cannot cause a wrong result. The partition key of the item with a rid never changes, and
// the header of an item marks that it has had another id. So a stale entry has the rid of an item that
// does not exist any more, or of a marked item whose id the reader compares. In both cases the reader
// looks up the point key. Keys are compared by 128 bits of two seeded hashes. The position is chosen by a
// checksum without a seed, so that the same entries replace each other in each run of a test.
type ItemRIDCache struct {
	seeds   [2]maphash.Seed
	stripes [RIDStripes]ridCacheStripe
}

// The size of a cache: RIDStripes stripes, each with its own lock and RIDPerStripe entries.
const (
	RIDStripes   = 64
	RIDPerStripe = 1024
)

// ridCacheStripe is a part of an ItemRIDCache with a lock of its own.
type ridCacheStripe struct {
	sync.Mutex
	slots *[RIDPerStripe]ridCacheEntry // allocated at the first Put
}

// ridCacheEntry is a cached rid; a and b are the two hashes of its point key.
type ridCacheEntry struct{ a, b, rid uint64 }

// Seed initialises the cache. It must be called before all other methods.
func (c *ItemRIDCache) Seed() { c.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()} }

// castagnoli is the table of the checksum CRC-32C, for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (c *ItemRIDCache) place(point []byte) (s *ridCacheStripe, i int, a, b uint64) {
	at := crc32.Checksum(point, castagnoli)
	a, b = maphash.Bytes(c.seeds[0], point), maphash.Bytes(c.seeds[1], point)
	return &c.stripes[at%RIDStripes], int(at / RIDStripes % RIDPerStripe), a, b
}

// Get returns the rid (an item's number in its container) that was last stored for a point key, or 0.
func (c *ItemRIDCache) Get(point []byte) uint64 {
	s, i, a, b := c.place(point)
	s.Lock()
	defer s.Unlock()
	if s.slots == nil || s.slots[i].a != a || s.slots[i].b != b {
		return 0
	}
	return s.slots[i].rid
}

// Put stores the rid of an item under its point key, the key that a point read looks up first.
func (c *ItemRIDCache) Put(point []byte, rid uint64) {
	s, i, a, b := c.place(point)
	s.Lock()
	defer s.Unlock()
	if s.slots == nil {
		s.slots = new([RIDPerStripe]ridCacheEntry)
	}
	s.slots[i] = ridCacheEntry{a, b, rid}
}
