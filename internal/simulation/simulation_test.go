package simulation_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/simulation"
	"github.com/mayflydb/mayfly/internal/simulation/database"
)

// wasmSimulationConfig describes a simulation that runs in a WebAssembly runtime.
type wasmSimulationConfig struct {
	Config simulation.Config
	Defect string // a key of defects; empty: none
}

// reportMark separates the report of a simulation from the steps before it, in the output of a simulation
// that runs in WebAssembly.
const reportMark = "\n==== report "

// run runs a simulation on one processor. Random numbers, also those of crypto/rand, follow from its seed.
func run(t *testing.T, c simulation.Config) (r simulation.Report) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	cryptotest.SetGlobalRandom(t, c.Seed)
	synctest.Test(t, func(*testing.T) { r = simulation.Run(c) })
	return r
}

// network returns the properties of a simulated network within a data centre: delays of up to 3 ms, and
// rare losses of requests and responses.
func network() database.NetworkConditions {
	return database.NetworkConditions{MinDelay: 200 * time.Microsecond, MaxDelay: 3 * time.Millisecond,
		LostRequest: 0.002, LostAnswer: 0.002, LateCommit: 0.002, LostReport: 0.1}
}

func config(seed uint64) simulation.Config {
	return simulation.Config{Seed: seed, Duration: time.Minute, Servers: 4, Ranges: 2, Writers: 6, Readers: 4,
		Feeds: 3, Messages: 4, Sessions: 3, Topics: 2, Network: network(), Chaos: 6 * time.Second}
}

// check runs the simulation that c describes, and fails the test if one of the rules that the simulation
// checks was violated.
func check(t *testing.T, c simulation.Config) {
	t.Helper()
	var steps strings.Builder
	c.Steps = &steps
	report(t, c, run(t, c), steps.String())
}

// report fails the test if r, the result of a simulation, has violations, and then keeps the steps in a
// file.
func report(t *testing.T, c simulation.Config, r simulation.Report, steps string) {
	t.Helper()
	t.Logf("seed %d: %d operations, %d servers, %+v", c.Seed, r.Operations, r.Servers, r.Database)
	if len(r.Violations) == 0 {
		return
	}
	t.Errorf("seed %d:\n%s", c.Seed, strings.Join(r.Violations, "\n"))
	c.Steps = nil
	t.Logf("%+v\n%s", c, strings.Join(r.Trace, "\n"))
	file := filepath.Join(t.ArtifactDir(), fmt.Sprintf("steps-%d.txt", c.Seed))
	if err := os.WriteFile(file, []byte(steps), 0o600); err != nil {
		t.Error(err)
	}
	t.Logf("all steps, if the flag -artifacts is set: %s", file)
}

// TestSimulation runs a seed for a short time, outside of a sandbox, so that the race detector can check it.
func TestSimulation(t *testing.T) {
	c := config(metamorphic.FirstSeed())
	c.Duration = 15 * time.Second
	check(t, c)
}
