//go:build long && !wasip1

package simulation_test

import (
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/metatest"
)

// TestRepeats runs many seeds twice in a sandbox.
func TestRepeats(t *testing.T) {
	s := newSandbox(t)
	for seed := range uint64(50) {
		c := varied(metatest.FirstSeed() + seed)
		c.Duration = 20 * time.Second
		testRepeats(t, s, c)
	}
}

// TestCampaign runs many simulations of many kinds in a sandbox.
func TestCampaign(t *testing.T) {
	s, first := newSandbox(t), metatest.FirstSeed()
	for n := range uint64(150) {
		c := varied(first + n)
		r, steps := s.run(t, request{Config: c})
		if report(t, c, r, steps); t.Failed() {
			return
		}
	}
}

// TestNativeCampaign runs many simulations of many kinds outside of a sandbox, which is faster. If a seed
// fails, it may not fail again; its steps are kept.
func TestNativeCampaign(t *testing.T) {
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
