//go:build long && !wasip1

package simulation_test

import (
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/simulation"
)

// TestReproducibleRuns runs many seeds twice in a sandbox, and checks that both runs of a seed have the same
// steps.
func TestReproducibleRuns(t *testing.T) {
	s := newSandbox(t)
	for seed := range uint64(50) {
		c := varied(metamorphic.FirstSeed() + seed)
		c.Duration = 20 * time.Second
		testRepeats(t, s, c)
	}
}

// TestCampaign runs many simulations with different configurations in a sandbox, and checks that none
// violates an invariant.
func TestCampaign(t *testing.T) {
	s, first := newSandbox(t), metamorphic.FirstSeed()
	for n := range uint64(150) {
		c := varied(first + n)
		r, steps := s.run(t, wasmSimulationConfig{Config: c})
		if report(t, c, r, steps); t.Failed() {
			return
		}
	}
}

// TestNativeCampaign runs many simulations with different configurations outside of a sandbox, which is
// faster. A seed that fails may not fail again, so its steps are kept.
func TestNativeCampaign(t *testing.T) {
	first := metamorphic.FirstSeed()
	for n := range uint64(300) {
		if check(t, varied(first+n)); t.Failed() {
			return
		}
	}
}

// TestManyServers checks simulations of hundreds of servers and of more than a thousand partition ranges.
func TestManyServers(t *testing.T) {
	for _, size := range []struct{ servers, ranges int }{{100, 8}, {300, 20}, {20, 400}} {
		c := config(metamorphic.FirstSeed())
		c.Servers, c.Ranges = size.servers, size.ranges
		c.Duration, c.Chaos = 20*time.Second, 500*time.Millisecond
		c.Writers, c.Readers, c.Messages, c.Sessions = 60, 40, 40, 10
		check(t, c)
	}
}

// varied draws a configuration from a seed: small and large clusters, with few and with many disturbances.
func varied(seed uint64) simulation.Config {
	c := config(seed)
	pick := func(n uint64, list ...int) int { return list[seed/n%uint64(len(list))] }
	c.Duration = 2 * time.Minute
	c.Servers = pick(1, 2, 3, 4, 8)
	c.Ranges = pick(4, 1, 2, 5)
	c.Chaos = time.Duration(pick(12, 2, 4, 10)) * time.Second
	lost := []float64{0.0005, 0.005, 0.02}[pick(36, 0, 1, 2)]
	c.Network.LostRequest, c.Network.LostAnswer, c.Network.LateCommit = lost, lost, lost
	c.Network.MaxDelay = time.Duration(pick(108, 1, 5, 40)) * time.Millisecond
	return c
}
