package pebble

import "runtime/debug"

const (
	minCache = 64 << 20
	maxCache = 1 << 30

	// cacheShare is the share of the memory that the block cache may use. Blocks are on Go's heap, which may
	// grow to twice its live bytes, so the process needs up to twice this share.
	cacheShare = 32
)

// defaultCache returns the size of the block cache for a computer or container with memory bytes and a limit
// of Go's runtime, as GOMEMLIMIT sets it.
func defaultCache(memory, limit int64) int64 {
	return min(max(min(memory, limit)/cacheShare, minCache), maxCache)
}

// goMemoryLimit returns the limit of Go's runtime; math.MaxInt64 is none.
func goMemoryLimit() int64 { return debug.SetMemoryLimit(-1) }
