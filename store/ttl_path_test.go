package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/ttl"
)

const pathBegan = 1_700_000_000

// based stores an item whose time to live counts from its property base: base seconds after the beginning
// of the test. more holds further members as JSON.
func (b *testStore) based(id string, base int64, more string) {
	b.t.Helper()
	body := fmt.Appendf(nil, `{"id":%q,"pk":"p","base":%d%s}`, id, pathBegan+base, more)
	if _, _, err := b.c.Upsert(b.ctx, pk("p"), body, store.WriteOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// countFrom sets the container's ttlPropertyPath and its default TTL.
func (b *testStore) countFrom(path string, def ttl.Seconds) {
	b.t.Helper()
	d, err := b.db.Database("db")
	if err != nil {
		b.t.Fatal(err)
	}
	spec := b.c.Info().Spec
	spec.TTLPropertyPath, spec.DefaultTTL = path, def
	if _, err := d.ReplaceContainer(b.ctx, "c", spec, store.WriteOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *testStore) wantIDs(what, want string) {
	b.t.Helper()
	if got := b.ids(b.c); got != want {
		b.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestExplainWithTTLPropertyPath checks that ExplainItem reports the time from which an item's time to live
// counts, and why.
func TestExplainWithTTLPropertyPath(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":10`, 1)
	defer b.close()
	explain := func(id, want string, state inspect.ItemState, source inspect.TTLSource) {
		t.Helper()
		e, err := b.c.ExplainItem(b.ctx, pk("p"), id)
		if err != nil || e.State != state || e.Source != source || !strings.Contains(e.Sentence(), want) {
			t.Errorf("%s: %v %v %v %s", id, err, e.State, e.Source, e.Sentence())
		}
	}
	b.based("old", -9, "")
	b.countFrom("/base", 10)
	explain("old", "default is 10s from the time in '/base', 2023-11-14T22:13:11Z", inspect.StateLive,
		inspect.SourceContainer)
	b.based("own", 5, `,"ttl":3`)
	explain("own", "It expires in 8s, at 2023-11-14T22:13:28Z: its own ttl is 3s from the time in '/base'",
		inspect.StateLive, inspect.SourceItem)
	b.doc("none", 0)
	explain("none", "10s from its last write at 2023-11-14T22:13:20Z, since '/base' is no number",
		inspect.StateLive, inspect.SourceContainer)
	b.based("never", -60, "")
	explain("never", "It expired at 2023-11-14T22:13:20Z, and is not purged yet", inspect.StateGhost,
		inspect.SourceContainer)
	b.pass(1)
	b.countFrom("", 10)
	explain("old", "'ttlPropertyPath' was changed", inspect.StateGhost, inspect.SourceFloor)
	explain("none", "10s from its last write at 2023-11-14T22:13:20Z.", inspect.StateLive,
		inspect.SourceContainer)
}

// TestDryRunTTLPropertyPath checks that a dry run of a new ttlPropertyPath predicts the effects of the
// change.
func TestDryRunTTLPropertyPath(t *testing.T) {
	t.Parallel()
	for _, exact := range []int64{0, 1} { // looked at one by one, or taken for many
		b := newTestStore(t, `"defaultTtl":10`, 1)
		b.based("dies", -10, "")
		b.based("sooner", -5, "")
		b.based("later", 90, "")
		b.based("ever", 0, `,"ttl":-1`)
		b.doc("same", 0)
		path := "/base"
		d, err := b.c.DryRunTTL(b.ctx, 10, inspect.TTLChangeDryRunOptions{Path: &path, Exact: exact})
		if err != nil || !d.Exact || d.ToPath != path || d.FromPath != "" {
			t.Fatalf("%v %+v", err, d)
		}
		counts := map[inspect.TTLChangeEffectOnItem]int64{inspect.EffectDies: 1, inspect.EffectSooner: 1,
			inspect.EffectLater: 1, inspect.EffectNone: 2}
		for effect := range inspect.TTLEffects {
			if d.Effects[effect].Count != counts[effect] {
				t.Errorf("%v: %d, want %d", effect, d.Effects[effect].Count, counts[effect])
			}
		}
		if e := d.Effects[inspect.EffectLater].Examples; len(e) != 1 || e[0].ID != "later" ||
			e[0].Before != pathBegan+10 || e[0].After != pathBegan+100 {
			t.Errorf("%+v", e)
		}
		b.wantIDs("a dry run changes nothing", "dies sooner later ever same")
		b.countFrom(path, 10)
		b.wantIDs("the change", "sooner later ever same")
		d, err = b.c.DryRunTTL(b.ctx, ttl.Absent, inspect.TTLChangeDryRunOptions{})
		n := d.Effects[inspect.EffectImmortal].Count
		if err != nil || n != 3 || d.ToPath != "" || d.FromPath != path {
			t.Errorf("off: %v, %d, %+v", err, n, d)
		}
		_, err = b.c.DryRunTTL(b.ctx, ttl.Absent, inspect.TTLChangeDryRunOptions{Path: &path})
		if !is(err, fault.CodeBadRequest) {
			t.Errorf("a path without a default: %v", err)
		}
		b.close()
	}
}

// TestExpiryByTTLPropertyPath checks that an item that expires by a property is logged once and
// archived, even if its expiry time lies before the log and the archive were set up.
func TestExpiryByTTLPropertyPath(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":10`, 1)
	defer b.close()
	b.based("before", -20, "") // of the time before the path: alive until then
	b.countFrom("/base", 10)
	b.based("gone", -20, "")
	b.wantIDs("at once", "")
	b.pass(5)
	b.container("archive", "/pk", "")
	b.settings(func(s *store.ContainerSettings) {
		s.ExpiryEvents = &store.ExpiryEventSettings{}
		s.OnExpire = &store.OnExpireSettings{MoveTo: "archive"}
	})
	b.pass(5)
	b.based("never", -20, "") // dead as it comes, long before the log by its property
	b.based("soon", 2, "")
	b.based("back", 90, "")
	b.pass(2)
	b.sweep()
	end := b.wantExpired("by the path", "", "never", "soon")
	d, err := b.db.Database("db")
	if err != nil {
		t.Fatal(err)
	}
	archive, err := d.Container("archive")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.ids(archive); got != "never soon" {
		t.Errorf("archived %q", got)
	}
	release := b.db.HoldIndexer()
	b.pass(5)
	b.countFrom("", 1) // ends "back", which was written 7 seconds ago
	b.pass(1)
	b.wantIDs("by the write", "")
	release()
	if err := b.db.IndexNow(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	b.wantExpired("by the change", end, "back")
	if got := b.ids(archive); got != "never soon back" {
		t.Errorf("archived %q", got)
	}
	checkClean(t, b.db)
}

// TestLeaseWithTTLPropertyPath checks that a lease suspends an expiry by a property, and that a change of the
// ttlPropertyPath during the lease does not prevent the expiry after it.
func TestLeaseWithTTLPropertyPath(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":10`, 1)
	defer b.close()
	b.countFrom("/base", 10)
	b.based("a", 0, "")
	b.based("b", 0, "")
	for _, id := range []string{"a", "b"} {
		if _, err := b.c.Lease(b.ctx, pk("p"), id, 30); err != nil {
			t.Fatal(err)
		}
	}
	b.pass(10)
	b.wantIDs("leased", "a b")
	b.countFrom("", -1)
	b.wantIDs("leased still", "a b")
	if err := b.db.SweepHeld(b.ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.c.ReleaseLease(b.ctx, pk("p"), "a"); err != nil {
		t.Fatal(err)
	}
	b.wantIDs("one has been released", "b")
	b.pass(20)
	b.wantIDs("the lease is over", "")
	if err := b.db.IndexNow(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	if u, err := b.c.Usage(b.ctx); err != nil || u.Documents != 0 {
		t.Errorf("%+v, %v", u, err)
	}
}

// TestImportWithTTLPropertyPath checks that an import with a remaining time to live is refused if it
// contradicts the property from which the time to live counts.
func TestImportWithTTLPropertyPath(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":10`, 1)
	defer b.close()
	b.countFrom("/base", 10)
	put := func(body string, left time.Duration) error {
		_, _, err := b.c.Import(b.ctx, pk("p"), []byte(body), store.ImportTimestampOptions{ExpiresIn: left})
		return err
	}
	if err := put(`{"id":"a","pk":"p","base":1700000005}`, 4*time.Second); !is(err, fault.CodeBadRequest) {
		t.Error(err)
	}
	if err := put(`{"id":"a","pk":"p","base":1700000005}`, 15*time.Second); err != nil {
		t.Error(err)
	}
	if err := put(`{"id":"b","pk":"p"}`, 4*time.Second); err != nil {
		t.Error(err)
	}
	b.pass(4)
	b.wantIDs("after 4 seconds", "a")
	b.pass(11)
	b.wantIDs("after 15 seconds", "")
}

// TestClockWithTTLPropertyPath checks that a clock cannot be set back behind the last expiry, for items whose
// time to live counts from a property and for others.
func TestClockWithTTLPropertyPath(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":100`, 1)
	defer b.close()
	b.based("a", -90, "")
	b.based("c", -67, "")
	b.pass(20)
	release := b.db.HoldIndexer()
	defer release()
	b.countFrom("/base", 100) // "a" dies now
	b.based("b", -70, "")
	b.pass(15)
	b.wantIDs("all are dead", "")
	died, err := b.db.DiedSince(b.ctx, "db", "c", pathBegan+25)
	if err != nil || died != pathBegan+33 {
		t.Errorf("the last died in second %d, %v", died-pathBegan, err)
	}
}

// TestSplitDuringTTLPathChange checks a split while the ttlPropertyPath of the container is being changed.
func TestSplitDuringTTLPathChange(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":100`, 1)
	defer b.close()
	for i := range 120 {
		body := fmt.Appendf(nil, `{"id":"%03d","pk":"p%d","base":%d}`, i, i%30, pathBegan+i-100)
		_, _, err := b.c.Create(b.ctx, pk(fmt.Sprintf("p%d", i%30)), body, store.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	alive := func(what string, want int) {
		t.Helper()
		checkSound(t, b.db)
		got, err := b.rows(store.QueryRequest{Text: "SELECT VALUE COUNT(1) FROM c"})
		if err != nil || got != fmt.Sprint(want) || len(b.documents(b.c)) != want {
			t.Errorf("%s: %s (%d), want %d, %v", what, got, len(b.documents(b.c)), want, err)
		}
	}
	release := b.db.HoldIndexer()
	b.pass(10)
	b.countFrom("/base", 100)
	alive("before", 109)
	b.split(b.rangeIDs()[0], "")
	alive("behind the split", 109)
	release()
	if err := b.db.IndexNow(b.ctx); err != nil {
		t.Fatal(err)
	}
	alive("indexed anew", 109)
	b.pass(9)
	alive("later", 100)
	b.sweep()
	if u, err := b.c.Usage(b.ctx); err != nil || u.Documents != 100 {
		t.Errorf("%+v, %v", u, err)
	}
}

// TestTTLPropertyPathCrash checks that the same items are visible after a crash at any step of a change of
// the ttlPropertyPath and of the reindexing after it, and that the reindexing is completed in the end.
func TestTTLPropertyPathCrash(t *testing.T) {
	t.Parallel()
	ctx, fs := context.Background(), testdisk.NewCrashable(t)
	clock := ttl.NewManual(time.Unix(pathBegan, 0))
	db, err := openAt(ctx, slowly(fs), clock)
	if err != nil {
		t.Fatal(err)
	}
	d, err := db.CreateDatabase(ctx, "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	b := &testStore{t: t, ctx: ctx, clock: clock, db: db}
	if b.c, err = d.CreateContainer(ctx, specOf(t, `"defaultTtl":50`), definition.Throughput{}); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		b.based(fmt.Sprintf("%02d", i), int64(i)-50, "")
	}
	r := rand.New(rand.NewPCG(5, 6))
	for round, path := range []string{"/base", "", "/base", "/base", "/none", "/base"} {
		b.pass(3)
		b.countFrom(path, ttl.Seconds(50-round%2))
		want := strings.Fields(b.ids(b.c))
		for step := range 5 {
			wreck := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r})
			checkPathWreck(t, wreck, clock.Now(), want)
			if step == 2 {
				if err := db.IndexNow(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if step == 3 {
				b.sweep()
			}
			if got := strings.Fields(b.ids(b.c)); !slices.Equal(got, want) {
				t.Errorf("round %d, step %d: %v, not %v", round, step, got, want)
			}
		}
	}
	checkClean(t, db)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func checkPathWreck(t *testing.T, fs *testdisk.EngineStorage, now time.Time, want []string) {
	t.Helper()
	ctx := context.Background()
	b := &testStore{t: t, ctx: ctx, clock: ttl.NewManual(now)}
	var err error
	if b.db, err = openAt(ctx, fs, b.clock); err != nil {
		t.Fatal(err)
	}
	d, err := b.db.Database("db")
	if err == nil {
		b.c, err = d.Container("c")
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(b.ids(b.c)); !slices.Equal(got, want) {
		t.Errorf("after a crash %v, not %v", got, want)
	}
	if err := b.db.IndexNow(ctx); err != nil {
		t.Error(err)
	}
	b.sweep()
	if got := strings.Fields(b.ids(b.c)); !slices.Equal(got, want) {
		t.Errorf("after a crash and a sweep %v, not %v", got, want)
	}
	if u, err := b.c.Usage(ctx); err != nil || u.Documents != int64(len(want)) {
		t.Errorf("%d documents are left of %d, %v", u.Documents, len(want), err)
	}
	checkClean(t, b.db)
	if err := b.db.Close(); err != nil {
		t.Error(err)
	}
}
