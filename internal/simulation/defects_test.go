package simulation_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/simulation"
)

// TestDefects breaks a rule on purpose in each simulation: one of a few seeds must find it.
func TestDefects(t *testing.T) {
	seeds := []uint64{2, 3, 0, 1, 4, 5}
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
		"commits are visible in two parts": func(c *simulation.Config) {
			c.Defects.TornCommits = true
			c.Network.MaxDelay = 60 * time.Millisecond
		},
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
			for _, seed := range seeds {
				c := config(seed)
				c.Duration, c.FailFast = time.Minute, true
				spoil(&c)
				if r := run(t, c); len(r.Violations) > 0 {
					t.Logf("seed %d, %d operations: %s", seed, r.Operations, r.Violations[0])
					return
				}
			}
			t.Errorf("the seeds %v have not noticed it", seeds)
		})
	}
}
