package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// midTransactionHookEngine is an engine that calls a function once in the middle of the next transaction,
// after the transaction's closure and before its commit.
type midTransactionHookEngine struct {
	testdisk.Engine
	happens atomic.Pointer[func()]
}

func (b *midTransactionHookEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	return b.Engine.Update(ctx, scopes, func(t engine.Txn) error {
		err := fn(t)
		if happens := b.happens.Swap(nil); happens != nil {
			(*happens)()
		}
		return err
	}, ahead...)
}

// TestReaperWithConcurrentWrites checks that an item that expires while it is still being written,
// and that the reaper has passed meanwhile, is purged by a later sweep and logged as expired once.
func TestReaperWithConcurrentWrites(t *testing.T) {
	t.Parallel()
	var e *midTransactionHookEngine
	b := newBenchOver(t, testdisk.New(t), `"defaultTtl":-1`, store.Options{Ranges: 1, ManualReaper: true},
		func(p testdisk.Engine) engine.Engine { e = &midTransactionHookEngine{Engine: p}; return e })
	defer b.close()
	if _, err := b.c.ChangeSettings(b.ctx,
		func(s *store.ContainerSettings) error {
			s.ExpiryEvents = &store.ExpiryEventSettings{}
			return nil
		}); err != nil {
		t.Fatal(err)
	}
	happens := func() {
		b.clock.Advance(time.Second)
		if n, err := b.db.SweepNow(b.ctx); n != 0 || err != nil {
			t.Error(n, err)
		}
	}
	e.happens.Store(&happens)
	if _, _, err := b.c.Upsert(b.ctx, pk("x"), []byte(`{"id":"a","pk":"x","ttl":1}`),
		store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if n, err := b.db.SweepNow(b.ctx); n != 1 || err != nil {
		t.Errorf("the sweep after it purged %d %v", n, err)
	}
	page, err := b.c.Expirations(b.ctx, "", 0)
	if err != nil || len(page.Expirations) != 1 {
		t.Errorf("%d deaths were told, %v", len(page.Expirations), err)
	}
}

// fakeFreeSpaceFS is a file system that reports avail as its free space.
type fakeFreeSpaceFS struct {
	vfs.FS
	avail *atomic.Uint64
}

func (d fakeFreeSpaceFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.avail.Load(), TotalBytes: 1 << 40}, nil
}

// TestPurgesOnFullDisk checks that purges continue on a full disk, although the time of a
// container's last use can no longer be stored.
func TestPurgesOnFullDisk(t *testing.T) {
	t.Parallel()
	var avail atomic.Uint64
	avail.Store(1 << 40)
	b := newBenchWith(t, testdisk.OfFiles(t, fakeFreeSpaceFS{vfs.NewMem(), &avail}), `"defaultTtl":10`,
		store.Options{Ranges: 1, ManualReaper: true})
	defer b.close()
	if _, err := b.c.ChangeSettings(b.ctx,
		func(s *store.ContainerSettings) error { s.AutoDeleteOnIdle = 300; return nil }); err != nil {
		t.Fatal(err)
	}
	pad := fmt.Sprintf("%040000d", 0)
	write := func(id int) error {
		_, _, err := b.c.Create(b.ctx, pk("x"), fmt.Appendf(nil, `{"id":"%d","pk":"x","pad":"%s"}`, id, pad),
			store.WriteOptions{})
		return err
	}
	for i := range 20 {
		if err := write(i); err != nil {
			t.Fatal(err)
		}
	}
	avail.Store(48 << 20) // less than what is kept in reserve, more than half of it
	full := false
	for i := 100; i < 200 && !full; i++ {
		err := write(i)
		if full = is(err, fault.CodeDiskFull); err != nil && !full {
			t.Fatal(err)
		}
	}
	if !full {
		t.Fatal("no write was refused: the disk is not full")
	}
	b.clock.Advance(100 * time.Second)
	// a use of the container
	if _, _, err := b.c.Read(b.ctx, pk("x"), "0", store.ReadOptions{}); !is(err, fault.CodeNotFound) {
		t.Error(err)
	}
	if n, err := b.db.SweepNow(b.ctx); n < 20 || err != nil {
		t.Errorf("purged %d, %v", n, err)
	}
	avail.Store(1 << 40)
}

// TestClockSetBackDuringNow checks that concurrent calls of DB.Now do not move the clock forward
// again while it is set back.
func TestClockSetBackDuringNow(t *testing.T) {
	testdisk.Pebble(t, "the machine's clock is moved, which servers of a database do not use")
	t.Parallel()
	ctx := context.Background()
	b := &testStore{t: t, ctx: ctx}
	e, err := testdisk.New(t).Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if b.db, err = store.Open(ctx, e,
		store.Options{Clock: ttl.NewVirtualClock(ttl.NewManual(time.Unix(clockStart, 0))),
			ManualReaper: true}); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	var askers sync.WaitGroup
	var stop atomic.Bool
	for range 6 {
		askers.Go(func() {
			for !stop.Load() {
				b.db.Now()
			}
		})
	}
	up, down := time.Unix(clockStart+1000, 0), time.Unix(clockStart+10, 0)
	for round := range racetest.Fewer(2000, 10) {
		for _, at := range []time.Time{up, down} {
			if _, err := b.db.SetClock(ctx, store.ClockChangeRequest{Set: &at}); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.db.Now(); !got.Equal(down) {
			t.Errorf("round %d: set to %v, the store's clock shows %v", round, down, got)
			break
		}
	}
	stop.Store(true)
	askers.Wait()
}

// TestMetricsDuringRestore checks that Metrics succeeds, or fails with CodeUnavailable, while the
// store is being restored.
func TestMetricsDuringRestore(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 1)
	defer b.close()
	b.mustSnapshot("one")
	var askers sync.WaitGroup
	var stop atomic.Bool
	for range 2 {
		askers.Go(func() {
			for !stop.Load() {
				if _, err := b.db.Metrics(b.ctx); err != nil && !is(err, fault.CodeUnavailable) {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		if err := b.db.Restore(b.ctx, "one"); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	askers.Wait()
}

// TestFeedAfterDatabaseRestore checks that a reader of a change feed that has read changes lost
// by a restore of the database still gets every later change.
func TestFeedAfterDatabaseRestore(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 1)
	defer b.close()
	put := func(id string) {
		t.Helper()
		if _, _, err := b.c.Upsert(b.ctx, pk("x"), fmt.Appendf(nil, `{"id":%q,"pk":"x"}`, id),
			store.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		put(fmt.Sprint(i))
	}
	b.mustSnapshot("one")
	for i := range 5 {
		put(fmt.Sprint("lost", i))
	}
	before, _, err := b.c.Changes(b.ctx, store.ChangesRequest{MaxItems: -1})
	if err != nil || len(before.Changes) != 15 {
		t.Fatal(len(before.Changes), err)
	}
	if _, err := b.db.RestoreDatabase(b.ctx, "one", "db"); err != nil {
		t.Fatal(err)
	}
	b.lookUp()
	for i := range 8 {
		put(fmt.Sprint("new", i))
	}
	after, _, err := b.c.Changes(b.ctx,
		store.ChangesRequest{MaxItems: -1, Start: store.ChangesStart{After: before.Position}})
	if err != nil || len(after.Changes) != 8 {
		t.Errorf("%d of 8 changes behind the position %s, %v", len(after.Changes), before.Position, err)
	}
}
