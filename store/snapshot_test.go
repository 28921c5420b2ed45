package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// lookUp sets b.c to the current container "c" and returns it. It is needed after a restore, which
// invalidates the former Container.
func (b *testStore) lookUp() *store.Container {
	b.t.Helper()
	d, err := b.db.Database("db")
	if err == nil {
		b.c, err = d.Container("c")
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return b.c
}

func (b *testStore) mustSnapshot(name string) store.SnapshotInfo {
	b.t.Helper()
	s, err := b.db.Snapshot(b.ctx, name)
	if err != nil {
		b.t.Fatalf("snapshot %s: %v", name, err)
	}
	return s
}

func (b *testStore) mustRestore(name string) {
	b.t.Helper()
	if err := b.db.Restore(b.ctx, name); err != nil {
		b.t.Fatalf("restore %s: %v", name, err)
	}
	b.lookUp()
}

func (b *testStore) upsert(id, body string) store.Item {
	b.t.Helper()
	item, _, err := b.c.Upsert(b.ctx, pk("p"), []byte(`{"id":"`+id+`","pk":"p"`+body+`}`), store.WriteOptions{})
	if err != nil {
		b.t.Fatalf("upsert %s: %v", id, err)
	}
	return item
}

// ids returns the ids of a container's documents, sorted and with their values: "a=1 b".
func ids(t *testing.T, c *store.Container) string {
	t.Helper()
	var out []string
	for row, err := range c.Rows(context.Background(), store.QueryRequest{Text: `SELECT VALUE c.id || (IS_DEFINED(c.v) ? "=" || c.v : "") FROM c`}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Trim(string(row), `"`))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (b *testStore) holds(want string) {
	b.t.Helper()
	if got := ids(b.t, b.c); got != want {
		b.t.Errorf("documents %q, want %q", got, want)
	}
}

func TestSnapshotAndRestore(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	t.Parallel()
	for _, where := range []string{"memory", "disk"} {
		t.Run(where, func(t *testing.T) {
			fs := testdisk.New(t)
			if where == "disk" {
				fs = testdisk.NewCrashable(t)
			}
			b := newBenchOn(t, fs, `"defaultTtl":-1`, 2)
			b.upsert("a", `,"v":"1"`)
			b.upsert("mortal", `,"ttl":100`)
			s := b.mustSnapshot("one")
			if s.Name != "one" || !slices.Equal(s.Databases, []string{"db"}) || s.Bytes == 0 || !s.Time.Equal(b.clock.Now()) {
				t.Errorf("snapshot %+v", s)
			}
			b.upsert("a", `,"v":"2"`)
			b.upsert("b", "")
			advance := 200 * time.Second
			if _, err := b.db.SetClock(b.ctx, store.ClockChangeRequest{Advance: &advance}); err != nil {
				t.Fatal(err)
			}
			b.holds("a=2 b")
			for range 2 { // a snapshot is not used up
				b.mustRestore("one")
				b.holds("a=1 mortal")
				if now := b.db.Now().Unix(); now != 1_700_000_000 {
					t.Errorf("the clock shows %d", now)
				}
				checkClean(t, b.db)
				b.upsert("later", "")
			}
			b.mustSnapshot("two")
			b.mustRestore("one")
			b.holds("a=1 mortal")
			b.mustRestore("two")
			b.holds("a=1 later mortal")
			list, err := b.db.Snapshots(b.ctx)
			if err != nil || len(list) != 2 || list[0].Name != "one" || list[1].Name != "two" {
				t.Errorf("snapshots %+v, %v", list, err)
			}
			if err := b.db.DeleteSnapshot(b.ctx, "one"); err != nil {
				t.Error(err)
			}
			if err := b.db.Restore(b.ctx, "one"); !is(err, fault.CodeNotFound) {
				t.Errorf("restoring what was deleted: %v", err)
			}
			b.close()
		})
	}
}

func TestSnapshotRefusals(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	b.mustSnapshot("x")
	for _, tc := range []struct {
		what string
		err  error
		code fault.Code
	}{
		{"taken", failure(b.db.Snapshot(b.ctx, "x")), fault.CodeConflict},
		{"empty name", failure(b.db.Snapshot(b.ctx, "")), fault.CodeBadRequest},
		{"a path", failure(b.db.Snapshot(b.ctx, "../x")), fault.CodeBadRequest},
		{"upper case", failure(b.db.Snapshot(b.ctx, "X")), fault.CodeBadRequest},
		{"too long", failure(b.db.Snapshot(b.ctx, strings.Repeat("x", 65))), fault.CodeBadRequest},
		{"restore of nothing", b.db.Restore(b.ctx, "y"), fault.CodeNotFound},
		{"restore of a path", b.db.Restore(b.ctx, "../snapshots/x"), fault.CodeBadRequest},
		{"restore of no name", b.db.Restore(b.ctx, ""), fault.CodeBadRequest},
		{"delete of nothing", b.db.DeleteSnapshot(b.ctx, "y"), fault.CodeNotFound},
		{"delete of no name", b.db.DeleteSnapshot(b.ctx, ""), fault.CodeBadRequest},
		{"fork of nothing", failure(b.db.ForkDatabase(b.ctx, "y", "db", "new")), fault.CodeNotFound},
		{"fork of no database", failure(b.db.ForkDatabase(b.ctx, "x", "nope", "new")), fault.CodeNotFound},
		{"fork on a name that is taken", failure(b.db.ForkDatabase(b.ctx, "x", "db", "db")), fault.CodeConflict},
		{"fork under a bad name", failure(b.db.ForkDatabase(b.ctx, "x", "db", "a/b")), fault.CodeBadRequest},
	} {
		if !is(tc.err, tc.code) {
			t.Errorf("%s: %v, want %v", tc.what, tc.err, tc.code)
		}
	}
	b.lookUp()
	b.upsert("still", "")
}

func failure[T any](_ T, err error) error { return err }

func (b *testStore) incarnation() uint32 {
	b.t.Helper()
	n, err := b.db.Incarnation(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// TestReferencesFromBeforeRestore checks that objects, etags, LSNs and resource ids from before a restore are
// refused after it, or identify nothing new.
func TestReferencesFromBeforeRestore(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	b.upsert("a", "")
	old := b.c
	b.mustSnapshot("s")
	first, before := b.upsert("a", `,"v":"2"`), b.incarnation()
	_, position := b.c.Position("")
	d, err := b.db.CreateDatabase(b.ctx, "gone", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	b.mustRestore("s")
	if b.incarnation() == before {
		t.Error("the incarnation has not changed")
	}
	if _, _, err := old.Read(b.ctx, pk("p"), "a", store.ReadOptions{}); !is(err, fault.CodeUnavailable) {
		t.Errorf("a read of the container of before: %v", err)
	}
	if _, _, err := old.Upsert(b.ctx, pk("p"), []byte(`{"id":"x","pk":"p"}`), store.WriteOptions{}); !is(err, fault.CodeUnavailable) {
		t.Errorf("a write to the container of before: %v", err)
	}
	if _, err := d.CreateContainer(b.ctx, specOf(t, ""), definition.Throughput{}); err == nil {
		t.Error("a container was made in a database of before")
	}
	_, _, err = b.c.Replace(b.ctx, pk("p"), "a", []byte(`{"id":"a","pk":"p"}`), store.WriteOptions{IfMatch: first.ETag()})
	if !is(err, fault.CodePreconditionFailed) {
		t.Errorf("a replace with an etag of before: %v", err)
	}
	again := b.upsert("a", `,"v":"3"`)
	if again.ETag() == first.ETag() || again.LSN() <= position {
		t.Errorf("written anew with etag %s and LSN %d; before it was %s, and the position %d", again.ETag(), again.LSN(), first.ETag(), position)
	}
	fresh, err := b.db.CreateDatabase(b.ctx, "other", definition.Throughput{})
	if err != nil || fresh.RID() == d.RID() {
		t.Errorf("a new database has the rid %s of one that was lost, or: %v", fresh.RID(), err)
	}
}

// TestRestoreOfADroppedContainer checks that after a restore new LSNs of a container are higher than all
// that it had before, even if it was dropped and the store closed before the restore.
func TestRestoreOfADroppedContainer(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	t.Parallel()
	fs := testdisk.New(t)
	b := newBenchOn(t, fs, "", 1)
	b.mustSnapshot("s")
	for range 20 {
		b.upsert("a", "")
	}
	_, position := b.c.Position("")
	d, err := b.db.Database("db")
	if err == nil {
		err = d.DeleteContainer(b.ctx, "c", store.WriteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	b.reopen(fs)
	b.mustRestore("s")
	if item := b.upsert("a", ""); item.LSN() <= position {
		t.Errorf("LSN %d was issued again: the container had come to %d", item.LSN(), position)
	}
	b.close()
}

// reopen closes the store and opens it again on the in-memory disk fs.
func (b *testStore) reopen(fs *testdisk.EngineStorage) {
	b.t.Helper()
	if err := b.db.Close(); err != nil {
		b.t.Fatal(err)
	}
	var err error
	if b.db, err = openMemory(b.ctx, fs, ttl.NewManual(b.clock.Now())); err != nil {
		b.t.Fatal(err)
	}
}

func openMemory(ctx context.Context, fs *testdisk.EngineStorage, clock ttl.Clock) (*store.DB, error) {
	e, err := fs.Open(ctx)
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, e, store.Options{Clock: clock, ManualReaper: true})
}

func TestForkAndRestoreOneDatabase(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	t.Parallel()
	w := newResourceRig(t, testdisk.New(t))
	b := w.testStore
	b.upsert("a", `,"v":"1"`)
	if _, err := w.d.SetClock(b.ctx, store.ClockChangeRequest{Rate: new(float64)}); err != nil {
		t.Fatal(err)
	}
	b.mustSnapshot("s")
	b.upsert("a", `,"v":"2"`)
	other, err := b.db.CreateDatabase(b.ctx, "other", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	fork, err := b.db.ForkDatabase(b.ctx, "s", "db", "fork")
	if err != nil {
		t.Fatal(err)
	}
	c, err := fork.Container("c")
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(t, c); got != "a=1" {
		t.Errorf("the fork has %q", got)
	}
	if _, own := fork.Clock(); !own {
		t.Error("the fork has no clock of its own")
	}
	for _, n := range []struct {
		what      string
		have, was int
	}{
		{"scripts", len(c.Resources(store.KindStoredProcedure).List()), 1},
		{"encryption keys", len(fork.Resources(store.KindEncryptionKey).List()), 1},
		{"users", len(fork.Resources(store.KindUser).List()), 0},
		{"throughputs", len(b.db.Offers()), 2},
	} {
		if n.have != n.was {
			t.Errorf("%d %s, want %d", n.have, n.what, n.was)
		}
	}
	b.holds("a=2")
	checkClean(t, b.db)

	back, err := b.db.RestoreDatabase(b.ctx, "s", "db")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.c.Read(b.ctx, pk("p"), "a", store.ReadOptions{}); err == nil {
		t.Error("the container that was replaced still answers")
	}
	b.lookUp()
	b.holds("a=1")
	if users := back.Resources(store.KindUser).List(); len(users) != 1 {
		t.Errorf("%d users came back", len(users))
	}
	if p, err := back.Permissions("u"); err != nil || len(p.List()) != 1 {
		t.Errorf("permissions did not come back: %v", err)
	}
	if d, err := b.db.Database("other"); err != nil || d != other {
		t.Error("the other database was touched")
	}
	if err := b.db.DeleteDatabase(b.ctx, "db", store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.db.RestoreDatabase(b.ctx, "s", "db"); err != nil {
		t.Errorf("bringing a deleted database back: %v", err)
	}
	b.lookUp()
	b.holds("a=1")
	b.close()
}

// TestRestoreOneContainer checks that RestoreContainer brings back one container that was changed or
// deleted, including items expired by a shorter default since, and changes neither other containers nor
// the database's clock.
func TestRestoreOneContainer(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	t.Parallel()
	w := newResourceRig(t, testdisk.New(t))
	b := w.testStore
	b.upsert("a", `,"v":"1"`)
	spec := definition.ContainerSpec{ID: "beside"}
	spec.PartitionKey.Paths = []string{"/pk"}
	beside, err := w.d.CreateContainer(b.ctx, spec, definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	etag := b.c.Info().ETag
	b.mustSnapshot("s")
	b.upsert("a", `,"v":"2"`)
	for _, n := range []string{"replaced", "deleted"} {
		if n == "deleted" {
			if err := w.d.DeleteContainer(b.ctx, "c", store.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := beside.Upsert(b.ctx, pk(n), []byte(`{"id":"kept","pk":"`+n+`"}`), store.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		old := b.c
		if b.c, err = b.db.RestoreContainer(b.ctx, "s", "db", "c"); err != nil {
			t.Fatal(n, err)
		}
		b.holds("a=1")
		if b.c.Info().ETag == etag {
			t.Error("the etag names two contents")
		}
		if _, _, err := old.Read(b.ctx, pk("p"), "a", store.ReadOptions{}); err == nil {
			t.Error("the container that was replaced still answers")
		}
		if got := len(b.c.Resources(store.KindStoredProcedure).List()); got != 1 {
			t.Errorf("%s: %d scripts", n, got)
		}
		if c, err := w.d.Container("beside"); err != nil || c != beside {
			t.Error("the neighbour was replaced", err)
		}
		if _, _, err := beside.Read(b.ctx, pk(n), "kept", store.ReadOptions{}); err != nil {
			t.Error("the neighbour has lost a document", err)
		}
		b.upsert("a", `,"v":"3"`)
		b.holds("a=3")
	}
	checkClean(t, b.db)
	for _, ask := range [][3]string{{"s", "db", "none"}, {"s", "none", "c"}, {"none", "db", "c"}} {
		if _, err := b.db.RestoreContainer(b.ctx, ask[0], ask[1], ask[2]); fault.ErrorCode(err) != fault.CodeNotFound {
			t.Errorf("%v: %v", ask, err)
		}
	}
	b.close()
}

// TestRestoreUnderLoad checks that requests during restores fail or see exactly one state: two documents
// that are always written together never differ.
func TestRestoreUnderLoad(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	t.Parallel()
	b := newTestStore(t, "", 2)
	b.pair("0")
	b.mustSnapshot("s")
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		all(8, func(worker int) {
			for n := 0; !stop.Load(); n++ {
				b.pairOnce(worker, n)
			}
		})
	}()
	for range 20 {
		if err := b.db.Restore(b.ctx, "s"); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	<-done
	b.mustRestore("s")
	b.holds("x=0 y=0")
	b.close()
}

func (b *testStore) pair(v string) error {
	d, err := b.db.Database("db")
	if err != nil {
		return err
	}
	c, err := d.Container("c")
	if err != nil {
		return err
	}
	ops := []store.ItemOperation{}
	for _, id := range []string{"x", "y"} {
		ops = append(ops, store.ItemOperation{Kind: store.OperationUpsert,
			Body: []byte(`{"id":"` + id + `","pk":"p","v":"` + v + `"}`)})
	}
	_, _, err = c.Batch(b.ctx, pk("p"), ops, store.BatchOptions{Atomic: true})
	return err
}

func (b *testStore) pairOnce(worker, n int) {
	if worker%2 == 0 {
		if err := b.pair(fmt.Sprint(worker, "-", n)); err != nil && !is(err, fault.CodeUnavailable) {
			b.t.Errorf("write: %v", err)
		}
		return
	}
	d, err := b.db.Database("db")
	if err != nil {
		b.t.Error(err)
		return
	}
	c, err := d.Container("c")
	if err != nil {
		b.t.Error(err)
		return
	}
	var values []string
	for row, err := range c.Rows(b.ctx, store.QueryRequest{Text: "SELECT VALUE c.v FROM c"}) {
		if is(err, fault.CodeUnavailable) {
			return
		}
		if err != nil {
			b.t.Errorf("read: %v", err)
			return
		}
		values = append(values, string(row))
	}
	if len(values) != 2 || values[0] != values[1] {
		b.t.Errorf("a reader saw %v", values)
	}
}

// TestSnapshotAndRestoreOnAFailingDisk lets the n-th disk operation of a snapshot and a restore fail, for
// each n. It checks that the store then has either its state or the snapshot's, can be used, and is the
// same after a reopen.
func TestSnapshotAndRestoreOnAFailingDisk(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	t.Parallel()
	for _, op := range []string{"snapshot", "restore", "fork"} {
		t.Run(op, func(t *testing.T) {
			for n := int64(0); ; n++ {
				if !failingDisk(t, op, n) || t.Failed() {
					break
				}
			}
		})
	}
}

func failingDisk(t *testing.T, op string, n int64) (failed bool) {
	mem := testdisk.New(t)
	var left atomic.Int64
	left.Store(1 << 40)
	fs := mem.Inject(errorfs.InjectorFunc(func(o errorfs.Op) error {
		if o.Kind.ReadOrWrite() == errorfs.OpIsWrite && left.Add(-1) == -1 {
			return syscall.ENOSPC
		}
		return nil
	}))
	ctx := context.Background()
	b := &testStore{t: t, ctx: ctx, clock: ttl.NewManual(time.Unix(1_700_000_000, 0))}
	b.prepare(fs)
	left.Store(n)
	var err error
	switch op {
	case "snapshot":
		_, err = b.db.Snapshot(ctx, "new")
	case "restore":
		err = b.db.Restore(ctx, "s")
	default:
		_, err = b.db.ForkDatabase(ctx, "s", "db", "fork")
	}
	failed = left.Load() < 0
	left.Store(1 << 40)
	if !failed && err != nil {
		t.Errorf("%s: %v", op, err)
	}
	want := "a=2"
	if op == "restore" && err == nil {
		want = "a=1"
	}
	b.lookUp()
	if code := fault.ErrorCode(err); err != nil && code != fault.CodeDiskFull && code != fault.CodeUnavailable {
		t.Errorf("%s, write %d fails: %v", op, n, err)
	}
	unknown := b.db.Ping(ctx) != nil // the disk was cut off: only the next Open can tell
	live := want
	if !unknown {
		live = ids(t, b.c)
	}
	if live != want {
		t.Errorf("%s, write %d fails with %v: %q, want %q", op, n, err, live, want)
	}
	if closed := b.db.Close(); closed != nil && err == nil && !unknown {
		t.Error(closed)
	}
	if b.db, err = openAt(ctx, mem, b.clock); err != nil {
		t.Fatalf("%s, write %d failed: opening again: %v", op, n, err)
	}
	b.lookUp()
	if got := ids(t, b.c); got != live && !(unknown && (got == "a=1" || got == "a=2")) {
		t.Errorf("%s, write %d failed: %q, after opening again %q", op, n, live, got)
	}
	b.close()
	return failed
}

// prepare opens a store with an item a whose value is 1 in a snapshot, and 2 now.
func (b *testStore) prepare(fs *testdisk.EngineStorage) {
	b.t.Helper()
	var err error
	if b.db, err = openAt(b.ctx, fs, b.clock); err != nil {
		b.t.Fatal(err)
	}
	d, err := b.db.CreateDatabase(b.ctx, "db", definition.Throughput{})
	if err == nil {
		b.c, err = d.CreateContainer(b.ctx, specOf(b.t, ""), definition.Throughput{})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.upsert("a", `,"v":"1"`)
	b.mustSnapshot("s")
	b.upsert("a", `,"v":"2"`)
}

// TestRestoreCrash crashes after each disk operation of a restore, and checks that the reopened store has
// either the old or the restored data.
func TestRestoreCrash(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	t.Parallel()
	for _, op := range []string{"restore", "second restore", "fork", "one database"} {
		t.Run(op, func(t *testing.T) { crashDuring(t, op) })
	}
}

func crashDuring(t *testing.T, op string) {
	mem := testdisk.NewCrashable(t)
	var mu sync.Mutex
	var clones []*testdisk.EngineStorage
	var watch atomic.Bool
	fs := mem.Inject(errorfs.InjectorFunc(func(o errorfs.Op) error {
		if watch.Load() && o.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			clones = append(clones, mem.CrashClone(vfs.CrashCloneCfg{}))
		}
		return nil
	}))
	b := &testStore{t: t, ctx: context.Background(), clock: ttl.NewManual(time.Unix(1_700_000_000, 0))}
	b.prepare(fs)
	if op == "second restore" {
		b.mustRestore("s")
		b.upsert("a", `,"v":"2"`)
	}
	watch.Store(true)
	var err error
	switch op {
	case "fork":
		_, err = b.db.ForkDatabase(b.ctx, "s", "db", "fork")
	case "one database":
		_, err = b.db.RestoreDatabase(b.ctx, "s", "db")
	default:
		err = b.db.Restore(b.ctx, "s")
	}
	watch.Store(false)
	if err != nil {
		t.Fatal(err)
	}
	clones = append(clones, mem.CrashClone(vfs.CrashCloneCfg{}))
	b.close()
	seen := map[string]int{}
	for i, clone := range clones {
		b := &testStore{t: t, ctx: b.ctx, clock: b.clock}
		if b.db, err = openAt(b.ctx, clone, b.clock); err != nil {
			t.Fatalf("after a crash at step %d of %d: %v", i, len(clones), err)
		}
		b.lookUp()
		state := ids(t, b.c)
		if d, err := b.db.Database("fork"); err == nil {
			c, err := d.Container("c")
			if err != nil {
				t.Fatal(err)
			}
			state += " fork:" + ids(t, c)
		}
		seen[state]++
		b.close()
	}
	want := []string{"a=1", "a=2"}
	if op == "fork" {
		want = []string{"a=2", "a=2 fork:a=1"}
	}
	for state := range seen {
		if !slices.Contains(want, state) {
			t.Errorf("after a crash the store held %q", state)
		}
	}
	if len(seen) != 2 {
		t.Errorf("%d crashes gave %v", len(clones), seen)
	}
}
