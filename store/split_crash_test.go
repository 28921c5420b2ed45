package store_test

import (
	"context"
	"fmt"
	"maps"
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

// hookedEngine is an engine that calls functions set by the test before and after transactions, views and
// reads of the store.
type hookedEngine struct {
	testdisk.Engine
	mu     sync.Mutex                // for before: the background may be at work, too
	before func() error              // an error fails the transaction
	after  func()                    // all that was done before is durable
	look   func()                    // before each view and each read of one key
	beside func(ctx context.Context) // before each view and each transaction
}

func (s *hookedEngine) Get(ctx context.Context, scope, key []byte) ([]byte, engine.LSNScopeStatus, error) {
	if s.look != nil {
		s.look()
	}
	return s.Engine.Get(ctx, scope, key)
}

func (s *hookedEngine) View(ctx context.Context, fn func(engine.Reader) error) error {
	if s.look != nil {
		s.look()
	}
	if s.beside != nil {
		s.beside(ctx)
	}
	return s.Engine.View(ctx, fn)
}

// at calls fn once, before the n-th view or single-key read from now on, counted from 0. done reports
// whether fn was called, and removes it otherwise.
func (s *hookedEngine) at(n int, fn func()) (done func() bool) {
	happened := false
	s.look = func() {
		if n--; n < 0 {
			s.look = nil
			happened = true
			fn()
		}
	}
	return func() bool {
		s.look = nil
		return happened
	}
}

func (s *hookedEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	if err := s.fails(); err != nil {
		return nil, err
	}
	if s.beside != nil {
		s.beside(ctx)
	}
	at, err := s.Engine.Update(ctx, scopes, fn, ahead...)
	if s.after != nil && err == nil {
		if _, err := s.Engine.Update(ctx, scopes, func(engine.Txn) error { return nil }); err != nil {
			return at, err
		}
		s.after()
	}
	return at, err
}

func (s *hookedEngine) fails() error {
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	if before == nil {
		return nil
	}
	return before()
}

// failing sets a function that is called before each transaction and makes it fail by returning an error;
// nil removes it.
func (s *hookedEngine) failing(before func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

func newSplitBench(t *testing.T, fs *testdisk.EngineStorage) (*testStore, *hookedEngine) {
	t.Helper()
	return newSplitBenchAt(t, fs, time.Unix(1_700_000_000, 0))
}

// newSplitBenchAt opens a store on fs with a clock that starts at now, and with an engine in which tests of
// splits can inject failures. now must not be minutes before the time of the stored data: such a store does
// not open.
func newSplitBenchAt(t *testing.T, fs *testdisk.EngineStorage, now time.Time) (*testStore, *hookedEngine) {
	t.Helper()
	b := &testStore{t: t, ctx: context.Background(), clock: ttl.NewManual(now)}
	e, err := fs.Open(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	s := &hookedEngine{Engine: e}
	var stepped engine.Engine = s
	if k, ok := e.(engine.Snapshotter); ok {
		stepped = struct {
			*hookedEngine
			engine.Snapshotter
		}{s, k}
	}
	if b.db, err = store.Open(b.ctx, stepped, store.Options{Clock: b.clock, ManualReaper: true}); err != nil {
		t.Fatal(err)
	}
	if d, err := b.db.Database("db"); err == nil {
		if b.c, err = d.Container("c"); err != nil {
			t.Fatal(err)
		}
	}
	return b, s
}

// makeEmpty creates the container for tests of splits, with one range.
func (b *testStore) makeEmpty() {
	b.t.Helper()
	b.create(`"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":10},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]},
		"indexingPolicy":{"includedPaths":[{"path":"/n/?"}],"excludedPaths":[{"path":"/*"}],"compositeIndexes":[[{"path":"/n"},{"path":"/tie"}]]}`, 1)
}

// make creates the container and fills it with documents, some of which are expired or deleted but not
// purged.
func (b *testStore) make(documents int) {
	b.t.Helper()
	b.makeEmpty()
	b.fill(documents, documents/3)
	for i := range 9 {
		p := fmt.Sprint("p", i)
		if _, _, err := b.c.Create(b.ctx, pk(p),
			fmt.Appendf(nil, `{"id":"mortal","pk":%q,"u":"mortal","ttl":1}`,
				p), store.WriteOptions{}); err != nil {
			b.t.Fatal(err)
		}
	}
	if _, err := b.c.DeletePartition(b.ctx, pk("p10")); err != nil {
		b.t.Fatal(err)
	}
	b.clock.Advance(5 * time.Second)
}

// sound checks a store that was opened after a crash or failure: it is consistent, has exactly the items
// in want, and can be read, written and split.
func (b *testStore) sound(what string, want map[string]string) {
	b.t.Helper()
	checkClean(b.t, b.db)
	checkRanges(b.t, b.c.Ranges())
	if got := b.items(store.KeyOrRange{}); !maps.Equal(got, want) {
		b.t.Errorf("%s: %d items, not %d, or others", what, len(got), len(want))
	}
	if got, err := b.rows(store.QueryRequest{
		Text: "SELECT VALUE COUNT(1) FROM c WHERE c.n >= 0"}); err != nil || got != fmt.Sprint(len(want)) {
		b.t.Errorf("%s: an index finds %s items of %d, %v", what, got, len(want), err)
	}
	for _, id := range b.rangeIDs() {
		b.split(id, "")
	}
	for i := range 20 {
		p := fmt.Sprint("p", i)
		if _, _, err := b.c.Create(b.ctx, pk(p), fmt.Appendf(nil, `{"id":"mortal","pk":%q,"u":"mortal"}`, p),
			store.WriteOptions{}); err != nil {
			b.t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := b.db.SweepNow(b.ctx); err != nil {
		b.t.Errorf("%s: %v", what, err)
	}
	checkClean(b.t, b.db)
}

// TestCrashInASplit checks that after a crash at any step of a split every item is in the right range,
// once.
func TestCrashInASplit(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	disk := testdisk.NewCrashable(t)
	b, s := newSplitBench(t, disk)
	b.make(2000) // several times what is copied in one piece
	want := b.items(store.KeyOrRange{})
	var wrecks []*testdisk.EngineStorage
	s.after = func() { wrecks = append(wrecks, disk.CrashClone(vfs.CrashCloneCfg{})) }
	b.split("0", "")
	s.after = nil
	if err := b.db.Close(); err != nil {
		t.Error(err)
	}
	old, halves := 0, 0
	for i, wreck := range wrecks {
		b, _ := newSplitBench(t, wreck)
		if b.clock.Advance(5 * time.Second); len(b.rangeIDs()) == 1 {
			old++
		} else {
			halves++
		}
		b.sound(fmt.Sprint("step ", i), want)
		if err := b.db.Close(); err != nil {
			t.Error(err)
		}
	}
	if t.Logf("%d steps before the moment of the split, %d after", old, halves); old < 8 || halves < 1 {
		t.Error("these are not all steps")
	}
}

// TestFailureInASplit checks that a split that fails at any step changes nothing, and that its copies are
// deleted in the end.
func TestFailureInASplit(t *testing.T) {
	t.Parallel()
	for _, lasts := range []bool{false, true} {
		for n, failed := 0, true; failed; n++ {
			disk := testdisk.NewCrashable(t)
			b, s := newSplitBench(t, disk)
			b.make(60)
			want := b.items(store.KeyOrRange{})
			var steps atomic.Int64
			s.failing(func() error {
				if step := int(steps.Add(1)); step == n+1 || step > n && lasts {
					return engine.ErrDiskFull
				}
				return nil
			})
			_, err := b.c.Split(b.ctx, "0", "")
			s.failing(nil)
			what := fmt.Sprintf("step %d, for good %v", n, lasts)
			if failed = err != nil; failed && (!is(err, fault.CodeDiskFull) || len(b.rangeIDs()) != 1) {
				t.Errorf("%s: %d ranges, %v", what, len(b.rangeIDs()), err)
			}
			b.sound(what, want)
			if err := b.db.Close(); err != nil {
				t.Error(err)
			}
			b, _ = newSplitBench(t, disk)
			b.clock.Advance(5 * time.Second)
			checkClean(t, b.db)
			if got, err := b.rows(store.QueryRequest{
				Text: "SELECT VALUE COUNT(1) FROM c WHERE c.n >= 0"}); err != nil ||
				got != fmt.Sprint(len(want)) {
				t.Errorf("%s, opened again: an index finds %s items of %d, %v", what, got, len(want), err)
			}
			if err := b.db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestPointReadsDuringSplit checks that point reads, which take no lock, are correct if the range is split
// between any two of their engine calls.
func TestPointReadsDuringSplit(t *testing.T) {
	t.Parallel()
	b, s := newSplitBench(t, testdisk.New(t))
	b.make(12)
	_, session, err := b.c.Read(b.ctx, pk("p3"), "3", store.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []struct {
		name string
		do   func(it store.Item) error
	}{
		{"read", func(it store.Item) error {
			got, _, err := b.c.Read(b.ctx, pk("p"+it.ID()), it.ID(),
				store.ReadOptions{Session: []store.SessionTokenEntry{
					{Range: session.Range, LSN: session.LSN}}})
			if err == nil && got.ETag() != it.ETag() {
				t.Errorf("%s was read as %s", it.Body(), got.Body())
			}
			return err
		}},
		{"read of nothing", func(it store.Item) error {
			if _, _, err := b.c.Read(b.ctx, pk("p"+it.ID()), "nobody", store.ReadOptions{}); !is(err,
				fault.CodeNotFound) {
				return fmt.Errorf("nobody was found: %w", err)
			}
			return nil
		}},
		{"resolve", func(it store.Item) error {
			key, err := b.c.ResolveRID(b.ctx, it.RID())
			if key.ID != it.ID() {
				t.Errorf("%s is said to be %s", it.ID(), key.ID)
			}
			return err
		}},
	} {
		for n, happened := 0, true; happened; n++ {
			happened = false
			for _, id := range []string{"9", "11"} {
				it, receipt, err := b.c.Upsert(b.ctx, pk("p"+id),
					fmt.Appendf(nil, `{"id":%q,"pk":"p%s","n":%d,"u":7}`, id, id, n), store.WriteOptions{})
				if err != nil {
					t.Fatal(err)
				}
				done := s.at(n, func() { b.split(receipt.Range, "") })
				if err := op.do(it); err != nil {
					t.Errorf("a split at look %d of a %s: %v", n, op.name, err)
				}
				happened = done() || happened
			}
		}
	}
	checkClean(t, b.db)
	if err := b.db.Close(); err != nil {
		t.Error(err)
	}
}

// TestSplitUnderTheReaper checks that a purge is correct if the range is split after the reaper has read
// it and before it deletes.
func TestSplitUnderTheReaper(t *testing.T) {
	t.Parallel()
	for n, happened := 0, true; happened; n++ {
		b, s := newSplitBench(t, testdisk.New(t))
		b.make(60) // with a partition that was deleted, and some that have expired
		for i := range 20 {
			if _, err := b.c.DeletePartition(b.ctx, pk(fmt.Sprint("p", i))); err != nil {
				t.Fatal(err)
			}
		}
		want := b.items(store.KeyOrRange{})
		done := s.at(n, func() { b.split("0", "") })
		if _, err := b.db.SweepNow(b.ctx); err != nil {
			t.Error(err)
		}
		if happened = done(); len(want) != 0 {
			t.Errorf("%d items are alive", len(want))
		}
		b.sound(fmt.Sprint("a split at look ", n), want)
		if u, err := b.c.Usage(b.ctx); err != nil || u.Documents != 20 {
			t.Errorf("%d documents are left, %v", u.Documents, err)
		}
		if err := b.db.Close(); err != nil {
			t.Error(err)
		}
	}
}
