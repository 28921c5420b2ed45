package host_test

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/hosttest"
	"github.com/mayflydb/mayfly/ttl"
)

// TestOneClockForDataAndWall: with the time of a database, one clock cannot be both the data clock and the
// clock for real time, because it would be computed from itself.
func TestOneClockForDataAndWall(t *testing.T) {
	f := newTestCluster(t)
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
