package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// TestCrash runs writers, readers and a sweeper concurrently, and after each operation copies the disk as
// a crash would leave it. It checks that a store opened on the copy agrees with everything that clients
// were told. It repeats this on one of the copies.
func TestCrash(t *testing.T) {
	t.Parallel()
	for i := range uint64(metamorphic.Crashes) {
		seed := metamorphic.FirstSeed() + i
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			l := firstLife(t)
			for generation := range uint64(3) {
				w := l.live(seed<<8 | generation)
				l.close()
				if t.Failed() {
					return
				}
				if l = w.open(t); l == nil {
					return
				}
				l.verify()
			}
			l.close()
		})
	}
}

// crashTestObservations is what clients have been told by the store, before and after its crashes.
type crashTestObservations struct {
	keys map[metamorphic.ItemKey]*observedItem
	// names maps each etag, resource id and LSN that a client was given to what it identified. None may
	// ever identify anything else.
	names     map[string]string
	positions map[string]uint64 // range: the highest position told
	defaults  [2]ttl.Seconds    // the container's: acknowledged, and under way
}

// observedItem is what clients know about the item with one key. Only one writer writes the item.
type observedItem struct {
	now     itemVersion   // acknowledged
	next    []itemVersion // what the operation under way may lead to
	seen    uint64        // the highest LSN at which a reader was given the item
	missing bool          // a reader was told of the deletion under way
	n       int           // operations done
}

// itemVersion is a version that an item may have. An empty body means that there is no item. lsn is 0 for a
// write that is not acknowledged yet.
type itemVersion struct {
	body string
	lsn  uint64
}

func (s itemVersion) there() bool { return s.body != "" }

// may reports whether the unfinished operation can have the result that the item exists (there), or that
// it does not.
func (k *observedItem) may(there bool) bool {
	return slices.ContainsFunc(k.next, func(s itemVersion) bool { return s.there() == there })
}

// clone returns a deep copy. The caller holds the lock of the crashTestRun.
func (g *crashTestObservations) clone() *crashTestObservations {
	c := &crashTestObservations{map[metamorphic.ItemKey]*observedItem{}, maps.Clone(g.names),
		maps.Clone(g.positions),
		g.defaults}
	for k, v := range g.keys {
		copied := *v
		c.keys[k] = &copied
	}
	return c
}

// record records what a client has received about an item: its etag, its resource id, and its LSN in the
// range that the receipt names. It fails if one of these three has been recorded before for something else,
// since they must never be used twice.
func (g *crashTestObservations) record(it store.Item, receipt store.OperationReceipt) error {
	body := string(it.Body())
	names := map[string]string{"etag " + it.ETag(): body, "rid " + it.RID(): keyOf(it).String()}
	if receipt.Range != "" {
		names[fmt.Sprintf("LSN %s/%d", receipt.Range, it.LSN())] = body
	}
	for name, stands := range names {
		if old, ok := g.names[name]; ok && old != stands {
			return fmt.Errorf("%s stood for %s, now for %s", name, old, stands)
		}
		g.names[name] = stands
	}
	g.position(receipt)
	return nil
}

func (g *crashTestObservations) position(r store.OperationReceipt) {
	if r.Range != "" {
		g.positions[r.Range] = max(g.positions[r.Range], r.LSN)
	}
}

func keyOf(it store.Item) metamorphic.ItemKey {
	return metamorphic.ItemKey{ID: it.ID(), Partition: gjson.GetBytes(it.Body(), "pk").String()}
}

// crashTestRun is one run of a store, from its opening to a simulated crash, with the model of what clients
// know.
type crashTestRun struct {
	t   *testing.T
	ctx context.Context
	fs  *testdisk.EngineStorage
	now int64
	db  *store.DB
	c   *store.Container

	mu     sync.Mutex // held while an operation begins or ends, and while the disk is copied
	ledger *crashTestObservations
}

// crashedDisk is a copy of the disk as a crash leaves it, with the model of what clients knew at that
// moment.
type crashedDisk struct {
	fs     *testdisk.EngineStorage
	now    int64
	ledger *crashTestObservations
}

const crashWriters = 3

var crashIDs = []string{"a", "b", "ghost"}

// slowly returns a file system whose syncs take long, so that other goroutines can see data that is not
// synced yet.
func slowly(fs *testdisk.EngineStorage) *testdisk.EngineStorage {
	return fs.Inject(errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData {
			for range 100 {
				runtime.Gosched()
			}
		}
		return nil
	}))
}

func openAt(ctx context.Context, fs *testdisk.EngineStorage, clock ttl.Clock) (*store.DB, error) {
	e, err := fs.Open(ctx)
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, e, store.Options{Clock: clock, Ranges: 2, ManualReaper: true})
}

// firstLife opens a new store with a container that has no items, but in each partition an expired item
// that is not purged yet.
func firstLife(t *testing.T) *crashTestRun {
	t.Helper()
	l := &crashTestRun{t: t, ctx: context.Background(), fs: testdisk.NewCrashable(t), now: 1_700_000_000,
		ledger: &crashTestObservations{map[metamorphic.ItemKey]*observedItem{}, map[string]string{},
			map[string]uint64{},
			[2]ttl.Seconds{ttl.Never, ttl.Never}}}
	clock := ttl.NewManual(time.Unix(l.now, 0))
	var err error
	if l.db, err = openAt(l.ctx, slowly(l.fs), clock); err != nil {
		t.Fatal(err)
	}
	d, err := l.db.CreateDatabase(l.ctx, "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	if l.c, err = d.CreateContainer(l.ctx, specOf(t, `"defaultTtl":-1`), definition.Throughput{}); err != nil {
		t.Fatal(err)
	}
	for w := range crashWriters {
		p := fmt.Sprint("w", w)
		for _, id := range crashIDs {
			l.ledger.keys[metamorphic.ItemKey{ID: id, Partition: p}] = &observedItem{}
		}
		if _, _, err := l.c.Create(l.ctx, pk(p), fmt.Appendf(nil, `{"id":"ghost","pk":%q,"ttl":1}`, p), store.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	clock.Advance(2 * time.Second)
	l.now += 2
	return l
}

func (l *crashTestRun) close() {
	if err := l.db.Close(); err != nil {
		l.t.Error(err)
	}
}

// open opens a store on the crashed disk. If this fails, it reports an error and returns nil.
func (w crashedDisk) open(t *testing.T) *crashTestRun {
	t.Helper()
	l := &crashTestRun{t: t, ctx: context.Background(), fs: w.fs, now: w.now, ledger: w.ledger}
	var err error
	if l.db, err = openAt(l.ctx, slowly(l.fs), ttl.NewManual(time.Unix(l.now, 0))); err != nil {
		t.Error(err)
		return nil
	}
	d, err := l.db.Database("db")
	if err == nil {
		l.c, err = d.Container("c")
	}
	if err != nil {
		t.Error(err)
		l.close()
		return nil
	}
	return l
}

// crash returns a copy of the disk with all synced data, and a random part of the data that was not
// synced.
func (l *crashTestRun) crash(r *rand.Rand) crashedDisk {
	l.mu.Lock()
	defer l.mu.Unlock()
	unsynced := []int{0, 0, 30, 80, 100}[r.IntN(5)]
	return crashedDisk{l.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: r}), l.now, l.ledger.clone()}
}

// live runs the writers, the readers and the sweeper, and checks a crashed copy of the disk after each
// write. It returns one of the copies.
func (l *crashTestRun) live(seed uint64) (last crashedDisk) {
	var writers, watchers sync.WaitGroup
	const operations = 12
	// beside calls do repeatedly while an operation of a writer runs, but not while a crashedDisk is checked.
	beside := func(do func()) (begun chan struct{}) {
		begun = make(chan struct{}, crashWriters*operations)
		watchers.Go(func() {
			for range begun {
				for range 60 {
					do()
				}
			}
		})
		return begun
	}
	r := rand.New(rand.NewPCG(seed, 99))
	reads := beside(func() { l.watch(r) })
	sweeps := beside(func() {
		if _, err := l.db.SweepNow(l.ctx); err != nil {
			l.t.Error(err)
		}
	})
	for w := range crashWriters {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for n := range operations {
				reads <- struct{}{}
				sweeps <- struct{}{}
				l.write(w, fmt.Sprintf("%x-%d-%d", seed, w, n), r)
				wreck := l.crash(r)
				if w == 0 && n == 7 {
					last = wreck
					continue
				}
				if after := wreck.open(l.t); after != nil {
					after.verify()
					after.close()
				}
			}
		})
	}
	writers.Wait()
	close(reads)
	close(sweeps)
	watchers.Wait()
	return last
}

// under runs the operation op, which writes the items with the given keys, and updates the model of their
// states. next is the state in which they may be found if a crash interrupts op. op returns their new state,
// or false if it has changed nothing.
func (l *crashTestRun) under(keys []metamorphic.ItemKey, next itemVersion, op func() (itemVersion, bool)) {
	l.mu.Lock()
	for _, k := range keys {
		l.ledger.keys[k].next = []itemVersion{next}
	}
	l.mu.Unlock()
	to, ok := op()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range keys {
		v := l.ledger.keys[k]
		if ok {
			v.now = to
		}
		v.next, v.missing, v.n = nil, false, v.n+1
	}
}

// write performs one random operation of the writer w on the writer's own partition.
func (l *crashTestRun) write(w int, name string, r *rand.Rand) {
	k := metamorphic.ItemKey{ID: crashIDs[r.IntN(len(crashIDs))], Partition: fmt.Sprint("w", w)}
	p := pk(k.Partition)
	body := fmt.Sprintf(`{"id":%q,"pk":%q,"n":%q}`, k.ID, k.Partition, name)
	switch what := r.IntN(10); {
	case what == 0 && w == 0:
		l.changeDefault(ttl.Seconds(1000 + r.IntN(1000)))
	case what == 1:
		var keys []metamorphic.ItemKey
		for _, id := range crashIDs {
			keys = append(keys, metamorphic.ItemKey{ID: id, Partition: k.Partition})
		}
		l.under(keys, itemVersion{}, func() (itemVersion, bool) {
			receipt, err := l.c.DeletePartition(l.ctx, p)
			l.expect(err)
			return itemVersion{lsn: receipt.LSN}, true
		})
	case what <= 3:
		l.under([]metamorphic.ItemKey{k}, itemVersion{}, func() (itemVersion, bool) {
			receipt, err := l.c.Delete(l.ctx, p, k.ID, store.WriteOptions{})
			l.expect(err, fault.CodeNotFound)
			return itemVersion{lsn: receipt.LSN}, true
		})
	default:
		write := l.c.Upsert
		if what <= 6 {
			write = l.c.Create
		}
		l.under([]metamorphic.ItemKey{k}, itemVersion{body: body}, func() (itemVersion, bool) {
			it, receipt, err := write(l.ctx, p, []byte(body), store.WriteOptions{})
			if l.expect(err, fault.CodeConflict); err != nil {
				return itemVersion{}, false
			}
			l.record(it, receipt)
			return itemVersion{body, it.LSN()}, true
		})
	}
}

// expect fails the test if err is an error with none of the given codes.
func (l *crashTestRun) expect(err error, codes ...fault.Code) {
	if err != nil && !slices.Contains(codes, fault.ErrorCode(err)) {
		l.t.Error(err)
	}
}

func (l *crashTestRun) record(it store.Item, receipt store.OperationReceipt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expect(l.ledger.record(it, receipt))
}

func (l *crashTestRun) changeDefault(def ttl.Seconds) {
	l.mu.Lock()
	l.ledger.defaults[1] = def
	l.mu.Unlock()
	d, err := l.db.Database("db")
	if err == nil {
		_, err = d.ReplaceContainer(l.ctx, "c", specOf(l.t, fmt.Sprint(`"defaultTtl":`, def)), store.WriteOptions{})
	}
	l.expect(err)
	l.mu.Lock()
	l.ledger.defaults[0] = def
	l.mu.Unlock()
}

// watch reads a random item and lists a partition, compares the results with the model and records them
// there.
func (l *crashTestRun) watch(r *rand.Rand) {
	k := metamorphic.ItemKey{ID: crashIDs[r.IntN(len(crashIDs))], Partition: fmt.Sprint("w",
		r.IntN(crashWriters))}
	l.mu.Lock()
	before := l.ledger.keys[k].n
	l.mu.Unlock()
	it, receipt, err := l.c.Read(l.ctx, pk(k.Partition), k.ID, store.ReadOptions{})
	l.expect(err, fault.CodeNotFound)
	l.mu.Lock()
	v := l.ledger.keys[k]
	switch quiet := v.n == before; { // nothing else than what is under way can have had a part in this
	case err == nil && quiet && !v.now.there() && !v.may(true), err != nil && quiet && v.now.there() && !v.may(false):
		l.t.Errorf("%s: read %s (%v), but %+v was acknowledged and %+v is under way", k, it.Body(), err, v.now, v.next)
	case err == nil:
		v.seen = max(v.seen, it.LSN())
	case quiet && v.now.there():
		v.missing = true
	}
	l.ledger.position(receipt)
	l.mu.Unlock()
	if err == nil {
		l.record(it, receipt)
	}

	page, receipt, err := l.c.List(l.ctx,
		store.ListOptions{Scope: store.KeyOrRange{Partition: pk(k.Partition)}, MaxItems: -1})
	l.expect(err)
	for _, it := range page.Items {
		l.record(it, receipt)
		l.mu.Lock()
		v := l.ledger.keys[keyOf(it)]
		v.seen = max(v.seen, it.LSN())
		l.mu.Unlock()
	}
}

// verify compares a store that was opened on a crashed disk with the model. Then it writes every item
// again, to check that no etag, resource id or LSN is used twice.
func (l *crashTestRun) verify() {
	l.t.Helper()
	checkClean(l.t, l.db)
	if def := l.c.Info().Spec.DefaultTTL; !slices.Contains(l.ledger.defaults[:], def) {
		l.t.Errorf("the default is %d, not one of %d", def, l.ledger.defaults)
	}
	var session []store.SessionTokenEntry
	for id, lsn := range l.ledger.positions {
		session = append(session, store.SessionTokenEntry{Range: id, LSN: lsn})
	}
	there := 0
	for k, v := range l.ledger.keys {
		it, receipt, err := l.c.Read(l.ctx, pk(k.Partition), k.ID, store.ReadOptions{Session: session})
		l.expect(err, fault.CodeNotFound)
		got := itemVersion{string(it.Body()), it.LSN()}
		if err == nil {
			there++
			l.record(it, receipt)
		}
		if why := v.contradicts(got); why != "" {
			l.t.Errorf("%s after a crash: %+v: %s; known was %+v", k, got, why, *v)
		}
	}
	page, _, err := l.c.List(l.ctx, store.ListOptions{MaxItems: -1})
	if l.expect(err); len(page.Items) != there {
		l.t.Errorf("%d items are listed, %d can be read", len(page.Items), there)
	}
	for k, v := range l.ledger.keys {
		body := fmt.Sprintf(`{"id":%q,"pk":%q,"after":%d}`, k.ID, k.Partition, len(l.ledger.names))
		it, receipt, err := l.c.Upsert(l.ctx, pk(k.Partition), []byte(body), store.WriteOptions{})
		if l.expect(err); err != nil {
			continue
		}
		if _, ok := l.ledger.names["rid "+it.RID()]; ok && receipt.Inserted {
			l.t.Errorf("a new item has the rid %s, which stood for %s", it.RID(), l.ledger.names["rid "+it.RID()])
		}
		l.record(it, receipt)
		*v = observedItem{now: itemVersion{body, it.LSN()}}
	}
}

// contradicts returns why the item cannot be in the state s after a crash, or "" if it can.
func (k *observedItem) contradicts(s itemVersion) string {
	same := func(o itemVersion) bool { return o.body == s.body }
	switch {
	case !same(k.now) && !slices.ContainsFunc(k.next, same):
		return "neither acknowledged nor under way"
	case s.there() && s.lsn < k.seen, !s.there() && k.seen > k.now.lsn && !k.may(false):
		return "a reader was given a newer one"
	case k.missing && s.there():
		return "a reader was told that it is gone"
	}
	return ""
}

// TestFailingDisk lets the n-th operation of the disk fail, for each n until no failure occurs: only this
// one, all from then on, or as on a full disk. It checks that no acknowledged write is lost, and that
// errors have the right codes.
func TestFailingDisk(t *testing.T) {
	testdisk.Pebble(t, "operations on files fail")
	t.Parallel()
	// Pebble leaves this goroutine behind where it fails to open.
	t.Run("side by side", storesOnFailingDisk)
}

func storesOnFailingDisk(t *testing.T) {
	for _, f := range []struct {
		name   string
		err    error
		lasts  bool
		stride int
	}{
		{"once", errorfs.ErrInjected, false, racetest.Campaign(1, 4)},
		{"for good", errorfs.ErrInjected, true, racetest.Campaign(3, 8)},
		{"full", syscall.ENOSPC, true, racetest.Campaign(3, 8)},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			stride := f.stride
			if racetest.On {
				stride *= 5
			}
			for n := int(metamorphic.FirstSeed() % uint64(stride)); ; n += stride {
				var calls atomic.Int64
				s := &faultyDiskRun{t: t, what: fmt.Sprint("operation ", n),
					disk: testdisk.NewCrashable(t), allowed: map[string][]string{}}
				s.run(s.disk.Inject(errorfs.InjectorFunc(func(op errorfs.Op) error {
					i := int(calls.Add(1)) - 1
					if i < n || i > n && !f.lasts || f.err == syscall.ENOSPC && op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
						return nil
					}
					return f.err
				})))
				if int(calls.Load()) <= n {
					if s.failures > 0 {
						t.Errorf("%d operations failed without a fault", s.failures)
					}
					t.Logf("%d operations on the disk", n)
					return
				}
				s.verify()
				if t.Failed() {
					return
				}
			}
		})
	}
}

// faultyDiskRun performs one operation of each kind on a disk that may fail, and records which states each
// item may have afterwards.
type faultyDiskRun struct {
	t        *testing.T
	what     string
	disk     *testdisk.EngineStorage
	made     bool                // the container was acknowledged
	allowed  map[string][]string // id: the bodies that it may have; "" is gone
	failures int
}

func (s *faultyDiskRun) run(fs *testdisk.EngineStorage) {
	ctx := context.Background()
	clock := ttl.NewManual(time.Unix(1_700_000_000, 0))
	db, err := openAt(ctx, fs, clock)
	if !s.ok(err, true) {
		return
	}
	d, err := db.CreateDatabase(ctx, "db", definition.Throughput{})
	if s.ok(err, false) {
		c, err := d.CreateContainer(ctx, specOf(s.t, `"defaultTtl":-1`), definition.Throughput{})
		if s.ok(err, false) {
			s.made = true
			s.items(ctx, clock, db, c)
		}
	}
	s.ok(db.Close(), true)
	if db, err = openAt(ctx, fs, clock); !s.ok(err, true) {
		return
	}
	if d, err := db.Database("db"); err == nil {
		if c, err := d.Container("c"); err == nil {
			s.upsert(ctx, c, "late", "")
		}
	}
	s.ok(db.Close(), true)
}

func (s *faultyDiskRun) items(ctx context.Context, clock *ttl.VirtualClock, db *store.DB,
	c *store.Container) {
	s.upsert(ctx, c, "a", "")
	s.upsert(ctx, c, "b", "")
	s.upsert(ctx, c, "mayfly", `,"ttl":1`)
	s.upsert(ctx, c, "a", `,"again":true`)
	_, err := c.Delete(ctx, pk("x"), "b", store.WriteOptions{})
	s.outcome("b", "", err)
	clock.Advance(2 * time.Second)
	s.allowed["mayfly"] = []string{""}
	_, err = db.SweepNow(ctx)
	s.ok(err, false)
	s.upsert(ctx, c, "mayfly", `,"ttl":5`)
	if d, err := db.Database("db"); s.ok(err, false) {
		_, err = d.ReplaceContainer(ctx, "c", specOf(s.t, `"defaultTtl":100`), store.WriteOptions{})
		s.ok(err, false)
	}
	_, _, err = c.List(ctx, store.ListOptions{})
	s.ok(err, false)
	_, err = c.DeletePartition(ctx, pk("x"))
	for _, id := range []string{"a", "b", "mayfly"} {
		s.outcome(id, "", err)
	}
	s.upsert(ctx, c, "b", `,"last":true`)
}

func (s *faultyDiskRun) upsert(ctx context.Context, c *store.Container, id, more string) {
	body := `{"id":"` + id + `","pk":"x"` + more + `}`
	_, _, err := c.Upsert(ctx, pk("x"), []byte(body), store.WriteOptions{})
	s.outcome(id, body, err)
}

// outcome records the states in which a write with the result err may have left the item: body ("" for a
// delete), and the former states if the write failed.
func (s *faultyDiskRun) outcome(id, body string, err error) {
	if s.ok(err, false) || body == "" && is(err, fault.CodeNotFound) {
		s.allowed[id] = []string{body}
		return
	}
	if s.allowed[id] == nil {
		s.allowed[id] = []string{""}
	}
	s.allowed[id] = append(s.allowed[id], body)
}

// ok reports whether err is nil, and counts it otherwise. It fails the test if the error's code does not
// indicate a failing disk. engines permits any error, for opening and closing, which may return errors of
// the engine.
func (s *faultyDiskRun) ok(err error, engines bool) bool {
	if err == nil {
		return true
	}
	s.failures++
	var typed *fault.Error
	switch code := fault.ErrorCode(err); {
	case !errors.As(err, &typed) && !engines:
		s.t.Errorf("%s: not typed: %v", s.what, err)
	case !engines && code != fault.CodeUnavailable && code != fault.CodeDiskFull && code != fault.CodeNotFound:
		s.t.Errorf("%s: %s: %v", s.what, code, err)
	}
	return false
}

// verify opens the store on the disk as a crash would leave it, and checks that each item has one of the
// recorded states.
func (s *faultyDiskRun) verify() {
	ctx := context.Background()
	db, err := openAt(ctx, s.disk.CrashClone(vfs.CrashCloneCfg{}), ttl.NewManual(time.Unix(1_700_000_002, 0)))
	if err != nil {
		s.t.Errorf("%s: %v", s.what, err)
		return
	}
	defer db.Close()
	checkClean(s.t, db)
	d, err := db.Database("db")
	var c *store.Container
	if err == nil {
		c, err = d.Container("c")
	}
	if err != nil {
		if s.made {
			s.t.Errorf("%s: the container is lost: %v", s.what, err)
		}
		return
	}
	for id, allowed := range s.allowed {
		it, _, err := c.Read(ctx, pk("x"), id, store.ReadOptions{})
		if err != nil && !is(err, fault.CodeNotFound) || !slices.Contains(allowed, string(it.Body())) {
			s.t.Errorf("%s: %s is %q (%v), not one of %q", s.what, id, it.Body(), err, allowed)
		}
	}
}
