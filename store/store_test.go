package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/ttl"
)

func openMemory(t *testing.T, clock ttl.Clock) *DB {
	t.Helper()
	e, err := pebble.Open(t.Context(), pebble.Options{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), e, Options{Clock: clock, ManualReaper: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := db.Check(context.Background(), func(err error) bool { t.Error(err); return true })
		if err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func openContainer(t *testing.T, db *DB, spec ContainerSpec) *Container {
	t.Helper()
	d, err := db.CreateDatabase(t.Context(), "d", Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	if spec.ID == "" {
		spec.ID = "c"
	}
	if spec.PartitionKey.IsZero() {
		spec.PartitionKey = PartitionKeyDefinition{Paths: []string{"/pk"}, Kind: KindHash, Version: 2}
	}
	c, err := d.CreateContainer(t.Context(), spec, Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func text(s string) PartitionKey { return NewPartitionKey(doc.StringValue(s)) }

func TestLifeOfAnItem(t *testing.T) {
	clock := ttl.NewManual(time.Unix(1_800_000_000, 0))
	db := openMemory(t, clock)
	c := openContainer(t, db, ContainerSpec{DefaultTTL: 10})
	ctx := t.Context()
	body := []byte(`{"id":"a", "pk":"p", "n": 1.50, "_etag":"x"}`)
	it, r, err := c.Create(ctx, text("p"), body, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(it.AppendJSON(nil)), r)
	if _, _, err := c.Create(ctx, text("p"), body, WriteOptions{}); ErrorCode(err) != CodeConflict {
		t.Fatal(err)
	}
	clock.Advance(9 * time.Second)
	if _, _, err := c.Read(ctx, text("p"), "a", ReadOptions{}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Second)
	if _, _, err := c.Read(ctx, text("p"), "a", ReadOptions{}); ErrorCode(err) != CodeNotFound {
		t.Fatal(err)
	}
	again, _, err := c.Create(ctx, text("p"), body, WriteOptions{})
	if err != nil || again.RID() == it.RID() || again.ETag() == it.ETag() {
		t.Fatal(err, again.RID(), it.RID())
	}
	clock.Advance(10 * time.Second)
	if m, err := db.Metrics(ctx); err != nil || m.Backlog.Items != 1 {
		t.Fatal(m, err)
	}
	if n, err := db.SweepNow(ctx); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	p, _, err := c.List(ctx, ListOptions{})
	if err != nil || len(p.Items) != 0 {
		t.Fatal(p, err)
	}
}
