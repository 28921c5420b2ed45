package pebble

import "runtime/debug"

const (
	minCache = 64 << 20
	maxCache = 1 << 30

	// cacheShare is a divisor: by default Pebble's block cache may use 1/32 of the memory, between minCache
	// and maxCache. Blocks are on Go's heap, which may grow to twice its live bytes, so the process may need
	// twice as much.
	cacheShare = 32
)

// defaultCache returns the default size of the block cache in bytes. memory is the memory of the computer
// or container, limit the memory limit of Go's runtime (GOMEMLIMIT), both in bytes.
func defaultCache(memory, limit int64) int64 {
	return min(max(min(memory, limit)/cacheShare, minCache), maxCache)
}

// goMemoryLimit returns the limit of Go's runtime; math.MaxInt64 is none.
func goMemoryLimit() int64 { return debug.SetMemoryLimit(-1) }
