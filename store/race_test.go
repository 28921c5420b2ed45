package store_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/internal/sharedengine"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// testStore is a store with one container, on a disk of package testdisk and with a clock that the test
// moves.
type testStore struct {
	t     *testing.T
	ctx   context.Context
	clock *ttl.VirtualClock
	db    *store.DB
	c     *store.Container

	shared *sharedengine.SharedEngine // what several stores are over: see servers_test.go
}

func newTestStore(t *testing.T, spec string, ranges int) *testStore {
	t.Helper()
	return newBenchOn(t, testdisk.New(t), spec, ranges)
}

func newBenchOn(t *testing.T, fs *testdisk.EngineStorage, spec string, ranges int) *testStore {
	t.Helper()
	return newBenchWith(t, fs, spec, store.Options{Ranges: ranges, ManualReaper: true})
}

// newBenchWith opens a testStore with the given options. Its clock is the test's unless o.Clock is set.
// spec holds members of the container's definition as JSON.
func newBenchWith(t *testing.T, fs *testdisk.EngineStorage, spec string, o store.Options) *testStore {
	t.Helper()
	return newBenchOver(t, fs, spec, o, func(e testdisk.Engine) engine.Engine { return e })
}

// newBenchOver opens a testStore with the options o over the engine that watch returns. watch is called with
// the engine of the disk fs and usually wraps it. spec holds members of the container's definition as JSON.
func newBenchOver(t *testing.T, fs *testdisk.EngineStorage, spec string, o store.Options,
	watch func(testdisk.Engine) engine.Engine) *testStore {
	t.Helper()
	open := fs.Open
	if _, moves := o.Clock.(*ttl.VirtualClock); o.Clock != nil && !moves {
		open = func(ctx context.Context) (testdisk.Engine, error) { return fs.OpenAt(ctx, o.Clock) }
	}
	e, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return newBenchOf(t, watch(e), spec, o)
}

// newBenchOf opens a testStore over an engine, which is closed with the store.
func newBenchOf(t *testing.T, e engine.Engine, spec string, o store.Options) *testStore {
	t.Helper()
	b := &testStore{t: t, ctx: context.Background(), clock: ttl.NewManual(time.Unix(1_700_000_000, 0))}
	if o.Clock == nil {
		o.Clock = b.clock
	}
	var err error
	if b.db, err = store.Open(b.ctx, e, o); err != nil {
		t.Fatal(err)
	}
	d, err := b.db.CreateDatabase(b.ctx, "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	if b.c, err = d.CreateContainer(b.ctx, specOf(t, spec), definition.Throughput{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// specOf returns the definition of a container "c" with the partition key /pk. more holds further members
// as JSON.
func specOf(t *testing.T, more string) definition.ContainerSpec {
	t.Helper()
	if more != "" {
		more = "," + more
	}
	spec, _, err := definition.ParseContainerSpec([]byte(`{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}`+more+`}`), true)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// close checks the consistency of the store with checkClean and closes it.
func (b *testStore) close() {
	b.t.Helper()
	checkClean(b.t, b.db)
	if err := b.db.Close(); err != nil {
		b.t.Error(err)
	}
}

// checkClean purges everything that has expired, and checks that DB.Check finds no inconsistency and that
// no expired item is left, except where the reaper is held back or has reported that it cannot purge one.
func checkClean(t *testing.T, db *store.DB) {
	t.Helper()
	checkNothingDead(t, db)
	checkSound(t, db)
}

// checkSound checks that DB.Check finds no inconsistency.
func checkSound(t *testing.T, db *store.DB) {
	t.Helper()
	if err := db.Check(context.Background(), func(err error) bool { t.Errorf("check: %v", err); return true }); err != nil {
		t.Error(err)
	}
}

// checkNothingDead stops a running clock, purges everything that has expired, and checks that no expired
// item is left.
func checkNothingDead(t *testing.T, db *store.DB) {
	t.Helper()
	ctx := context.Background()
	if freeze := true; db.VirtualClock() && db.Clock().Rate != 0 {
		if _, err := db.SetClock(ctx, store.ClockChangeRequest{Freeze: &freeze}); err != nil {
			t.Error("freeze:", err)
		}
	}
	if _, err := db.SweepNow(ctx); err != nil {
		t.Error("sweep:", err)
		return
	}
	for _, d := range db.Databases() {
		for _, c := range d.Containers() {
			state, err := c.Reaper(ctx)
			if err != nil {
				t.Errorf("the reaper of %s: %v", c.ID(), err)
				continue
			}
			held := state.Paused || state.AllPaused || state.Settings != store.ReaperSettings{}
			if n := state.Backlog.Items; n > 0 && !held {
				t.Errorf("after a sweep %d items of %s are dead and still there", n, c.ID())
			}
		}
	}
}

func (b *testStore) setDefault(def string) {
	if err := b.tryDefault(def); err != nil {
		b.t.Error(err)
	}
}

func (b *testStore) tryDefault(def string) error {
	d, err := b.db.Database("db")
	if err == nil {
		_, err = d.ReplaceContainer(b.ctx, "c", specOf(b.t, `"defaultTtl":`+def), store.WriteOptions{})
	}
	return err
}

func (b *testStore) seconds() int64 { return b.db.Now().Unix() }

func pk(s string) definition.PartitionKey { return definition.NewPartitionKey(jsondoc.StringValue(s)) }

func is(err error, code fault.Code) bool { return err != nil && fault.ErrorCode(err) == code }

// all runs fn for 0 to n-1 concurrently and waits for all calls to return.
func all(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

// TestReadsAtExpirySecond checks with concurrent readers that no read that begins at or after the second of
// an item's expiry returns the item, and that every read that ends before returns it.
func TestReadsAtExpirySecond(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 2)
	defer b.close()
	const items = 8
	rounds := racetest.Campaign(300, 120)
	// Each item is alive from its creation, and again from each time that its writer creates it anew.
	var deadline [items]atomic.Int64 // the second in which what was written last expires
	var done atomic.Bool
	found, missed := newOnceSignal(), newOnceSignal()

	partition := func(i int) definition.PartitionKey { return pk(strconv.Itoa(i % 3)) }
	seen := func(began int64, it store.Item) {
		if due := it.Timestamp() + gjson.GetBytes(it.Body(), "ttl").Int(); due <= began {
			t.Errorf("%s expired at %d; a read that began at %d returned it", it.ID(), due, began)
		}
	}
	reads := func(k int) {
		for n := k; !done.Load(); n++ {
			i := n % items
			due, began := deadline[i].Load(), b.seconds()
			it, _, err := b.c.Read(b.ctx, partition(i), strconv.Itoa(i), store.ReadOptions{})
			switch ended := b.seconds(); {
			case err == nil:
				found.give()
				seen(began, it)
			case !is(err, fault.CodeNotFound):
				t.Error(err)
			case ended < due:
				t.Errorf("%d expires at %d; a read that ended at %d missed it", i, due, ended)
			case due > 0: // it has been written
				missed.give()
			}
		}
	}
	lists := func() {
		for !done.Load() {
			began := b.seconds()
			page, _, err := b.c.List(b.ctx, store.ListOptions{MaxItems: -1})
			if err != nil {
				t.Error(err)
			}
			for _, it := range page.Items {
				seen(began, it)
			}
			var keys []store.ItemKey
			for i := range items {
				keys = append(keys, store.ItemKey{Partition: partition(i), ID: strconv.Itoa(i)})
			}
			began = b.seconds()
			many, _, err := b.c.ReadMany(b.ctx, keys, store.ReadOptions{})
			if err != nil {
				t.Error(err)
			}
			for _, it := range many {
				seen(began, it)
			}
		}
	}
	writes := func() {
		defer done.Store(true)
		for round := range rounds {
			for i := range items {
				life := int64(1 + (round+i)%3)
				body := fmt.Sprintf(`{"id":"%d","pk":"%d","ttl":%d}`, i, i%3, life)
				it, _, err := b.c.Create(b.ctx, partition(i), []byte(body), store.WriteOptions{})
				if is(err, fault.CodeConflict) {
					continue // the last one still lives
				}
				if err != nil {
					t.Error(err)
					return
				}
				deadline[i].Store(it.Timestamp() + life)
			}
			found.wait(b.ctx) // a reader has found an item
			b.clock.Advance(time.Second)
			missed.wait(b.ctx) // and one has missed an item that expired
		}
	}
	sweeps := func() {
		for n := 0; !done.Load(); n++ {
			if _, err := b.db.SweepNow(b.ctx); err != nil {
				t.Error(err)
			}
			b.setDefault([]string{"-1", "100", "2147483647"}[n%3]) // each item has a ttl of its own
		}
	}
	jobs := []func(){writes, sweeps, lists, func() { reads(0) }, func() { reads(3) }}
	all(len(jobs), func(i int) { jobs[i]() })
}

// onceSignal is a signal that can be given several times. Waiting for it ends once it has been given.
type onceSignal struct {
	once  sync.Once
	given chan struct{}
}

func newOnceSignal() *onceSignal { return &onceSignal{given: make(chan struct{})} }

func (s *onceSignal) give() { s.once.Do(func() { close(s.given) }) }

func (s *onceSignal) wait(ctx context.Context) {
	select {
	case <-s.given:
	case <-ctx.Done():
	}
}

// TestExpiredItemsStayInvisible checks with concurrent readers that an item that one read has not found is
// not found by any later read, while the default TTL is shortened for a moment, partitions are deleted and
// items are purged.
func TestExpiredItemsStayInvisible(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":1000`, 2)
	defer b.close()
	const items = 12
	partition := func(i int) string { return strconv.Itoa(i % 3) }
	for round := range 12 {
		var gone [items]atomic.Bool
		var over atomic.Bool
		id := func(i int) string { return fmt.Sprintf("%d-%d", round, i) }
		for i := range items {
			body := fmt.Appendf(nil, `{"id":%q,"pk":%q,"i":%d}`, id(i), partition(i), i)
			if _, _, err := b.c.Create(b.ctx, pk(partition(i)), body, store.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		b.clock.Advance(5 * time.Second)

		ends := func() {
			defer over.Store(true)
			if round%2 == 0 {
				b.setDefault("5")
				b.setDefault("1000")
				return
			}
			for i := range 3 {
				if _, err := b.c.DeletePartition(b.ctx, pk(partition(i))); err != nil {
					t.Error(err)
				}
			}
		}
		sweeps := func() {
			for !over.Load() {
				if _, err := b.db.SweepNow(b.ctx); err != nil {
					t.Error(err)
				}
			}
		}
		reads := func() {
			for last := false; !last; {
				last = over.Load() // one more round when the writers have ended
				for i := range items {
					was := gone[i].Load()
					_, _, err := b.c.Read(b.ctx, pk(partition(i)), id(i), store.ReadOptions{})
					switch {
					case is(err, fault.CodeNotFound):
						gone[i].Store(true)
					case err != nil:
						t.Error(err)
					case was || last:
						t.Errorf("round %d: item %d is back", round, i)
					}
				}
			}
		}
		lists := func() {
			for last := false; !last; {
				last = over.Load()
				var was [items]bool
				for i := range items {
					was[i] = gone[i].Load()
				}
				page, _, err := b.c.List(b.ctx, store.ListOptions{MaxItems: -1})
				if err != nil {
					t.Error(err)
				}
				for _, it := range page.Items {
					if i := gjson.GetBytes(it.Body(), "i").Int(); was[i] || last {
						t.Errorf("round %d: item %d is back in a list", round, i)
					}
				}
			}
		}
		jobs := []func(){ends, sweeps, reads, reads, lists}
		all(len(jobs), func(i int) { jobs[i]() })
	}
}

// TestConcurrentCreatesOverGhost checks that of several concurrent creates with the id of an expired item
// exactly one succeeds.
func TestConcurrentCreatesOverGhost(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 1)
	defer b.close()
	for round := range 30 {
		var won, lost atomic.Int64
		all(17, func(i int) {
			if i == 16 {
				if _, err := b.db.SweepNow(b.ctx); err != nil {
					t.Error(err)
				}
				return
			}
			body := fmt.Sprintf(`{"id":"a","pk":"x","ttl":1,"by":%d}`, i)
			switch _, _, err := b.c.Create(b.ctx, pk("x"), []byte(body), store.WriteOptions{}); {
			case err == nil:
				won.Add(1)
			case is(err, fault.CodeConflict):
				lost.Add(1)
			default:
				t.Error(err)
			}
		})
		if won.Load() != 1 || lost.Load() != 15 {
			t.Fatalf("round %d: %d creates succeeded, %d met a conflict", round, won.Load(), lost.Load())
		}
		b.clock.Advance(time.Second)
	}
}

// TestUniqueUnderConcurrency checks that of several concurrent writes with the same unique key value
// exactly one succeeds, even if the item that had the value has just expired.
func TestUniqueUnderConcurrency(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`, 1)
	defer b.close()
	for round := range 20 {
		var won atomic.Int64
		all(16, func(i int) {
			body := fmt.Appendf(nil, `{"id":"%d-%d","pk":"x","u":"taken","ttl":1}`, round, i)
			var err error
			if i%2 == 0 {
				_, _, err = b.c.Create(b.ctx, pk("x"), body, store.WriteOptions{})
			} else {
				_, _, err = b.c.Upsert(b.ctx, pk("x"), body, store.WriteOptions{})
			}
			if err == nil {
				won.Add(1)
			} else if !is(err, fault.CodeConflict) {
				t.Error(err)
			}
		})
		if won.Load() != 1 {
			t.Fatalf("round %d: %d items got the value", round, won.Load())
		}
		b.clock.Advance(time.Second)
	}

	// Items that take values from each other never share one.
	all(6, func(i int) {
		for n := range 40 {
			body := fmt.Appendf(nil, `{"id":"%d","pk":"y","u":%d}`, i, (n*7+i)%8)
			if _, _, err := b.c.Upsert(b.ctx, pk("y"), body, store.WriteOptions{}); err != nil && !is(err, fault.CodeConflict) {
				t.Error(err)
			}
			page, _, err := b.c.List(b.ctx,
				store.ListOptions{Scope: store.KeyOrRange{Partition: pk("y")}, MaxItems: -1})
			if err != nil {
				t.Error(err)
			}
			has := map[string]string{}
			for _, it := range page.Items {
				u := gjson.GetBytes(it.Body(), "u").Raw
				if other, ok := has[u]; ok {
					t.Errorf("%s and %s both have %s", other, it.ID(), u)
				}
				has[u] = it.ID()
			}
		}
	})
}

// TestConcurrentReplacesWithIfMatch checks that concurrent replaces with If-Match do not overwrite each
// other's updates.
func TestConcurrentReplacesWithIfMatch(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	if _, _, err := b.c.Create(b.ctx, pk("x"), []byte(`{"id":"a","pk":"x","n":0}`), store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	const workers, each = 8, 25
	all(workers, func(int) {
		for done := 0; done < each; {
			it, _, err := b.c.Read(b.ctx, pk("x"), "a", store.ReadOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			body := fmt.Appendf(nil, `{"id":"a","pk":"x","n":%d}`, gjson.GetBytes(it.Body(), "n").Int()+1)
			_, _, err = b.c.Replace(b.ctx, pk("x"), "a", body, store.WriteOptions{IfMatch: it.ETag()})
			if err == nil {
				done++
			} else if !is(err, fault.CodePreconditionFailed) {
				t.Error(err)
				return
			}
		}
	})
	it, _, err := b.c.Read(b.ctx, pk("x"), "a", store.ReadOptions{})
	if n := gjson.GetBytes(it.Body(), "n").Int(); err != nil || n != workers*each {
		t.Errorf("%d increments left %d (%v)", workers*each, n, err)
	}
}

// updateCallSignalingEngine is an engine that signals when the store calls Update or Settle, which wait for
// the disk.
type updateCallSignalingEngine struct {
	testdisk.Engine
	come atomic.Pointer[chan struct{}]
}

// expect returns a channel that is closed at the next call of Update or Settle.
func (w *updateCallSignalingEngine) expect() <-chan struct{} {
	c := make(chan struct{})
	w.come.Store(&c)
	return c
}

func (w *updateCallSignalingEngine) tell() {
	if c := w.come.Swap(nil); c != nil {
		close(*c)
	}
}

func (w *updateCallSignalingEngine) Settle(ctx context.Context, scope []byte, seen uint64) error {
	w.tell()
	return w.Engine.Settle(ctx, scope, seen)
}

func (w *updateCallSignalingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	w.tell()
	return w.Engine.Update(ctx, scopes, fn, ahead...)
}

// fsyncGate holds back the fsync calls of a file system while it is shut.
type fsyncGate struct {
	shut    atomic.Pointer[chan struct{}] // closed when the fsyncGate opens; nil while it is open
	reached chan struct{}                 // a sync has come to the shut fsyncGate
}

func (s *fsyncGate) close() {
	opens := make(chan struct{})
	s.shut.Store(&opens)
}

func (s *fsyncGate) open() {
	close(*s.shut.Swap(nil))
	select {
	case <-s.reached: // by a second sync
	default:
	}
}

func (s *fsyncGate) disk(t *testing.T) *testdisk.EngineStorage {
	return testdisk.New(t).Inject(errorfs.InjectorFunc(func(op errorfs.Op) error {
		opens := s.shut.Load()
		if opens == nil || op.Kind != errorfs.OpFileSync && op.Kind != errorfs.OpFileSyncData {
			return nil
		}
		select {
		case s.reached <- struct{}{}:
		default:
		}
		<-*opens
		return nil
	}))
}

// TestReadsReturnDurableWrites checks that no read returns the effect of a write before that is on
// disk, although Pebble shows it earlier. It holds up the sync of each kind of write while other calls
// read.
func TestReadsReturnDurableWrites(t *testing.T) {
	testdisk.Pebble(t, "a sync of a file is held up")
	s := &fsyncGate{reached: make(chan struct{}, 1)}
	var w *updateCallSignalingEngine
	b := newBenchOver(t, s.disk(t), `"defaultTtl":-1,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`,
		store.Options{Ranges: 1, ManualReaper: true},
		func(e testdisk.Engine) engine.Engine { w = &updateCallSignalingEngine{Engine: e}; return w })
	defer b.close()

	body := func(id string, n int) []byte { return fmt.Appendf(nil, `{"id":%q,"pk":"x","u":%q,"n":%d}`, id, id, n) }
	upsert := func(n int) func() error {
		return func() error {
			_, _, err := b.c.Upsert(b.ctx, pk("x"), body("a", n), store.WriteOptions{})
			return err
		}
	}
	remove := func() error {
		_, err := b.c.Delete(b.ctx, pk("x"), "a", store.WriteOptions{})
		return err
	}
	list := func(scope store.KeyOrRange) func() (string, error) {
		return func() (string, error) {
			page, _, err := b.c.List(b.ctx, store.ListOptions{Scope: scope})
			text := ""
			for _, it := range page.Items {
				text += string(it.Body())
			}
			return text, err
		}
	}
	read := func() (string, error) {
		it, _, err := b.c.Read(b.ctx, pk("x"), "a", store.ReadOptions{})
		return string(it.Body()), err
	}
	readMany := func() (string, error) {
		items, _, err := b.c.ReadMany(b.ctx, []store.ItemKey{{Partition: pk("x"), ID: "a"}},
			store.ReadOptions{})
		if len(items) == 0 {
			return "", err
		}
		return string(items[0].Body()), err
	}
	query := func() (string, error) {
		page, _, err := b.c.Query(b.ctx, store.QueryRequest{Text: `SELECT * FROM c WHERE c.id = "a"`})
		if len(page.Rows) == 0 {
			return "", err
		}
		parsed, err := jsondoc.Parse(page.Rows[0], jsondoc.Limits{})
		return string(parsed.Body), err
	}
	create := func(id, u string) func() (string, error) { // its conflict tells of the other item
		return func() (string, error) {
			_, _, err := b.c.Create(b.ctx, pk("x"), fmt.Appendf(nil, `{"id":%q,"pk":"x","u":%q}`, id, u), store.WriteOptions{})
			return "", err
		}
	}
	feed := func() (string, error) {
		page, _, err := b.c.Changes(b.ctx, store.ChangesRequest{})
		text := ""
		for _, ch := range page.Changes {
			text += string(ch.Item.Body())
		}
		return text, err
	}
	leased := `{"id":"a","pk":"x","u":"a","ttl":5}`
	mortal := func() error {
		_, _, err := b.c.Upsert(b.ctx, pk("x"), []byte(leased), store.WriteOptions{})
		return err
	}
	lease := func() error {
		_, err := b.c.Lease(b.ctx, pk("x"), "a", 100)
		return err
	}
	later := func() (string, error) { // alive by the lease alone
		b.clock.Advance(6 * time.Second)
		return read()
	}
	old, fresh := string(body("a", 1)), string(body("a", 2))

	for _, c := range []struct {
		name   string
		before func() error
		write  func() error
		ask    func() (string, error)
		told   string // an answer, or
		code   fault.Code
		gated  bool // who asks waits at the container's gate
	}{
		{"read of an insert", nil, upsert(2), read, fresh, 0, false},
		{"read of a replace", upsert(1), upsert(2), read, fresh, 0, false},
		{"read of a delete", upsert(1), remove, read, "", fault.CodeNotFound, false},
		{"readmany of a replace", upsert(1), upsert(2), readMany, fresh, 0, false},
		{"readmany of a delete", upsert(1), remove, readMany, "", 0, false},
		{"list of an insert", nil, upsert(2), list(store.KeyOrRange{}), fresh, 0, false},
		{"list of a replace", upsert(1), upsert(2), list(store.KeyOrRange{}), fresh, 0, false},
		{"list of a delete", upsert(1), remove, list(store.KeyOrRange{}), "", 0, false},
		{"list of a replace in a partition", upsert(1), upsert(2),
			list(store.KeyOrRange{Partition: pk("x")}), fresh, 0, false},
		{"list of a delete in a partition", upsert(1), remove,
			list(store.KeyOrRange{Partition: pk("x")}), "", 0, false},
		{"query of a replace", upsert(1), upsert(2), query, fresh, 0, false},
		{"query of a delete", upsert(1), remove, query, "", 0, false},
		{"create against an insert", nil, upsert(2), create("a", "other"), "", fault.CodeConflict, false},
		{"unique key against an insert", nil, upsert(2), create("b", "a"), "", fault.CodeConflict, false},
		{"delete of a delete", upsert(1), remove, func() (string, error) { return "", remove() }, "", fault.CodeNotFound, false},
		{"If-None-Match", upsert(1), upsert(2), func() (string, error) {
			_, _, err := b.c.Read(b.ctx, pk("x"), "a", store.ReadOptions{IfNoneMatch: "*"})
			return "", err
		}, "", fault.CodeNotModified, false},
		{"feed of a replace", upsert(1), upsert(2), feed, fresh, 0, false},
		{"lease", mortal, lease, later, leased, 0, false},
		{"partition delete", upsert(1), func() error { _, err := b.c.DeletePartition(b.ctx, pk("x")); return err }, read, "", fault.CodeNotFound, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := b.c.DeletePartition(b.ctx, pk("x")); err != nil {
				t.Fatal(err)
			}
			if c.before != nil {
				if err := c.before(); err != nil {
					t.Fatal(err)
				}
			}
			s.close()
			var written, asked sync.WaitGroup
			written.Go(func() {
				if err := c.write(); err != nil {
					t.Error(err)
				}
			})
			<-s.reached
			came := w.expect()
			asked.Go(func() {
				defer w.tell() // also where it did not wait at all
				got, err := c.ask()
				early := s.shut.Load() != nil
				if fits := got == c.told && got != old && (err == nil && c.code == 0 || is(err, c.code)); early && fits {
					t.Errorf("told before the sync was over: %s %v", got, err)
				}
			})
			if !c.gated {
				<-came
			}
			for range 3000 { // so that one who only passed by comes out
				runtime.Gosched()
			}
			s.open()
			written.Wait()
			asked.Wait()
		})
	}
}
