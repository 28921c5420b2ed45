package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

func (b *testStore) exists() bool {
	b.t.Helper()
	b.sweep()
	d, err := b.db.Database("db")
	if err == nil {
		_, err = d.Container("c")
	}
	if err != nil && !is(err, fault.CodeNotFound) {
		b.t.Fatal(err)
	}
	return err == nil
}

func (b *testStore) idleAfter(seconds int) {
	b.t.Helper()
	if err := b.set(b.c, func(s *store.ContainerSettings) { s.AutoDeleteOnIdle = seconds }); err != nil {
		b.t.Fatal(err)
	}
}

// TestAutoDeleteOnIdle checks for each kind of request whether it counts as a use that postpones the
// deletion of an idle container.
func TestAutoDeleteOnIdle(t *testing.T) {
	t.Parallel()
	uses := map[string]func(b *testStore) error{
		"write": func(b *testStore) error {
			_, _, err := b.c.Upsert(b.ctx, pk("p"), []byte(`{"id":"x","pk":"p"}`), store.WriteOptions{})
			return err
		},
		"read": func(b *testStore) error {
			_, _, err := b.c.Read(b.ctx, pk("p"), "a", store.ReadOptions{})
			return err
		},
		"miss": func(b *testStore) error {
			if _, _, err := b.c.Read(b.ctx, pk("p"), "nobody", store.ReadOptions{}); !is(err,
				fault.CodeNotFound) {
				return err
			}
			return nil
		},
		"query": func(b *testStore) error {
			_, _, err := b.c.Query(b.ctx, store.QueryRequest{Text: "SELECT * FROM c"})
			return err
		},
		"list": func(b *testStore) error {
			_, _, err := b.c.List(b.ctx,
				store.ListOptions{})
			return err
		},
		"feed": func(b *testStore) error {
			_, _, err := b.c.Changes(b.ctx,
				store.ChangesRequest{})
			return err
		},
		"tombstone": func(b *testStore) error { _, err := b.c.DeletePartition(b.ctx, pk("q")); return err },
		"lease":     func(b *testStore) error { _, err := b.c.Lease(b.ctx, pk("p"), "a", 5); return err },
		"batch": func(b *testStore) error {
			_, _, err := b.c.Batch(b.ctx, pk("p"), []store.ItemOperation{{Kind: store.OperationRead,
				ID: "a"}},
				store.BatchOptions{})
			return err
		},
		"settings": func(b *testStore) error { return b.set(b.c, func(*store.ContainerSettings) {}) },
		"replace": func(b *testStore) error {
			d, err := b.db.Database("db")
			if err == nil {
				_, err = d.ReplaceContainer(b.ctx, "c", specOf(b.t, `"defaultTtl":-1`), store.WriteOptions{})
			}
			return err
		},
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			b := newTestStore(t, `"defaultTtl":-1`, 1)
			defer b.close()
			b.put(`{"id":"a","pk":"p"}`)
			b.idleAfter(300)
			b.pass(299)
			if !b.exists() {
				t.Fatal("deleted a second early")
			}
			if err := use(b); err != nil {
				t.Fatal(err)
			}
			b.pass(299)
			if !b.exists() {
				t.Fatal("deleted although it was used")
			}
			b.pass(1)
			if b.exists() {
				t.Error("not deleted")
			}
			if _, _, err := b.c.Read(b.ctx, pk("p"), "a", store.ReadOptions{}); !is(err,
				fault.CodeOwnerNotFound) {
				t.Errorf("a read: %v", err)
			}
		})
	}
}

// TestIdleExceptions checks which containers are never deleted as idle, such as archives of others, and what
// does not count as a use.
func TestIdleExceptions(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 1)
	defer b.close()
	b.put(`{"id":"a","pk":"p","ttl":100}`)
	for _, seconds := range []int{-1, 1, store.MinIdle - 1} {
		if err := b.set(b.c, func(s *store.ContainerSettings) { s.AutoDeleteOnIdle = seconds }); !is(err,
			fault.CodeBadRequest) {
			t.Errorf("%d: %v", seconds, err)
		}
	}
	// The archive of another is never idle, nor is a container without the setting.
	source := b.container("source", "/pk", `"defaultTtl":-1`)
	b.moveTo(source, "c")
	b.idleAfter(300)
	b.pass(1000)
	if !b.exists() {
		t.Fatal("an archive was deleted")
	}
	if err := b.set(source, func(s *store.ContainerSettings) { s.OnExpire = nil }); err != nil {
		t.Fatal(err)
	}
	b.c.Info()
	if _, err := b.c.Usage(b.ctx); err != nil {
		t.Error(err)
	}
	if b.exists() {
		t.Error("a look at what it is, or the purge of an item, counts as use")
	}
	if d, err := b.db.Database("db"); err != nil || len(d.Containers()) != 1 {
		t.Errorf("%v: %d containers", err, len(d.Containers()))
	}
}

// TestIdleThroughRestarts checks that the time of the last use of a container is exact after Close and
// open, and not too early after a crash.
func TestIdleThroughRestarts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, crash := range []bool{false, true} {
		fs := testdisk.NewCrashable(t)
		b := &testStore{t: t, ctx: ctx, clock: ttl.NewManual(time.Unix(1_700_000_000, 0))}
		var err error
		open := func(on *testdisk.EngineStorage) {
			t.Helper()
			if b.db, err = openAt(ctx, on, b.clock); err != nil {
				t.Fatal(err)
			}
		}
		open(fs)
		d, err := b.db.CreateDatabase(ctx, "db", definition.Throughput{})
		if err == nil {
			b.c, err = d.CreateContainer(ctx, specOf(t, ""), definition.Throughput{})
		}
		if err != nil {
			t.Fatal(err)
		}
		b.idleAfter(300)
		b.pass(200)
		if _, _, err := b.c.List(ctx, store.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		b.sweep() // stores the promise
		b.put(`{"id":"a","pk":"p"}`)
		wreck := fs.CrashClone(vfs.CrashCloneCfg{})
		if err := b.db.Close(); err != nil {
			t.Fatal(err)
		}
		late := 0
		if crash {
			fs, late = wreck, 60
		}
		b.pass(299)
		open(fs)
		if !b.exists() {
			t.Fatal("deleted early")
		}
		b.pass(1 + late)
		if b.exists() {
			t.Errorf("crash %v: not deleted", crash)
		}
		checkClean(t, b.db)
		if err := b.db.Close(); err != nil {
			t.Error(err)
		}
	}
}
