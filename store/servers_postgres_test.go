package store_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine/postgres"
	"github.com/mayflydb/mayfly/internal/pgschema"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/ttl"
)

// TestStoresOfOneDatabase checks with two stores over one PostgreSQL database that a write by one ends a
// Wait of the other without polling, half of the times within 100 ms, and that each finds what the other
// has created.
func TestStoresOfOneDatabase(t *testing.T) {
	t.Parallel()
	ctx, url, schema := t.Context(), pgschema.URL(t), pgschema.New(t)
	open := func() *store.DB {
		t.Helper()
		e, err := postgres.Open(ctx, postgres.Options{URL: url, Schema: schema, AllowUnsafe: true,
			Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		db, err := store.Open(ctx, e, store.Options{Wall: ttl.NewManual(time.Unix(1_700_000_000, 0))})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	a, b := open(), open()
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	da, err := a.CreateDatabase(ctx, "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	ca, err := da.CreateContainer(ctx, specOf(t, `"defaultTtl":-1`), definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.CatchUp(ctx); err != nil {
		t.Fatal(err)
	}
	db, err := b.Database("db")
	if err != nil {
		t.Fatal(err)
	}
	cb, err := db.Container("c")
	if err != nil {
		t.Fatal(err)
	}
	key := store.ItemKey{Partition: pk("p"), ID: "a"}
	done := make(chan error)
	wait := func(what store.ContainerWaitCondition, after uint64) {
		go func() {
			_, err := cb.Wait(ctx, store.ItemConditionWaitRequest{For: what, Key: key, After: after})
			done <- err
		}()
	}
	last, passed := uint64(0), make([]time.Duration, 50)
	for i := range passed {
		wait(store.WaitFeed, last)
		it, _, err := ca.Upsert(ctx, key.Partition, []byte(`{"id":"a","pk":"p"}`), store.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		last = it.LSN()
		began := ttl.SystemClock{}.Now()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		passed[i] = ttl.SystemClock{}.Now().Sub(began)
	}
	slices.Sort(passed)
	if median := passed[len(passed)/2]; median > 100*time.Millisecond {
		t.Errorf("a wait ends %v behind the write; all: %v", median, passed)
	}
	t.Logf("waits end %v behind the write in the median, %v at most",
		passed[len(passed)/2], passed[len(passed)-1])
	servers, err := b.Servers(ctx)
	if err != nil || len(servers) != 2 {
		t.Errorf("servers %+v, %v", servers, err)
	}
}
