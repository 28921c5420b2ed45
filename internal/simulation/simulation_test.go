package simulation_test

import (
	"runtime"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/mayflydb/mayfly/internal/simulation"
	"github.com/mayflydb/mayfly/internal/simulation/database"
)

// run runs a simulation on one processor, with random numbers that follow from the seed.
func run(t *testing.T, c simulation.Config) (r simulation.Report) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	cryptotest.SetGlobalRandom(t, c.Seed)
	synctest.Test(t, func(*testing.T) { r = simulation.Run(c) })
	return r
}

// network is a connection of a data centre that loses something now and then.
func network() database.Network {
	return database.Network{MinDelay: 200 * time.Microsecond, MaxDelay: 3 * time.Millisecond, LostRequest: 0.002,
		LostAnswer: 0.002, LateCommit: 0.002, LostReport: 0.1}
}

func config(seed uint64) simulation.Config {
	return simulation.Config{Seed: seed, Duration: 2 * time.Minute, Servers: 4, Ranges: 2, Writers: 6, Readers: 4,
		Messages: 4, Sessions: 3, Network: network(), Chaos: 6 * time.Second}
}

func TestSimulation(t *testing.T) {
	for seed := range uint64(3) {
		r := run(t, config(seed))
		if err := r.Err(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		t.Logf("seed %d: %d operations, %d servers, %+v, hash %x", seed, r.Operations, r.Servers, r.Database, r.Hash)
		if t.Failed() && testing.Verbose() {
			t.Logf("%s", strings.Join(r.Trace, "\n"))
			return
		}
	}
}
