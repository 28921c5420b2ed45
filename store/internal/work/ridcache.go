package work

import (
	"hash/maphash"
	"sync"
)

// ridCache remembers the rids of point keys, so that a repeated point read is one look-up in the engine
// instead of two. It is a table without chains: a key has one place, and whoever comes last has it.
//
// A wrong answer is impossible by what a rid is: the item that a rid names has one partition key for ever,
// and an item that has ever had another id says so in its header. So an entry that has gone stale names an
// item that is gone, or one whose id the reader looks at, and then goes the long way. Keys are compared by
// 128 bits of two seeded hashes.
type RIDCache struct {
	seeds   [2]maphash.Seed
	stripes [RIDStripes]ridStripe
}

// The size of a cache: RIDStripes parts with a lock each, of RIDPerStripe entries.
const (
	RIDStripes   = 64
	RIDPerStripe = 1024
)

type ridStripe struct {
	sync.Mutex
	slots *[RIDPerStripe]ridSlotEntry // made at the first put
}

type ridSlotEntry struct{ a, b, rid uint64 }

// Seed makes the cache ready; it comes before all other calls.
func (c *RIDCache) Seed() { c.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()} }

func (c *RIDCache) place(point []byte) (s *ridStripe, i int, a, b uint64) {
	a, b = maphash.Bytes(c.seeds[0], point), maphash.Bytes(c.seeds[1], point)
	return &c.stripes[a%RIDStripes], int(a / RIDStripes % RIDPerStripe), a, b
}

// Get returns the rid last seen under a point key, or 0.
func (c *RIDCache) Get(point []byte) uint64 {
	s, i, a, b := c.place(point)
	s.Lock()
	defer s.Unlock()
	if s.slots == nil || s.slots[i].a != a || s.slots[i].b != b {
		return 0
	}
	return s.slots[i].rid
}

// Put remembers the rid of a point key.
func (c *RIDCache) Put(point []byte, rid uint64) {
	s, i, a, b := c.place(point)
	s.Lock()
	defer s.Unlock()
	if s.slots == nil {
		s.slots = new([RIDPerStripe]ridSlotEntry)
	}
	s.slots[i] = ridSlotEntry{a, b, rid}
}
