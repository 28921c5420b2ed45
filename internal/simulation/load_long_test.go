//go:build long

package simulation_test

import (
	"fmt"
	"testing"
	"time"
)

// TestThroughputOfLargeClusters prints the table of throughputs that docs/scaling.md contains.
func TestThroughputOfLargeClusters(t *testing.T) {
	table := "| servers | ranges | creates/s, simulated | by the formula | group | median | p99 |\n"
	for _, size := range []struct {
		servers, ranges int
		d               time.Duration
	}{{1, 1, time.Second}, {1, 16, time.Second}, {10, 16, time.Second}, {10, 64, time.Second},
		{100, 64, time.Second / 2}, {100, 512, time.Second / 2}, {300, 64, time.Second / 2}} {
		r := measure(t, size.servers, size.ranges, size.d)
		table += fmt.Sprintf("| %d | %d | %.0f | %.0f | %.1f | %v | %v |\n", size.servers, size.ranges,
			r.PerSecond, r.Expected, r.Group, r.Median.Round(100*time.Microsecond),
			r.P99.Round(100*time.Microsecond))
	}
	t.Log("\n" + table)
}
