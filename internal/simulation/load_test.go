package simulation_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayflydb/mayfly/internal/simulation"
	"github.com/mayflydb/mayfly/internal/simulation/database"
)

// measure measures the throughput of a simulated cluster. Its database has eight processors, a round trip
// of half a millisecond, and commits of two milliseconds.
func measure(t *testing.T, servers, ranges int, d time.Duration) (r simulation.LoadMeasurementResult) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		r, err = simulation.Measure(simulation.LoadMeasurementConfig{Seed: 1, Servers: servers,
			Ranges:  ranges,
			Clients: 16, Delay: 250 * time.Microsecond, Duration: d,
			Load: database.OperationDurations{Commit: 2 * time.Millisecond, Cores: 8,
				Row: 10 * time.Microsecond}})
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%d servers, %d ranges: %.0f/s of %.0f/s, group %.2f, %.1f rows, median %v, p99 %v, %d failed",
		servers, ranges, r.PerSecond, r.Expected, r.Group, r.Rows, r.Median, r.P99, r.Failed)
	return r
}

// TestThroughput compares the throughput of a small simulated cluster with the model of its throughput.
func TestThroughput(t *testing.T) {
	for _, ranges := range []int{1, 4} {
		r := measure(t, 2, ranges, time.Second/5)
		if share := r.PerSecond / r.Expected; share < 0.4 || share > 1.3 || r.Failed > 0 {
			t.Errorf("%d ranges: %.2f of the model's throughput, %d failed", ranges, share, r.Failed)
		}
	}
}
