package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/ttl"
)

// TestReady: a store is ready as long as each of its ranges gives a writer its turn, and the error names the
// one that does not.
func TestReady(t *testing.T) {
	e, err := pebble.Open(t.Context(), pebble.Options{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), e, Options{Clock: ttl.Real{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	d, err := db.CreateDatabase(t.Context(), "shop", Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.CreateContainerWith(t.Context(), ContainerSpec{ID: "carts", PartitionKey: PartitionKeyDefinition{Paths: []string{"/pk"}}},
		ContainerOptions{Ranges: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	entered, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := e.Update(context.Background(), [][]byte{c.state.Load().ranges[1].scope}, func(engine.Txn) error {
			close(entered)
			<-release
			return nil
		})
		done <- err
	}()
	<-entered
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := db.Ready(soon); ErrorCode(err) != CodeUnavailable || !strings.HasPrefix(err.Error(), "The range 1 of the container carts in the database shop ") {
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
