package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// TestAdmit checks that requests to a container are throttled by the container's own throughput, or else
// by the throughput that the containers of its database share.
func TestAdmit(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	at := time.Unix(1_000_000, 0)
	overdraw := func(pays, asks *store.Container, perSecond int) {
		t.Helper()
		if err := asks.Admit(at); err != nil {
			t.Fatal(err)
		}
		pays.Spend(at, float64(perSecond+perSecond/4))
		err := asks.Admit(at)
		var wait *store.ThrottledError
		if fault.ErrorCode(err) != fault.CodeThrottled || !errors.As(err, &wait) ||
			wait.RetryAfter != 250*time.Millisecond {
			t.Errorf("overdrawn by a quarter of %d RU/s: %v", perSecond, err)
		}
		if err := asks.Admit(at.Add(251 * time.Millisecond)); err != nil {
			t.Errorf("after the wait: %v", err)
		}
	}
	overdraw(b.c, b.c, definition.DefaultThroughput)

	d, err := b.db.CreateDatabase(b.ctx, "shared", definition.Throughput{Autoscale: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var shared [2]*store.Container
	for i := range shared {
		spec := specOf(t, "")
		spec.ID = []string{"one", "two"}[i]
		if shared[i], err = d.CreateContainer(b.ctx, spec, definition.Throughput{}); err != nil {
			t.Fatal(err)
		}
	}
	overdraw(shared[0], shared[1], 1000)
	spec := specOf(t, "")
	spec.ID = "own"
	own, err := d.CreateContainer(b.ctx, spec, definition.Throughput{Manual: 500})
	if err != nil {
		t.Fatal(err)
	}
	shared[0].Spend(at, 5000)
	overdraw(own, own, 500)
}
