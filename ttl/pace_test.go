package ttl_test

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/datatest"
	"github.com/mayflydb/mayfly/ttl"
)

func TestPause(t *testing.T) {
	datatest.Run(t, "testdata/pace.txt", func(t *testing.T, c *datatest.TestFileCommand) string {
		switch c.Cmd {
		case "pause":
			return ttl.Pause(c.Duration("took", 0), c.Duration("lasted", 0)).String()
		case "backoff":
			return ttl.Backoff(int(c.Int("failures", 1))).String()
		}
		return c.Unknown()
	})
}
