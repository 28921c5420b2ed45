package roundtrips_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/enginetest"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/roundtrips"
)

// TestConformance runs the conformance tests of engines (package enginetest) on a CountingEngine over
// Pebble in memory.
func TestConformance(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.ReopenableStorage {
		fs := vfs.NewMem()
		return enginetest.ReopenableStorage{Open: func(t *testing.T) engine.Engine {
			e, err := pebble.Open(t.Context(), pebble.Options{Memory: true, FS: fs, Strict: true})
			if err != nil {
				t.Fatal(err)
			}
			return roundtrips.Over(e)
		}}
	})
}
