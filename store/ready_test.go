package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// ranges returns a store with one container that has n ranges.
func ranges(t *testing.T, n int) (*DB, *Container) {
	t.Helper()
	e, err := testdisk.New(t).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), e, Options{Clock: ttl.SystemClock{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	d, err := db.CreateDatabase(t.Context(), "shop", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.CreateContainerWith(t.Context(), definition.ContainerSpec{ID: "carts",
		PartitionKey: definition.PartitionKeyDefinition{Paths: []string{"/pk"}}},
		ContainerOptions{Ranges: n})
	if err != nil {
		t.Fatal(err)
	}
	return db, c
}

// TestReady checks that Ready succeeds if each range accepts a writer, and that its error names the range
// that does not.
func TestReady(t *testing.T) {
	t.Parallel()
	db, c := ranges(t, 2)
	e := db.live().eng
	if err := db.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	entered, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := e.Update(context.Background(), [][]byte{c.state.Load().Ranges[1].Scope},
			func(engine.Txn) error {
				close(entered)
				<-release
				return nil
			})
		done <- err
	}()
	<-entered
	soon, cancel := context.WithTimeout(t.Context(), time.Second) // the others have to answer within it
	defer cancel()
	if err := db.Ready(soon); fault.ErrorCode(err) != fault.CodeUnavailable ||
		!strings.HasPrefix(err.Error(), "The range 1 of the container carts in the database shop ") {
		t.Errorf("%v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := db.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCountWaitEndsWithContext checks that a call that waits for another call's count of documents ends
// when its own context ends.
func TestCountWaitEndsWithContext(t *testing.T) {
	t.Parallel()
	db, c := ranges(t, 1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := db.Incarnation(t.Context()); err != nil || n != db.live().incarnation {
		t.Errorf("the incarnation is %d: %v", n, err)
	}
	if err := c.count.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Usage(ended); fault.ErrorCode(err) != fault.CodeCanceled {
		t.Errorf("the usage while another counts: %v", err)
	}
	c.count.Unlock()
	if _, err := c.Usage(t.Context()); err != nil {
		t.Error(err)
	}
}
