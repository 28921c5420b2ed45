package pebble

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// TestCompactionsYield checks that MeasureCPU, which a running compaction calls, lets other goroutines run
// from time to time.
func TestCompactionsYield(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := newScheduler(nil)
	var other sync.WaitGroup
	var ran atomic.Bool
	other.Go(func() { ran.Store(true) })
	// Now and then Go's scheduler prefers the goroutine that has yielded, but not twice in a row.
	for range 2 * yieldEvery {
		s.MeasureCPU(pebble.CompactionGoroutinePrimary)
	}
	if !ran.Load() {
		t.Error("a goroutine that was ready has not run while a compaction did")
	}
	other.Wait()
}
