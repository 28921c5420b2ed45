package migrate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/engine/postgres"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/migrate"
	"github.com/mayflydb/mayfly/internal/pgschema"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/ttl"
)

var ctx = context.Background()

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// memoryFS is a file system in memory, where a write costs nothing.
type memoryFS struct{ vfs.FS }

func newMemoryFS() memoryFS { return memoryFS{vfs.NewMem()} }

// folder opens the Pebble engine in a folder of the file system.
func (d memoryFS) folder(dir string) *pebble.Engine {
	return must(pebble.Open(ctx, pebble.Options{Dir: dir, FS: d.FS}))
}

const (
	from = "from" // the folder of the source
	to   = "to"
)

// fill returns a new file system whose folder "from" has a store with n documents.
func fill(t *testing.T, n int) memoryFS {
	t.Helper()
	dir := newMemoryFS()
	db := must(store.Open(ctx, dir.folder(from), store.Options{ManualReaper: true}))
	c := container(db)
	for i := range n {
		if err := upsert(c, i, i); err != nil {
			t.Fatal(err)
		}
	}
	check(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func container(db *store.DB) *store.Container {
	d := must(db.CreateDatabase(ctx, "app", definition.Throughput{}))
	spec, _, err := definition.ParseContainerSpec([]byte(
		`{"id":"c","partitionKey":{"paths":["/pk"]},"defaultTtl":-1}`), true)
	if err != nil {
		panic(err)
	}
	return must(d.CreateContainer(ctx, spec, definition.Throughput{}))
}

// upsert stores the document number i with the given value.
func upsert(c *store.Container, i, value int) error {
	body := fmt.Appendf(nil, `{"id":"%d","pk":"p%d","value":%d,"ttl":1000000}`, i, i%7, value)
	_, _, err := c.Upsert(ctx, definition.PartitionKey{}, body, store.WriteOptions{})
	return err
}

// check fails the test for each violation that DB.Check, the store's check of its own consistency,
// reports.
func check(t *testing.T, db *store.DB) {
	t.Helper()
	err := db.Check(ctx, func(violation error) bool {
		t.Error(violation)
		return true
	})
	if err != nil {
		t.Error(err)
	}
}

// targets returns functions that open the possible target engines of a migration, by name. Each call of a
// function opens the same data again.
func targets(t *testing.T) map[string]func() engine.Engine {
	dir := newMemoryFS()
	list := map[string]func() engine.Engine{"folder": func() engine.Engine { return dir.folder(to) }}
	if url := os.Getenv(pgschema.Variable); url != "" {
		schema := pgschema.New(t)
		list["postgres"] = func() engine.Engine {
			return must(postgres.Open(ctx, postgres.Options{URL: url, Schema: schema, AllowUnsafe: true}))
		}
	}
	return list
}

// TestMigrate migrates a folder that is not in use to each kind of target. It checks that the target
// cannot be opened before the end, the source not after it, and that the target then has all documents.
func TestMigrate(t *testing.T) {
	for name, open := range targets(t) {
		t.Run(name, func(t *testing.T) {
			const documents = 300
			dir := fill(t, documents)
			source, target := dir.folder(from), open()
			o := migrate.Options{Source: source, Target: target, SourceName: "here", TargetName: "there"}
			must(migrate.Start(ctx, o))
			if err := target.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Open(ctx, open(), store.Options{}); !errors.Is(err, engine.ErrIncomplete) {
				t.Errorf("a store that has not arrived was opened: %v", err)
			}
			target = open()
			o.Target = target
			m := must(migrate.Start(ctx, o)) // continues
			if err := m.Copy(ctx); err != nil {
				t.Fatal(err)
			}
			if _, differ, err := migrate.Compare(ctx, o, 10); differ != 0 || err != nil {
				t.Errorf("%d keys differ: %v", differ, err)
			}
			if err := m.Finish(ctx); err != nil {
				t.Fatal(err)
			}
			_ = errors.Join(source.Close(), target.Close())
			if _, err := store.Open(ctx, dir.folder(from), store.Options{}); !errors.Is(err, engine.ErrMoved) {
				t.Errorf("a store that has moved was opened: %v", err)
			}
			db := must(store.Open(ctx, open(), store.Options{ManualReaper: true}))
			check(t, db)
			d := must(db.Database("app"))
			c := must(d.Container("c"))
			if n := must(c.Usage(ctx)).Documents; n != documents {
				t.Errorf("%d documents, want %d", n, documents)
			}
			if err := errors.Join(upsert(c, documents, 0), db.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// changingSource is a source engine whose keys change after each View, that is, between the steps of a
// migration.
type changingSource struct {
	*pebble.Engine
	meddle func(*pebble.Engine)
}

func (m *changingSource) View(ctx context.Context, fn func(engine.Reader) error) error {
	err := m.Engine.View(ctx, fn)
	m.meddle(m.Engine)
	return err
}

// TestChangesDuringMigration changes random keys and ranges of the source between all steps of a migration,
// and checks that the target has the changes in the end.
func TestChangesDuringMigration(t *testing.T) {
	dir := fill(t, 1)
	first := metamorphic.FirstSeed()
	count := racetest.Fewer(racetest.Campaign(20, 8), 4)
	for seed := first; seed < first+uint64(count); seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		source, target := dir.folder(from), must(pebble.Open(ctx, pebble.Options{Memory: true}))
		scope := []byte("z scope")
		key := func() []byte { return fmt.Appendf(nil, "z%06d", r.IntN(20_000)) }
		change := func(e *pebble.Engine, n int) {
			must(e.Update(ctx, [][]byte{scope}, func(x engine.Txn) error {
				x.Relax()
				x.NextLSN(scope)
				for range n {
					switch r.IntN(20) {
					case 0:
						from := key()
						x.DeleteRange(engine.Range{Start: from, End: append(from[:5:5], '~')})
					case 1, 2, 3, 4:
						x.Delete(key())
					default:
						x.Set(key(), make([]byte, r.IntN(300)))
					}
				}
				return nil
			}))
		}
		change(source, 15_000)
		m := &changingSource{source, func(e *pebble.Engine) { change(e, 1+r.IntN(20)) }}
		o := migrate.Options{Source: m, Target: target, SourceName: "here", TargetName: "there", Watched: true}
		x := must(migrate.Start(ctx, o))
		if err := x.Copy(ctx); err != nil {
			t.Fatal(err)
		}
		for range r.IntN(3) {
			must(x.CatchUp(ctx))
		}
		m.meddle = func(*pebble.Engine) {} // nobody writes any more
		if err := x.Finish(ctx); err != nil {
			t.Fatal(err)
		}
		p, differ, err := migrate.Compare(ctx, o, 10)
		if differ != 0 || err != nil {
			t.Errorf("seed %d: %d of %d keys differ: %v", seed, differ, p.Keys, err)
		}
		if err := migrateBack(source); err != nil {
			t.Error(err)
		}
		_ = errors.Join(source.Close(), target.Close())
	}
}

// migrateBack makes a source whose data were migrated away usable again, as a source or a target.
func migrateBack(source engine.Engine) error { return host.Reopen(ctx, source) }

// failingEngine is a target engine whose transactions fail regularly: one in "every".
type failingEngine struct {
	engine.Engine
	every int64
	n     *atomic.Int64
}

func (f failingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	if f.n.Add(1)%f.every == 0 {
		return nil, engine.ErrUnavailable
	}
	return f.Engine.Update(ctx, scopes, fn, ahead...)
}

// TestMigrateDuringUse migrates a folder to another one while a store writes to it and every seventh
// transaction on the target fails. It checks that the target then has the last version of each document, and
// that the old folder cannot be opened any more.
func TestMigrateDuringUse(t *testing.T) {
	dir := fill(t, 500)
	clock := ttl.NewManual(time.Unix(1_900_000_000, 0))
	target := failingEngine{dir.folder(to), 7, new(atomic.Int64)}
	o := migrate.Options{Target: target, SourceName: "here", TargetName: "there"}
	live := must(migrate.Serve(t.Context(), dir.folder(from), o, clock, slog.New(slog.DiscardHandler)))
	db := must(store.Open(ctx, live, store.Options{ManualReaper: true}))
	d := must(db.Database("app"))
	c := must(d.Container("c"))
	model := map[string]int{}
	r := rand.New(rand.NewPCG(metamorphic.FirstSeed(), 2))
	for n := 0; n < 500 || !live.Following(); n++ {
		i := r.IntN(1000)
		if err := upsert(c, i, n); err != nil {
			t.Fatal(err)
		}
		model[fmt.Sprint(i)] = n
		clock.Advance(10 * time.Millisecond)
	}
	if err := db.Restore(ctx, "none"); err == nil {
		t.Error("a snapshot was restored while the store is migrated")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(ctx, dir.folder(from), store.Options{}); !errors.Is(err, engine.ErrMoved) {
		t.Errorf("a store that has moved was opened: %v", err)
	}
	db = must(store.Open(ctx, dir.folder(to), store.Options{ManualReaper: true}))
	check(t, db)
	c = must(must(db.Database("app")).Container("c"))
	for id, want := range model {
		key := must(definition.ParsePartitionKey(fmt.Appendf(nil, `["p%d"]`, must(strconv.Atoi(id))%7)))
		item, _, err := c.Read(ctx, key, id, store.ReadOptions{})
		if err != nil || !bytes.Contains(item.Body(), fmt.Appendf(nil, `"value":%d,`, want)) {
			t.Errorf("document %s: %s, %v; want value %d", id, item.Body(), err, want)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestCloseBeforeMigrationCompletes closes a server before the migration of its folder is complete, and
// checks that the folder is still the current data.
func TestCloseBeforeMigrationCompletes(t *testing.T) {
	dir := fill(t, 10)
	target := failingEngine{dir.folder(to), 2, new(atomic.Int64)}
	o := migrate.Options{Target: target, SourceName: "here", TargetName: "there"}
	clock := ttl.NewManual(time.Unix(1_900_000_000, 0))
	live := must(migrate.Serve(ctx, dir.folder(from), o, clock, slog.New(slog.DiscardHandler)))
	db := must(store.Open(ctx, live, store.Options{ManualReaper: true}))
	moved := live.Following()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(ctx, dir.folder(from), store.Options{ManualReaper: true})
	if moved || err != nil {
		t.Fatalf("moved %v, %v", moved, err)
	}
	check(t, db)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
