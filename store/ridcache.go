package store

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
type ridCache struct {
	seeds   [2]maphash.Seed
	stripes [ridStripes]ridStripe
}

const (
	ridStripes   = 64
	ridPerStripe = 1024
)

type ridStripe struct {
	sync.Mutex
	slots *[ridPerStripe]ridSlotEntry // made at the first put
}

type ridSlotEntry struct{ a, b, rid uint64 }

func (c *ridCache) init() { c.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()} }

func (c *ridCache) place(point []byte) (s *ridStripe, i int, a, b uint64) {
	a, b = maphash.Bytes(c.seeds[0], point), maphash.Bytes(c.seeds[1], point)
	return &c.stripes[a%ridStripes], int(a / ridStripes % ridPerStripe), a, b
}

// get returns the rid last seen under a point key, or 0.
func (c *ridCache) get(point []byte) uint64 {
	s, i, a, b := c.place(point)
	s.Lock()
	defer s.Unlock()
	if s.slots == nil || s.slots[i].a != a || s.slots[i].b != b {
		return 0
	}
	return s.slots[i].rid
}

func (c *ridCache) put(point []byte, rid uint64) {
	s, i, a, b := c.place(point)
	s.Lock()
	defer s.Unlock()
	if s.slots == nil {
		s.slots = new([ridPerStripe]ridSlotEntry)
	}
	s.slots[i] = ridSlotEntry{a, b, rid}
}
