//go:build long

package simulation_test

import (
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/metatest"
)

// TestRepeats runs seeds twice: a run must begin in the same way each time.
func TestRepeats(t *testing.T) {
	const same = 10 // lines of the trace
	for seed := range uint64(6) {
		c := config(seed)
		c.Duration = 20 * time.Second
		a, b := run(t, c), run(t, c)
		n := 0
		for n < min(len(a.Trace), len(b.Trace)) && a.Trace[n] == b.Trace[n] {
			n++
		}
		t.Logf("seed %d: %d of %d lines are the same", seed, n, len(a.Trace))
		if n < same {
			t.Errorf("seed %d differs in line %d:\n%s\n%s", seed, n, a.Trace[n], b.Trace[n])
		}
	}
}

// TestCampaign runs many simulations of many kinds.
func TestCampaign(t *testing.T) {
	first := metatest.FirstSeed()
	for n := range uint64(300) {
		if check(t, varied(first+n)); t.Failed() {
			return
		}
	}
}

// TestManyServers checks simulations of hundreds of servers and of more than a thousand partition ranges.
func TestManyServers(t *testing.T) {
	for _, size := range []struct{ servers, ranges int }{{100, 8}, {300, 20}, {20, 400}} {
		c := config(metatest.FirstSeed())
		c.Servers, c.Ranges = size.servers, size.ranges
		c.Duration, c.Chaos = 20*time.Second, 500*time.Millisecond
		c.Writers, c.Readers, c.Messages, c.Sessions = 60, 40, 40, 10
		check(t, c)
	}
}
