package script

import (
	"runtime"
	"runtime/metrics"
)

// heapMeter reports how much the process has come to hold since a script began. There is no meter for one
// goroutine, so what others come to hold in these moments counts, too; what matters is that the process is
// not brought down. Garbage does not count: when the heap looks too large it is collected first, and what is
// left decides. Where that is not too much, the rest was somebody's garbage, and the meter does not look
// again before as much has come to it.
type heapMeter struct {
	samples [3]metrics.Sample
	base    int64 // bytes in use when the script began
	calm    int64 // bytes in use up to which there is nothing to find out
}

const (
	heapObjects = "/memory/classes/heap/objects:bytes"
	heapStacks  = "/memory/classes/heap/stacks:bytes"
	heapLive    = "/gc/heap/live:bytes"
)

func (m *heapMeter) start(limit int64) {
	for i, name := range []string{heapObjects, heapStacks, heapLive} {
		m.samples[i].Name = name
	}
	m.base, _ = m.read()
	m.calm = m.base + limit
}

// read returns the bytes in use, garbage included, and those that the last collection left.
func (m *heapMeter) read() (used, live int64) {
	metrics.Read(m.samples[:])
	stacks := int64(m.samples[1].Value.Uint64())
	return int64(m.samples[0].Value.Uint64()) + stacks, int64(m.samples[2].Value.Uint64()) + stacks
}

// over reports whether more bytes than the limit are held beyond what was held at the start.
func (m *heapMeter) over(limit int64) bool {
	used, _ := m.read()
	switch {
	case used <= m.calm:
		return false
	case used-m.base > hopeless*limit+m.base:
		return true // there is no time left to find out how much of it is garbage
	}
	runtime.GC()
	_, live := m.read()
	m.calm = max(used, live+limit/4)
	return live-m.base > limit
}

// hopeless is how many times the limit may be in use, garbage included, beside as much garbage as there was
// of everything at the start.
const hopeless = 3
