//go:build !wasip1

package simulation_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/internal/simulation"
)

// TestSeeds runs simulations in a sandbox, where a seed determines every step. Most of its time the sandbox
// compiles the simulation, which is why it needs -tags long.
func TestSeeds(t *testing.T) {
	if !racetest.Long {
		t.Skip("needs 40 seconds of CPU: run it with -tags long")
	}
	racetest.Sequential(t)
	s := newSandbox(t)
	t.Run("repeat", func(t *testing.T) {
		for n := range uint64(2) {
			c := config(metamorphic.FirstSeed() + n)
			c.Duration = 5 * time.Second
			testRepeats(t, s, c)
		}
	})
	t.Run("defects", func(t *testing.T) { testDefects(t, s) })
}

// testRepeats runs a simulation twice. All steps must be the same, and nothing may be violated.
func testRepeats(t *testing.T, s *wasmSimulationRunner, c simulation.Config) {
	t.Helper()
	r, a := s.run(t, wasmSimulationConfig{Config: c})
	report(t, c, r, a)
	_, b := s.run(t, wasmSimulationConfig{Config: c})
	if d := firstDifference(a, b); d != "" {
		t.Errorf("seed %d differs:\n%s", c.Seed, d)
	}
	n := strings.Count(a, "\n") // the hash can be compared with that of another machine
	if t.Logf("seed %d: %d steps, hash %x", c.Seed, n, sha256.Sum256([]byte(a))); n < 1000 {
		t.Errorf("these are too few:\n%s", a)
	}
}

// keptDefectSeed is a seed with which the simulation finds each of the deliberate defects that the tests
// build in.
const keptDefectSeed = 2

// testDefects checks that the simulation with keptDefectSeed finds each of the deliberate defects. After a
// change of Mayfly another seed may be necessary; then the test names one.
func testDefects(t *testing.T, s *wasmSimulationRunner) {
	find := func(t *testing.T, name string, seed uint64) simulation.Report {
		c := config(seed)
		c.Duration, c.FailFast = time.Minute, true
		r, _ := s.run(t, wasmSimulationConfig{Config: c, Defect: name})
		return r
	}
	for name := range defects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := find(t, name, keptDefectSeed); len(r.Violations) > 0 {
				t.Logf("%d operations: %s", r.Operations, r.Violations[0])
				return
			}
			t.Errorf("seed %d does not find it", keptDefectSeed)
			for seed := range uint64(10) {
				t.Logf("seed %d finds it: %t", seed, len(find(t, name, seed).Violations) > 0)
			}
		})
	}
}

// firstDifference returns the first line that differs between two texts, with the lines before it. It returns
// an empty text if there is none.
func firstDifference(a, b string) string {
	x, y := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	for n := range max(len(x), len(y)) {
		var one, other string
		if n < len(x) {
			one = x[n]
		}
		if n < len(y) {
			other = y[n]
		}
		if one != other {
			return strings.Join(x[max(0, n-10):n], "") + "first:  " + one + "second: " + other
		}
	}
	return ""
}

// TestFirstDifference checks with pairs of short texts that firstDifference returns the first line that
// differs, with the lines before it.
func TestFirstDifference(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"a\nb\n", "a\nb\n", ""},
		{"a\nb\n", "a\nc\n", "a\nfirst:  b\nsecond: c\n"},
		{"a\n", "a\nc\n", "a\nfirst:  second: c\n"},
		{"a\nb\n", "a\n", "a\nfirst:  b\nsecond: "},
	} {
		if got := firstDifference(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %q", c.a, c.b, got)
		}
	}
}
