package pebble

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for name, options := range map[string]func(t *testing.T) Options{
		"disk":   func(t *testing.T) Options { return Options{Dir: t.TempDir()} },
		"memory": func(*testing.T) Options { return Options{Memory: true, FS: vfs.NewMem()} },
		// Ceilings move, write buffers turn over and tables are compacted every few writes.
		"small": func(*testing.T) Options {
			return Options{Dir: "data", FS: vfs.NewMem(), lsnBlock: 4, memTable: 64 << 10, FirstLSN: 1000}
		},
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T) enginetest.Opener {
				o := options(t)
				o.Strict = true
				return func(t *testing.T) engine.Engine { return mustOpen(t, o) }
			})
		})
	}
}
