package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/split"
	"github.com/mayflydb/mayfly/ttl"
)

// keysUnderLockCountingEngine is an engine that counts the keys that are read and written each time a
// container's gate (its lock) is held exclusively. It can call a function at each view of a split that begins
// while nobody holds the gate.
type keysUnderLockCountingEngine struct {
	testdisk.Engine
	guarded atomic.Pointer[containerLockWatch] // nil: nobody watches

	mu   sync.Mutex
	most int64 // keys in one turn of the gate
	turn uint64
	keys int64
}

type containerLockWatch struct {
	c       *Container
	between func()
}

// watch starts counting, for the container c, the keys that are accessed while its gate (its lock) is held
// exclusively. between is called at each view of a split that begins while nobody holds the gate.
func (e *keysUnderLockCountingEngine) watch(c *Container, between func()) {
	e.guarded.Store(&containerLockWatch{c, between})
}

func (e *keysUnderLockCountingEngine) touch() {
	w := e.guarded.Load()
	if w == nil || w.c.Inside() >= 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if turn := w.c.Turns(); turn != e.turn {
		e.turn, e.keys = turn, 0
	}
	e.keys++
	e.most = max(e.most, e.keys)
}

func (e *keysUnderLockCountingEngine) View(ctx context.Context, fn func(engine.Reader) error) error {
	if w := e.guarded.Load(); w != nil && ctx.Value(insideSplitContextKey{}) != nil && w.c.Inside() == 0 {
		w.between()
	}
	return e.Engine.View(ctx, func(r engine.Reader) error { return fn(keysUnderLockCountingReader{r, e}) })
}

func (e *keysUnderLockCountingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	return e.Engine.Update(ctx, scopes,
		func(t engine.Txn) error { return fn(keysUnderLockCountingTxn{t, e}) },
		ahead...)
}

type keysUnderLockCountingReader struct {
	engine.Reader
	e *keysUnderLockCountingEngine
}

func (r keysUnderLockCountingReader) Get(key []byte) ([]byte, error) {
	r.e.touch()
	return r.Reader.Get(key)
}

func (r keysUnderLockCountingReader) Scan(rg engine.Range, reverse bool) engine.Iterator {
	return keysUnderLockCountingIterator{r.Reader.Scan(rg, reverse), r.e}
}

type keysUnderLockCountingIterator struct {
	engine.Iterator
	e *keysUnderLockCountingEngine
}

func (i keysUnderLockCountingIterator) Next() bool { i.e.touch(); return i.Iterator.Next() }

type keysUnderLockCountingTxn struct {
	engine.Txn
	e *keysUnderLockCountingEngine
}

func (t keysUnderLockCountingTxn) Set(key, value []byte)      { t.e.touch(); t.Txn.Set(key, value) }
func (t keysUnderLockCountingTxn) Delete(key []byte)          { t.e.touch(); t.Txn.Delete(key) }
func (t keysUnderLockCountingTxn) DeleteRange(r engine.Range) { t.e.touch(); t.Txn.DeleteRange(r) }

// insideSplitContextKey is the key of a context value that marks the engine calls of a split.
type insideSplitContextKey struct{}

func openCounting(t *testing.T) (*keysUnderLockCountingEngine, *DB, *Container) {
	t.Helper()
	p, err := testdisk.NewCrashable(t).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := &keysUnderLockCountingEngine{Engine: p}
	db, err := Open(t.Context(), e, Options{Clock: ttl.NewManual(time.Unix(1_700_000_000, 0)),
		ManualReaper: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	d, err := db.CreateDatabase(t.Context(), "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	spec := definition.ContainerSpec{ID: "c",
		PartitionKey: definition.PartitionKeyDefinition{Paths: []string{"/pk"}, Kind: "Hash",
			Version: 2}, DefaultTTL: ttl.Never,
		ChangeFeed: &definition.ChangeFeedPolicy{RetentionMinutes: 10}}
	c, err := d.CreateContainer(t.Context(), spec, definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	return e, db, c
}

func putNumber(t *testing.T, c *Container, i, n int) {
	t.Helper()
	p := fmt.Sprint("p", i)
	if _, _, err := c.Upsert(t.Context(), definition.NewPartitionKey(jsondoc.StringValue(p)),
		fmt.Appendf(nil, `{"id":"1","pk":%q,"n":%d}`, p, n), WriteOptions{}); err != nil {
		t.Error(err)
	}
}

func soundAfterSplit(t *testing.T, db *DB, c *Container, documents int64) {
	t.Helper()
	if err := db.Check(t.Context(),
		func(err error) bool { t.Error("check:", err); return true }); err != nil {
		t.Error(err)
	}
	if u, err := c.Usage(t.Context()); err != nil || u.Documents != documents {
		t.Errorf("%d documents, not %d: %v", u.Documents, documents, err)
	}
}

// TestSplitKeysUnderLock checks that a split reads and writes a limited number of keys while it
// holds the container's gate (its lock), however large the range is and however much is written during the
// copy.
func TestSplitKeysUnderLock(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	// An item and an entry of a log have a few keys each here: two versions' terms, their feed entries,
	// deadlines, themselves.
	const bound = split.SwitchKeys * 40
	for _, documents := range []int{200, 2000} {
		e, db, c := openCounting(t)
		for i := range documents {
			putNumber(t, c, i, 0)
		}
		round := 0
		e.watch(c, func() {
			if round++; round < 30 {
				for i := range 2 * split.SwitchKeys { // more than the gate may be held for
					putNumber(t, c, (round*31+i)%documents, round)
				}
			}
		})
		if _, err := c.Split(context.WithValue(t.Context(), insideSplitContextKey{}, true), "0",
			""); err != nil {
			t.Fatal(err)
		}
		e.guarded.Store(nil)
		if t.Logf("%d documents: at most %d keys, %d rounds", documents, e.most, round); e.most == 0 ||
			e.most > bound {
			t.Errorf("the gate was held for %d keys", e.most)
		}
		soundAfterSplit(t, db, c, int64(documents))
	}
}

// TestIndexingPolicyChangeDuringSplit checks that a split starts its copy again if the indexing policy
// changes, and leaves no index entries of the former policy.
func TestIndexingPolicyChangeDuringSplit(t *testing.T) {
	t.Parallel()
	e, db, c := openCounting(t)
	for i := range 700 {
		putNumber(t, c, i, i)
	}
	views, changes := 0, 0
	e.watch(c, func() {
		if views++; views%3 == 2 && changes < 4 {
			changes++
			policy, err := index.Parse(fmt.Appendf(nil,
				`{"includedPaths":[{"path":"/n/?"},{"path":"/x%d/?"}],"excludedPaths":[{"path":"/*"}]}`, changes))
			if err != nil {
				t.Error(err)
			}
			spec := c.Info().Spec
			spec.Indexing = policy
			if _, err := c.d.ReplaceContainer(t.Context(), "c", spec, WriteOptions{}); err != nil {
				t.Error(err)
			}
		}
	})
	if _, err := c.Split(context.WithValue(t.Context(), insideSplitContextKey{}, true), "0", ""); err != nil {
		t.Fatal(err)
	}
	e.guarded.Store(nil)
	if changes == 0 {
		t.Errorf("the policy has not changed in %d views", views)
	}
	soundAfterSplit(t, db, c, 700)
	if err := db.IndexNow(t.Context()); err != nil {
		t.Error(err)
	}
	soundAfterSplit(t, db, c, 700)
}

// TestCanceledSplit checks that a split ends with the right error and leaves nothing behind if, at any
// step, its container or database is dropped, its context ends or the store is closed.
func TestCanceledSplit(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name string
		do   func(db *DB, c *Container, cancel func()) error
		code fault.Code
		left bool // the container is there afterwards
	}{
		{"the container is deleted", func(_ *DB, c *Container, _ func()) error {
			return c.d.DeleteContainer(context.Background(), "c", WriteOptions{})
		}, fault.CodeOwnerNotFound, false},
		{"the database is deleted", func(db *DB, _ *Container, _ func()) error {
			return db.DeleteDatabase(context.Background(), "db", WriteOptions{})
		}, fault.CodeOwnerNotFound, false},
		{"the caller goes", func(_ *DB, _ *Container, cancel func()) error { cancel(); return nil },
			fault.CodeCanceled, true},
		{"the store is closed", func(db *DB, _ *Container, _ func()) error { return db.Close() },
			fault.CodeUnavailable, false},
	} {
		tidied := false
		for step, happened := 1, true; happened; step++ {
			e, db, c := openCounting(t)
			for i := range 600 {
				putNumber(t, c, i, i)
			}
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), insideSplitContextKey{}, true))
			n := 0
			happened = false
			e.watch(c, func() {
				if n++; n != step {
					return
				}
				happened = true
				if err := one.do(db, c, cancel); err != nil {
					t.Errorf("%s: %v", one.name, err)
				}
			})
			_, err := c.Split(ctx, "0", "")
			e.guarded.Store(nil)
			cancel()
			if happened && fault.ErrorCode(err) != one.code || !happened && err != nil {
				t.Errorf("%s at step %d: %v", one.name, step, err)
			}
			tidied = tidied || happened && c.state.Load().Rec.Split == nil
			if one.left {
				// Who has no time left may not wait for the catalog: then the background tidies up.
				if err := db.FinishSplits(t.Context()); err != nil {
					t.Error(err)
				}
				soundAfterSplit(t, db, c, 600)
				if happened && (c.state.Load().Rec.Split != nil || len(c.Ranges().Ranges) != 1) {
					t.Errorf("%s at step %d: something is left", one.name, step)
				}
			} else if one.code == fault.CodeOwnerNotFound {
				if err := db.Check(t.Context(),
					func(err error) bool { t.Error(one.name, err); return true }); err != nil {
					t.Error(err)
				}
			}
		}
		if one.left && !tidied {
			t.Errorf("%s: it has always left the tidying to the background", one.name)
		}
	}
}
