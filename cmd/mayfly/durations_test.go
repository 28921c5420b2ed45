package main

import (
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/cli"
)

// TestParseTTLArgument checks how the command line reads a time to live: as a number of seconds, or as a
// duration with units such as days.
func TestParseTTLArgument(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"60": 60, "-1": -1, "never": -1, "90s": 90, "1h30m": 5400,
		"30d": 2592000, "1d12h": 129600, "PT2H": 7200, "1h 30m": 5400} {
		if got, err := cli.ParseTTL(text); err != nil || *got != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got, err := cli.ParseTTL("off"); got != nil || err != nil {
		t.Error(got, err)
	}
	for _, text := range []string{"", "soon", "1.5s", "0s", "-5s", "30000d", "99999999999"} {
		if got, err := cli.ParseTTL(text); err == nil {
			t.Errorf("%s is %d", text, *got)
		}
	}
}

// TestQueueTTLInDays checks that the time to live of queues and messages can be given in days.
func TestQueueTTLInDays(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.run(t, "queue", "create", "q", "--ttl", "14d")
	if out, _ := b.run(t, "queue", "show", "q"); !strings.Contains(out, `"defaultTimeToLive": "P14D"`) {
		t.Error(out)
	}
	b.run(t, "queue", "send", "q", "x", "--ttl", "1d12h")
	if out, _ := b.run(t, "queue", "explain", "q", "1"); !strings.Contains(out, "1d 12h") {
		t.Error(out)
	}
}
