package host_test

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/hosttest"
	"github.com/mayflydb/mayfly/ttl"
)

// TestOneClockForDataAndWall checks that host.Open fails if Options.Clock and Options.Wall are the same clock
// and the engine has the time of a database. The clock of the data is then computed from Wall, so it would be
// computed from itself.
func TestOneClockForDataAndWall(t *testing.T) {
	f := newSimulatedSharedDatabase(t)
	other := f.server(host.Options{})
	clock := ttl.NewManual(start)
	h, err := host.Open(t.Context(), f.shared.Server(f.clock), host.Options{Clock: clock, Wall: clock},
		&hosttest.ReminderTenant{})
	if err == nil {
		t.Error("one clock is accepted as both")
		f.close(&clusterMember{Host: h})
	}
	f.close(other)
}
