package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// TestCeiling checks the setting TTLCeiling: every kind of write limits the ttl of a document to the
// container's default TTL, and existing documents do not change.
func TestCeiling(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":50`, 1)
	defer b.close()
	b.put(`{"id":"old","pk":"p","ttl":1000}`)
	if err := b.set(b.c, func(s *store.ContainerSettings) { s.TTLCeiling = true }); err != nil {
		t.Fatal(err)
	}
	if _, err := b.c.Resources(store.KindStoredProcedure).Create(b.ctx,
		[]byte(`{"id":"write","body":"function () {`+
			` __.createDocument(__.getSelfLink(), {id: 'procedure', pk: 'p', ttl: 51}, function (err) { if (err) throw err; }); }"}`)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.c.Execute(b.ctx, pk("p"), "write", nil, store.ProcedureExecutionOptions{}); err != nil {
		t.Fatal(err)
	}
	patch, err := jsondoc.ParsePatch([]byte(`[{"op":"set","path":"/ttl","value":-1}]`))
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := b.c.Batch(b.ctx, pk("p"), []store.ItemOperation{
		{Kind: store.OperationCreate,
			Body: []byte(`{"id":"batch","pk":"p","ttl":2147483647,"a":{"ttl":99}}`)},
		{Kind: store.OperationCreate, Body: []byte(`{"id":"patch","pk":"p"}`)},
		{Kind: store.OperationPatch, ID: "patch", Patch: &store.Patch{Operations: patch}},
		{Kind: store.OperationUpsert, Body: []byte(`{"ttl":6e1,"id":"first","pk":"p"}`)},
		{Kind: store.OperationUpsert, Body: []byte(`{"ttl":50.0,"id":"equal","pk":"p"}`)},
	}, store.BatchOptions{Atomic: true})
	if err != nil || out.Mixed {
		t.Fatal(err, codes(out))
	}
	for i, want := range []string{`{"id":"batch","pk":"p","ttl":50,"a":{"ttl":99}}`, "",
		`{"id":"patch","pk":"p","ttl":50}`, `{"ttl":50,"id":"first","pk":"p"}`,
		`{"ttl":50,"id":"equal","pk":"p"}`} {
		if got := string(out.Results[i].Item.Body()); want != "" && got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	b.expect("SELECT VALUE COUNT(1) FROM c WHERE c.ttl = 50", "5")
	b.pass(49)
	b.expect("SELECT VALUE COUNT(1) FROM c", "6")
	b.pass(1)
	b.expect("SELECT VALUE c.id FROM c", `"old"`)
	// Off and -1 are no bound.
	for _, def := range []string{"-1", "null"} {
		b.setDefault(def)
		b.put(`{"id":"free","pk":"p","ttl":1000}`)
		b.expect("SELECT VALUE c.ttl FROM c WHERE c.id = 'free'", "1000")
	}
	byTTL := b.container("by-ttl", "/ttl", "")
	if err := b.set(byTTL, func(s *store.ContainerSettings) { s.TTLCeiling = true }); !is(err,
		fault.CodeBadRequest) {
		t.Errorf("ttl in the partition key: %v", err)
	}
}

// TestSettingsAreKept checks that the settings of a container survive restarts, and end with the
// container.
func TestSettingsAreKept(t *testing.T) {
	t.Parallel()
	fs, clock := testdisk.NewCrashable(t), ttl.NewManual(time.Unix(1_700_000_000, 0))
	db, err := openAt(t.Context(), fs, clock)
	if err != nil {
		t.Fatal(err)
	}
	b := &testStore{t: t, ctx: t.Context(), clock: clock, db: db}
	d, err := db.CreateDatabase(b.ctx, "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	if b.c, err = d.CreateContainer(b.ctx, specOf(t, ""), definition.Throughput{}); err != nil {
		t.Fatal(err)
	}
	b.container("archive", "/pk", "")
	b.moveTo(b.c, "archive")
	if err := b.set(b.c, func(s *store.ContainerSettings) {
		s.TTLCeiling, s.AutoDeleteOnIdle = true,
			1000
	}); err != nil {
		t.Fatal(err)
	}
	// What a function that fails has made of its copy is nothing.
	if _, err := b.c.ChangeSettings(b.ctx, func(s *store.ContainerSettings) error {
		s.OnExpire.MoveTo = "elsewhere"
		return fmt.Errorf("no")
	}); err == nil {
		t.Error("the error is lost")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if b.db, err = openAt(b.ctx, fs, clock); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if d, err = b.db.Database("db"); err == nil {
		b.c, err = d.Container("c")
	}
	if err != nil {
		t.Fatal(err)
	}
	if s := b.c.Settings(); s.OnExpire == nil || s.OnExpire.MoveTo != "archive" || !s.TTLCeiling ||
		s.AutoDeleteOnIdle != 1000 {
		t.Errorf("%+v", s)
	}
	if err := d.DeleteContainer(b.ctx, "c", store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if b.c, err = d.CreateContainer(b.ctx, specOf(t, ""), definition.Throughput{}); err != nil ||
		!b.c.Settings().IsZero() {
		t.Errorf("%v: a new container has %+v", err, b.c.Settings())
	}
}

// TestArchiveMovesBesideOperations runs all kinds of operations concurrently on two containers, one the
// archive of the other, created in either order. It checks that no deadlock occurs and no item is lost.
func TestArchiveMovesBesideOperations(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{false, true} {
		b := newTestStore(t, `"defaultTtl":-1`, 2)
		source, archive := b.c, b.container("other", "/pk", `"defaultTtl":-1`)
		if first { // the archive is the older one
			source, archive = archive, source
		}
		b.moveTo(source, archive.ID())
		d, err := b.db.Database("db")
		if err != nil {
			t.Fatal(err)
		}
		const rounds = 40
		must := func(err error, but ...fault.Code) {
			for _, code := range but {
				if is(err, code) {
					return
				}
			}
			if err != nil {
				t.Error(err)
			}
		}
		var wg sync.WaitGroup
		for w := range 2 {
			wg.Go(func() { // each of its documents dies before the next one of its id comes
				for i := range rounds {
					body := fmt.Appendf(nil, `{"id":"i%d","pk":"w%d","v":%d,"ttl":1}`, i%3, w, i)
					_, _, err := source.Create(b.ctx, pk(fmt.Sprint("w", w)), body, store.WriteOptions{})
					must(err)
					b.pass(1)
				}
			})
		}
		wg.Go(func() {
			for range rounds {
				_, err := b.db.SweepNow(b.ctx)
				must(err)
			}
		})
		wg.Go(func() {
			for i := range rounds {
				_, _, err := archive.Upsert(b.ctx, pk("w0"),
					fmt.Appendf(nil, `{"id":"mine","pk":"w0","v":%d}`, i), store.WriteOptions{})
				must(err)
			}
		})
		wg.Go(func() {
			for i := range rounds / 4 {
				spec := archive.Info().Spec
				spec.DefaultTTL = []ttl.Seconds{ttl.Absent, ttl.Never}[i%2]
				_, err := d.ReplaceContainer(b.ctx, archive.ID(), spec, store.WriteOptions{})
				must(err)
				must(b.set(source, func(s *store.ContainerSettings) { s.TTLCeiling = i%2 == 0 }))
				if ranges := []*store.Container{source, archive}[i%2].Ranges().Ranges; len(ranges) < 5 {
					_, err = []*store.Container{source, archive}[i%2].Split(b.ctx, ranges[0].ID, "")
					must(err, fault.CodeConflict)
				}
			}
		})
		wg.Wait()
		b.pass(2)
		b.sweep()
		if n := len(b.documents(archive)); n != 2*rounds+1 {
			t.Errorf("%d documents in the archive", n)
		}
		if n := len(b.documents(source)); n != 0 {
			t.Errorf("%d documents left", n)
		}
		b.close()
	}
}
