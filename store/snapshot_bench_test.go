package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// BenchmarkSnapshots measures taking a snapshot, restoring it after a write, and copying its database, for
// a small store and for one with a million keys.
func BenchmarkSnapshots(b *testing.B) {
	for _, where := range []string{"memory", "disk"} {
		for _, docs := range []int{100, 60_000} {
			db, ctx := loaded(b, where, docs), context.Background()
			if _, err := db.Snapshot(ctx, "base"); err != nil {
				b.Fatal(err)
			}
			step := func(what string, fn func(n int) error) {
				b.Run(fmt.Sprintf("%s/docs=%d/%s", what, docs, where), func(b *testing.B) {
					for n := 0; b.Loop(); n++ {
						if err := fn(n); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			step("snapshot", func(int) error {
				if _, err := db.Snapshot(ctx, "again"); err != nil {
					return err
				}
				return db.DeleteSnapshot(ctx, "again")
			})
			step("restore", func(n int) error {
				if _, err := db.CreateDatabase(ctx, "change", definition.Throughput{}); err != nil {
					return err
				}
				return db.Restore(ctx, "base")
			})
			step("fork", func(n int) error {
				if _, err := db.ForkDatabase(ctx, "base", "db", "fork"); err != nil {
					return err
				}
				return db.DeleteDatabase(ctx, "fork", store.WriteOptions{})
			})
			if err := db.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// loaded returns a store with docs documents of about 300 bytes, in memory or, if where is "disk", on
// disk.
func loaded(b *testing.B, where string, docs int) *store.DB {
	b.Helper()
	ctx := context.Background()
	o := pebble.Options{Memory: true}
	if where == "disk" {
		o = pebble.Options{Dir: b.TempDir()}
	}
	e, err := pebble.Open(ctx, o)
	if err != nil {
		b.Fatal(err)
	}
	db, err := store.Open(ctx, e, store.Options{ManualReaper: true})
	if err != nil {
		b.Fatal(err)
	}
	d, err := db.CreateDatabase(ctx, "db", definition.Throughput{})
	if err != nil {
		b.Fatal(err)
	}
	spec := definition.ContainerSpec{ID: "c"}
	spec.PartitionKey.Paths = []string{"/pk"}
	c, err := d.CreateContainer(ctx, spec, definition.Throughput{})
	if err != nil {
		b.Fatal(err)
	}
	for done := 0; done < docs; done += 100 {
		var ops []store.ItemOperation
		for i := done; i < done+100; i++ {
			body := fmt.Sprintf(`{"id":"%d","pk":"%d"`, i, done)
			for f := range 10 {
				body += fmt.Sprintf(`,"field%d":"%s%d"`, f, strings.Repeat("x", 10), i*f)
			}
			ops = append(ops, store.ItemOperation{Kind: store.OperationCreate, Body: []byte(body + "}")})
		}
		pk := definition.NewPartitionKey(jsondoc.StringValue(fmt.Sprint(done)))
		if _, _, err := c.Batch(ctx, pk, ops, store.BatchOptions{Atomic: true}); err != nil {
			b.Fatal(err)
		}
	}
	return db
}
