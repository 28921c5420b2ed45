package simulation_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/simulation"
)

// TestDefects breaks a rule on purpose in each simulation: one of a few seeds must find it.
func TestDefects(t *testing.T) {
	const seeds = 6
	for name, spoil := range map[string]func(*simulation.Config){
		"the outcome of a commit is guessed": func(c *simulation.Config) {
			c.Defects.StampWithCommit = true
			c.Network.LateCommit = 0.02
		},
		"transactions of a scope overlap": func(c *simulation.Config) { c.Defects.NoScopeLocks = true },
		"an outage loses commits": func(c *simulation.Config) {
			c.Defects.LoseOnFail = time.Second
			c.Chaos = 3 * time.Second
		},
		"servers take the time from their machines": func(c *simulation.Config) { c.Defects.OwnTime = true },
		"marks are not told":                        func(c *simulation.Config) { c.Defects.NoMarks = true },
		"commits are visible in two parts":          func(c *simulation.Config) { c.Defects.TornCommits = true },
		"locks of messages are not read": func(c *simulation.Config) {
			c.Defects.Hidden = func(key []byte) bool { // families k and u of the messages of an entity
				return len(key) > 6 && key[0] >= 0x40 && key[0] <= 0x7F && (key[5] == 'k' || key[5] == 'u')
			}
		},
		"leases of others are not read": func(c *simulation.Config) {
			c.Defects.Hidden = func(key []byte) bool { // 00 l 00000002: the leases
				return bytes.HasPrefix(key, []byte{0, 'l', 0, 0, 0, 2})
			}
		},
		"notifications are lost, and nobody looks": func(c *simulation.Config) {
			c.Defects.Silent = true
			c.DeafTo = time.Second
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(seeds) {
				c := config(seed)
				c.Duration = time.Minute
				spoil(&c)
				if r := run(t, c); len(r.Violations) > 0 {
					t.Logf("seed %d, %d operations: %s", seed, r.Operations, r.Violations[0])
					return
				}
			}
			t.Errorf("%d seeds have not noticed it", seeds)
		})
	}
}

// TestRepeats runs a seed twice: everything must happen again.
func TestRepeats(t *testing.T) {
	for seed := range uint64(3) {
		c := config(seed)
		c.Duration = 20 * time.Second
		a, b := run(t, c), run(t, c)
		if a.Hash == b.Hash {
			continue
		}
		for i, line := range a.Trace {
			if i == len(b.Trace) || line != b.Trace[i] {
				t.Errorf("seed %d differs in line %d of %d:\n%s\n%s", seed, i, len(a.Trace), line, b.Trace[i])
				break
			}
		}
	}
}
