package simulation_test

import (
	"bytes"
	"time"

	"github.com/mayflydb/mayfly/internal/simulation"
)

// defects returns changes of a configuration that break a rule on purpose, by their names. Each of them is
// found by almost every seed, so that a change of Mayfly, which changes the run of each seed, does not hide
// it.
func defects() map[string]func(*simulation.Config) {
	return map[string]func(*simulation.Config){
		"the outcome of a commit is guessed": func(c *simulation.Config) {
			c.Defects.StampWithCommit = true
			c.Network.LateCommit = 0.02
		},
		"transactions of a scope overlap": func(c *simulation.Config) { c.Defects.NoScopeLocks = true },
		"an outage loses commits": func(c *simulation.Config) {
			c.Defects.LoseOnFail = 5 * time.Second
			c.Chaos = time.Second
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
			c.Servers = 10
			c.Chaos = 3 * time.Second
			c.Network.MaxDelay = 100 * time.Millisecond
			c.Defects.Hidden = func(key []byte) bool { // 00 l 00000002: the leases
				return bytes.HasPrefix(key, []byte{0, 'l', 0, 0, 0, 2})
			}
		},
		"notifications are lost, and nobody looks": func(c *simulation.Config) {
			c.Defects.Silent = true
			c.DeafTo = time.Second
		},
	}
}
