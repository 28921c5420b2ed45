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
	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// container creates another container in the test's database, partitioned by path. more holds further
// members of its definition as JSON.
func (b *testStore) container(id, path, more string) *store.Container {
	b.t.Helper()
	d, err := b.db.Database("db")
	if err != nil {
		b.t.Fatal(err)
	}
	spec := specOf(b.t, more)
	spec.ID, spec.PartitionKey.Paths = id, []string{path}
	c, err := d.CreateContainer(b.ctx, spec, definition.Throughput{})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// set lets fn change the settings of a container, and stores them.
func (b *testStore) set(c *store.Container, fn func(*store.ContainerSettings)) error {
	_, err := c.ChangeSettings(b.ctx, func(s *store.ContainerSettings) error { fn(s); return nil })
	return err
}

func (b *testStore) moveTo(from *store.Container, name string) {
	b.t.Helper()
	if err := b.set(from, func(s *store.ContainerSettings) { s.OnExpire = &store.OnExpireSettings{MoveTo: name} }); err != nil {
		b.t.Fatal(err)
	}
}

func (b *testStore) pass(n int) { b.clock.Advance(time.Duration(n) * time.Second) }

func (b *testStore) sweep() {
	b.t.Helper()
	if _, err := b.db.SweepNow(b.ctx); err != nil {
		b.t.Fatal(err)
	}
}

// documents returns all documents of a container, in the order of a list.
func (b *testStore) documents(c *store.Container) (list []gjson.Result) {
	b.t.Helper()
	for row, err := range c.Rows(b.ctx, store.QueryRequest{Text: "SELECT * FROM c"}) {
		if err != nil {
			b.t.Fatal(err)
		}
		list = append(list, gjson.ParseBytes(row))
	}
	return list
}

// ids returns the ids of all documents of a container, in the order of a list, separated by spaces.
func (b *testStore) ids(c *store.Container) string {
	var ids []string
	for _, d := range b.documents(c) {
		ids = append(ids, d.Get("id").Str)
	}
	return strings.Join(ids, " ")
}

// TestArchivedDocument checks the document that the archive gets for an expired item, and the entries in
// the change feeds of both containers.
func TestArchivedDocument(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":100000}`, 2)
	defer b.close()
	archive := b.container("archive", "/kind", "")
	b.moveTo(b.c, "archive")
	feed, _, err := b.c.Changes(b.ctx, store.ChangesRequest{Mode: store.AllVersions, Start: store.ChangesStart{Now: true}})
	if err != nil {
		t.Fatal(err)
	}
	b.put(`{"id":"a","pk":"p","ttl":5.0,"kind":"x","_mayfly":{"mine":true},"text":"\u00e4\"","list":[1,2.50]}`)
	before, _, err := b.c.Read(b.ctx, pk("p"), "a", store.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	born := b.clock.Now().Unix()
	b.pass(7)
	if n := len(b.documents(archive)); n != 0 {
		t.Errorf("%d documents were moved by nobody", n)
	}
	b.sweep()
	it, _, err := archive.Read(b.ctx, pk("x"), "a", store.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"id":"a","pk":"p","kind":"x","text":"\u00e4\"","list":[1,2.5],"_mayfly":{"deadLetterReason":"TTLExpiredException",`+
		`"deadLetterErrorDescription":"The document expired and was moved here.","source":"c","expiredAt":%d,"id":"a","_rid":%s,"_etag":%s,"_ts":%d,`+
		`"ttl":5,"previous":{"mine":true}}}`,
		born+5, jsondoc.StringValue(before.RID()).Raw(), jsondoc.StringValue(before.ETag()).Raw(), born)
	if string(it.Body()) != want || it.Timestamp() != born+7 {
		t.Errorf("at %d\n got %s\nwant %s", it.Timestamp(), it.Body(), want)
	}
	page, _, err := b.c.Changes(b.ctx, store.ChangesRequest{Mode: store.AllVersions, Start: store.ChangesStart{After: feed.Position}})
	if err != nil || len(page.Changes) != 2 || page.Changes[1].Kind != store.ChangeExpire {
		t.Errorf("the feed of all versions: %v %+v", err, page.Changes)
	}
	if page, _, err = archive.Changes(b.ctx, store.ChangesRequest{}); err != nil || len(page.Changes) != 1 {
		t.Errorf("the archive's feed: %v, %d changes", err, len(page.Changes))
	}
	b.pass(1000)
	if b.sweep(); b.ids(archive) != "a" {
		t.Error("its ttl went on in the archive")
	}
}

// TestArchivedIDs checks that an expired item whose id is already taken in the archive gets a new id, and
// replaces nothing.
func TestArchivedIDs(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 1)
	defer b.close()
	archive := b.container("archive", "/pk", "")
	b.moveTo(b.c, "archive")
	long := strings.Repeat("ä", 511) // 1,022 bytes
	var want []string
	for range 2 {
		for _, id := range []string{"a", long} {
			it, _, err := b.c.Create(b.ctx, pk("p"), fmt.Appendf(nil, `{"id":%q,"pk":"p","ttl":1}`, id), store.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(want) > 1 { // its id is taken by the one before
				suffix := fmt.Sprint("~", it.LSN())
				if id = id[:min(len(id), (1023-len(suffix))/2*2)]; id != "a" && id == long {
					t.Fatal("nothing is cut off")
				}
				id += suffix
			}
			want = append(want, id)
		}
		b.pass(2)
		b.sweep()
	}
	if got := b.ids(archive); got != strings.Join(want, " ") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// And one whose other id is taken as well.
	next, _, err := b.c.Create(b.ctx, pk("p"), []byte(`{"id":"a","pk":"p","ttl":1}`), store.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	taken := fmt.Sprint("a~", next.LSN())
	if _, _, err := archive.Create(b.ctx, pk("p"), []byte(`{"id":"`+taken+`","pk":"p"}`), store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.pass(2)
	b.sweep()
	if _, _, err := archive.Read(b.ctx, pk("p"), taken+"~2", store.ReadOptions{}); err != nil {
		t.Error(err)
	}
}

// TestArchiveOfReplacedGhost checks that a write that needs the id or a unique key of an expired item that
// is not purged yet moves this item to the archive.
func TestArchiveOfReplacedGhost(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(b *testStore) error{
		"create": func(b *testStore) error {
			_, _, err := b.c.Create(b.ctx, pk("p"), []byte(`{"id":"a","pk":"p","u":9}`), store.WriteOptions{})
			return err
		},
		"unique key": func(b *testStore) error {
			_, _, err := b.c.Create(b.ctx, pk("p"), []byte(`{"id":"z","pk":"p","u":1}`), store.WriteOptions{})
			return err
		},
		"both": func(b *testStore) error {
			_, _, err := b.c.Upsert(b.ctx, pk("p"), []byte(`{"id":"a","pk":"p","u":2}`), store.WriteOptions{})
			return err
		},
		"batch": func(b *testStore) error {
			r, _, err := b.c.Batch(b.ctx, pk("p"), []store.ItemOperation{
				{Kind: store.OperationUpsert, Body: []byte(`{"id":"new","pk":"p","u":7}`)},
				{Kind: store.OperationCreate, Body: []byte(`{"id":"a","pk":"p","u":2}`)},
			}, store.BatchOptions{Atomic: true})
			if err == nil && r.Mixed {
				err = r.Results[1].Err
			}
			return err
		},
		"bulk": func(b *testStore) error {
			r, _, err := b.c.Batch(b.ctx, pk("p"), []store.ItemOperation{
				{Kind: store.OperationDelete, ID: "nobody"},
				{Kind: store.OperationCreate, Body: []byte(`{"id":"a","pk":"p","u":2}`)},
			}, store.BatchOptions{ContinueOnError: true})
			if err == nil {
				err = r.Results[1].Err
			}
			return err
		},
		"procedure": func(b *testStore) error {
			if _, err := b.c.Resources(store.KindStoredProcedure).Create(b.ctx, []byte(`{"id":"p","body":"function () {`+
				` __.createDocument(__.getSelfLink(), {id: 'a', pk: 'p', u: 2}, function (err) { if (err) throw err; }); }"}`)); err != nil {
				return err
			}
			_, _, err := b.c.Execute(b.ctx, pk("p"), "p", nil, store.ProcedureExecutionOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestStore(t, `"defaultTtl":-1,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`, 1)
			defer b.close()
			archive := b.container("archive", "/pk", "")
			b.moveTo(b.c, "archive")
			b.put(`{"id":"a","pk":"p","u":1,"ttl":5}`, `{"id":"b","pk":"p","u":2,"ttl":5}`)
			b.pass(5)
			if err := write(b); err != nil {
				t.Fatal(err)
			}
			if name != "both" && b.ids(archive) == "" {
				t.Error("nothing was moved before the reaper came")
			}
			b.sweep()
			if got := b.ids(archive); got != "a b" && got != "b a" {
				t.Errorf("archived: %s", got)
			}
			if got := b.ids(b.c); strings.Contains(got, "b") || got == "" {
				t.Errorf("alive: %s", got)
			}
		})
	}
}

// TestItemsNotArchived checks that items are not archived if they were deleted, or if they expired while the
// container had no archive.
func TestItemsNotArchived(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 1)
	defer b.close()
	archive := b.container("archive", "/pk", "")
	b.put(`{"id":"before","pk":"p","ttl":1}`)
	b.pass(2)
	b.moveTo(b.c, "archive")
	b.put(`{"id":"fenced","pk":"gone","ttl":5}`, `{"id":"deleted","pk":"p","ttl":5}`, `{"id":"kept","pk":"p"}`, `{"id":"moved","pk":"p","ttl":5}`)
	if _, err := b.c.DeletePartition(b.ctx, pk("gone")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.c.Delete(b.ctx, pk("p"), "deleted", store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.pass(10)
	b.sweep()
	if got := b.ids(archive); got != "moved" {
		t.Errorf("moved: %s", got)
	}
	// Without the setting nothing is, and what expired before it was there again is not either.
	b.put(`{"id":"later","pk":"p","ttl":5}`)
	if err := b.set(b.c, func(s *store.ContainerSettings) { s.OnExpire = nil }); err != nil {
		t.Fatal(err)
	}
	b.pass(6)
	b.moveTo(b.c, "archive")
	b.sweep()
	if got := b.ids(archive); got != "moved" {
		t.Errorf("moved: %s", got)
	}
}

// TestArchiveOfAnotherPartitionKey checks that items can be archived in a container with another partition
// key, even if a document has no valid value for that key: its key is then undefined.
func TestArchiveOfAnotherPartitionKey(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 1)
	defer b.close()
	archive := b.container("archive", "/big", "")
	b.moveTo(b.c, "archive")
	big := strings.Repeat("x", 3000)
	b.put(`{"id":"none","pk":"p","ttl":1}`, `{"id":"object","pk":"p","ttl":1,"big":{"a":1}}`, `{"id":"big","pk":"p","ttl":1,"big":"`+big+`"}`)
	b.pass(2)
	b.sweep()
	none := definition.NewPartitionKey(jsondoc.Value{})
	for id, want := range map[string]string{"none": `"_mayfly"`, "object": `"big":{"a":1}`, "big": `"document":{"id":"big","pk":"p","ttl":1,"big":"xxx`} {
		it, _, err := archive.Read(b.ctx, none, id, store.ReadOptions{})
		if err != nil || !strings.Contains(string(it.Body()), want) {
			t.Errorf("%s: %v %.400s", id, err, it.Body())
		}
	}
}

// TestArchiveOfLargestDocuments checks that documents of the maximum size and of the maximum depth are
// archived completely.
func TestArchiveOfLargestDocuments(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 1)
	defer b.close()
	archive := b.container("archive", "/pk", "")
	b.moveTo(b.c, "archive")
	large := `{"id":"large","pk":"p","ttl":1,"text":"` + strings.Repeat("x", 2<<20-50) + `"}`
	deep := `{"id":"deep","pk":"p","ttl":1,"_mayfly":` + strings.Repeat("[", 127) + strings.Repeat("]", 127) + `}`
	for range 4 {
		b.put(large, deep)
		b.pass(2)
		b.sweep()
	}
	if n := len(b.documents(archive)); n != 8 {
		t.Errorf("%d documents", n)
	}
}

// TestArchiveOfOversizedItem checks an expired item whose move to the archive would exceed the size limit of
// a transaction: it is not purged, reads do not return it, and other items are still archived.
func TestArchiveOfOversizedItem(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 1)
	defer b.close()
	archive := b.container("archive", "/pk", "")
	b.moveTo(b.c, "archive")
	var text strings.Builder
	for i := range 280_000 {
		fmt.Fprintf(&text, ",%d", 100_000+i)
	}
	body := `{"id":"a","pk":"p","ttl":1,"list":[` + text.String()[1:] + `]}`
	b.put(body, `{"id":"b","pk":"p","ttl":1}`, `{"id":"c","pk":"p","ttl":2}`)
	b.pass(5)
	b.sweep()
	if got := b.ids(archive); got != "b c" {
		t.Fatalf("moved: %s", got)
	}
	if got := b.ids(b.c); got != "" {
		t.Errorf("alive: %s", got)
	}
	small := []byte(`{"id":"a","pk":"p"}`)
	if _, _, err := b.c.Create(b.ctx, pk("p"), small, store.WriteOptions{}); !is(err, fault.CodeTooLarge) {
		t.Errorf("create: %v", err)
	}
	if err := b.set(b.c, func(s *store.ContainerSettings) { s.OnExpire = nil }); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.c.Create(b.ctx, pk("p"), small, store.WriteOptions{}); err != nil {
		t.Error(err)
	}
}

// TestArchiveRules checks which containers are accepted as archives, and that a container cannot be
// dropped while it is one.
func TestArchiveRules(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 1)
	defer b.close()
	d, err := b.db.Database("db")
	if err != nil {
		t.Fatal(err)
	}
	b.container("unique", "/pk", `"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`)
	chain := []*store.Container{b.c}
	for i := range store.MaxMoves + 1 {
		chain = append(chain, b.container(fmt.Sprint("a", i+1), "/pk", `"defaultTtl":1`))
	}
	to := func(name string) func(*store.ContainerSettings) {
		return func(s *store.ContainerSettings) { s.OnExpire = &store.OnExpireSettings{MoveTo: name} }
	}
	for _, name := range []string{"", "c", "nowhere", "unique"} {
		if err := b.set(b.c, to(name)); !is(err, fault.CodeBadRequest) {
			t.Errorf("archive %q: %v", name, err)
		}
	}
	for i := range store.MaxMoves {
		b.moveTo(chain[i], chain[i+1].ID())
	}
	for i, c := range chain[1:store.MaxMoves] {
		if err := b.set(c, to("c")); !is(err, fault.CodeBadRequest) {
			t.Errorf("a circle of %d: %v", i+2, err)
		}
	}
	if err := b.set(chain[store.MaxMoves], to(chain[store.MaxMoves+1].ID())); !is(err, fault.CodeBadRequest) {
		t.Errorf("one move too many: %v", err)
	}
	if err := d.DeleteContainer(b.ctx, "a1", store.WriteOptions{}); !is(err, fault.CodeConflict) {
		t.Errorf("the archive can be deleted: %v", err)
	}
	b.put(`{"id":"a","pk":"p","ttl":1}`, `{"id":"b","pk":"p"}`)
	for range store.MaxMoves + 1 {
		b.pass(2)
		b.sweep()
	}
	last := b.documents(chain[store.MaxMoves])
	if len(last) != 0 {
		t.Errorf("the last archive has a default of its own: %v", last)
	}
	// Replacing a container leaves the settings alone.
	if _, err := d.ReplaceContainer(b.ctx, "c", specOf(t, `"defaultTtl":5`), store.WriteOptions{}); err != nil || b.c.Settings().OnExpire.MoveTo != "a1" {
		t.Errorf("%v %+v", err, b.c.Settings())
	}
	if err := b.set(b.c, func(s *store.ContainerSettings) { s.OnExpire = nil }); err != nil {
		t.Fatal(err)
	}
	if err := d.DeleteContainer(b.ctx, "a1", store.WriteOptions{}); err != nil {
		t.Error(err)
	}
}

// TestArchiveMoveCrash checks that after a crash at any moment of a move each item is in exactly one of
// the two containers, and that acknowledged results are still true.
func TestArchiveMoveCrash(t *testing.T) {
	t.Parallel()
	ctx, fs := context.Background(), testdisk.NewCrashable(t)
	clock := ttl.NewManual(time.Unix(1_700_000_000, 0))
	db, err := openAt(ctx, slowly(fs), clock)
	if err != nil {
		t.Fatal(err)
	}
	d, err := db.CreateDatabase(ctx, "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	b := &testStore{t: t, ctx: ctx, clock: clock, db: db}
	if b.c, err = d.CreateContainer(ctx, specOf(t, `"defaultTtl":-1`), definition.Throughput{}); err != nil {
		t.Fatal(err)
	}
	b.container("archive", "/pk", "")
	b.moveTo(b.c, "archive")
	r := rand.New(rand.NewPCG(3, 4))
	var expected []string
	for round := range 12 {
		for i := range 10 {
			name := fmt.Sprintf("%d-%d", round, i)
			b.put(fmt.Sprintf(`{"id":"i%d","pk":"p%d","v":%q,"ttl":1}`, i%5, i/5, name)) // moves the one before
			expected = append(expected, name)
		}
		b.pass(1)
		if round%2 == 0 {
			b.sweep()
		}
		for _, unsynced := range []int{0, 50, 100} {
			wreck := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: r})
			checkMoveWreck(t, wreck, clock.Now(), expected)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func checkMoveWreck(t *testing.T, fs *testdisk.EngineStorage, now time.Time, expected []string) {
	t.Helper()
	ctx := context.Background()
	b := &testStore{t: t, ctx: ctx, clock: ttl.NewManual(now)}
	var err error
	if b.db, err = openAt(ctx, fs, b.clock); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	d, err := b.db.Database("db")
	if err != nil {
		t.Fatal(err)
	}
	archive, err := d.Container("archive")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, it := range b.documents(archive) {
		found = append(found, it.Get("v").Str)
	}
	slices.Sort(found)
	want := slices.Sorted(slices.Values(expected))
	if !slices.Equal(found, want) {
		t.Errorf("archived %v\nexpired %v", found, want)
	}
	checkClean(t, b.db)
	if err := b.db.Close(); err != nil {
		t.Error(err)
	}
}
