package store_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// TestLSNOfRecreatedContainer checks the LSNs of a container that is created again under the name of a
// dropped one: they are higher than all LSNs of the dropped one. This holds if the database was dropped,
// after a restart, and after a crash between drop and creation.
func TestLSNOfRecreatedContainer(t *testing.T) {
	t.Parallel()
	fs := testdisk.NewCrashable(t)
	b := newBenchOn(t, fs, `"changeFeedPolicy":{"retentionDuration":10}`, 3)
	etags := map[string]bool{}
	spec := b.c.Info().Spec
	var last map[string]uint64
	fill := func(n int) {
		t.Helper()
		token := map[string]uint64{}
		for _, r := range b.c.Ranges().Ranges {
			_, token[r.ID] = b.c.Position(r.ID)
			if token[r.ID] < last[r.ID] {
				t.Errorf("range %s begins at %d, the old one was at %d", r.ID, token[r.ID], last[r.ID])
			}
		}
		for i := range n {
			it, r, err := b.c.Upsert(b.ctx, pk(fmt.Sprint(i%7)),
				fmt.Appendf(nil, `{"id":"%d","pk":"%d"}`, i%7, i%7), store.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if etags[it.ETag()] || it.LSN() <= last[r.Range] || it.LSN() > 100_000 {
				t.Fatalf("etag %s, LSN %d after %d", it.ETag(), it.LSN(), last[r.Range])
			}
			etags[it.ETag()] = true
			token[r.Range] = it.LSN()
		}
		last = token
	}
	again := func(drop func(d *store.Database) error) {
		t.Helper()
		d, err := b.db.Database("db")
		if err == nil {
			err = drop(d)
		}
		if err == nil {
			d, err = b.db.Database("db")
		}
		if err == nil {
			b.c, err = d.CreateContainer(b.ctx, spec, definition.Throughput{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	reopen := func(fs *testdisk.EngineStorage) {
		t.Helper()
		checkClean(t, b.db)
		b.close()
		e, err := fs.Open(b.ctx)
		if err == nil {
			b.db, err = store.Open(b.ctx, e, store.Options{Clock: b.clock, Ranges: 3, ManualReaper: true})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, lsn := b.c.Position(""); lsn > 1 {
		t.Errorf("a new container begins at %d", lsn)
	}
	fill(50)
	dropContainer := func(d *store.Database) error {
		return d.DeleteContainer(b.ctx, "c",
			store.WriteOptions{})
	}
	again(dropContainer)
	fill(20)
	again(func(*store.Database) error {
		if err := b.db.DeleteDatabase(b.ctx, "db", store.WriteOptions{}); err != nil {
			return err
		}
		_, err := b.db.CreateDatabase(b.ctx, "db", definition.Throughput{})
		return err
	})
	fill(20)
	again(func(d *store.Database) error {
		if err := dropContainer(d); err != nil {
			return err
		}
		reopen(fs)
		return nil
	})
	fill(20)
	again(func(d *store.Database) error {
		if err := dropContainer(d); err != nil {
			return err
		}
		reopen(fs.CrashClone(vfs.CrashCloneCfg{}))
		return nil
	})
	fill(20)
	checkClean(t, b.db)
	b.close()
}
