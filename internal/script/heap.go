package script

import (
	"runtime"
	"runtime/metrics"
)

// heapGrowthMeter measures the growth of the process's heap since a script began. Go's runtime cannot measure
// a single goroutine, so allocations of other goroutines count as well. This is acceptable because the
// purpose is to protect the process. Garbage does not count: if the heap seems too large, the meter runs a
// garbage collection and checks the size of the live heap. If that is within the limit, the meter does not
// run another collection until the heap has grown further.
type heapGrowthMeter struct {
	samples   [3]metrics.Sample
	base      int64 // bytes in use when the script began
	threshold int64 // bytes in use from which on a collection is needed
}

const (
	heapObjects = "/memory/classes/heap/objects:bytes"
	heapStacks  = "/memory/classes/heap/stacks:bytes"
	heapLive    = "/gc/heap/live:bytes"
)

func (m *heapGrowthMeter) start(limit int64) {
	for i, name := range []string{heapObjects, heapStacks, heapLive} {
		m.samples[i].Name = name
	}
	m.base, _ = m.read()
	m.threshold = m.base + limit
}

// read returns the bytes in use, including garbage, and the live bytes after the last collection.
func (m *heapGrowthMeter) read() (used, live int64) {
	metrics.Read(m.samples[:])
	stacks := int64(m.samples[1].Value.Uint64())
	return int64(m.samples[0].Value.Uint64()) + stacks, int64(m.samples[2].Value.Uint64()) + stacks
}

// over reports whether the live heap has grown by more than the limit since the start.
func (m *heapGrowthMeter) over(limit int64) bool {
	used, _ := m.read()
	switch {
	case used <= m.threshold:
		return false
	case used-m.base > hardFactor*limit+m.base:
		return true // too large to spend time on a garbage collection
	}
	runtime.GC()
	_, live := m.read()
	m.threshold = max(used, live+limit/4)
	return live-m.base > limit
}

// hardFactor is the number of memory limits by which the heap, including garbage, may exceed twice its size
// at the start of a script. Beyond that, the script counts as over its limit without a garbage collection.
const hardFactor = 3
