package store

import (
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// TestFolderWithUnusedTTLPath opens a data folder of a release that stored ttlPropertyPath without
// using it. It checks that items then expire by the property, and that items that had expired before stay
// expired.
func TestFolderWithUnusedTTLPath(t *testing.T) {
	t.Parallel()
	disk, clock := testdisk.NewCrashable(t), ttl.NewManual(time.Unix(1_000_000, 0))
	open := func() (*DB, *Container) {
		t.Helper()
		e, err := disk.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		db, err := Open(t.Context(), e, Options{Clock: clock, ManualReaper: true})
		if err != nil {
			t.Fatal(err)
		}
		d, err := db.Database("d")
		if err != nil {
			if d, err = db.CreateDatabase(t.Context(), "d", definition.Throughput{}); err == nil {
				_, err = d.CreateContainer(t.Context(), definition.ContainerSpec{ID: "c", DefaultTTL: 10,
					PartitionKey: definition.PartitionKeyDefinition{Paths: []string{"/id"}, Version: 2}},
					definition.Throughput{})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.Container("c")
		if err != nil {
			t.Fatal(err)
		}
		return db, c
	}
	db, c := open()
	for _, body := range []string{`{"id":"dead","base":1000100}`, `{"id":"later","base":1000100}`,
		`{"id":"over","base":1}`, `{"id":"plain"}`} {
		if body[7] != 'd' {
			clock.Set(time.Unix(1_000_005, 0))
		}
		_, _, err := c.Create(t.Context(), definition.PartitionKey{}, []byte(body), WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	clock.Set(time.Unix(1_000_010, 0))
	_, err := c.ds.eng.Update(t.Context(), [][]byte{host.CatalogScope()}, func(txn engine.Txn) error {
		st := c.state.Load()
		rec, spec := st.Rec, st.Spec
		spec.TTLPropertyPath = "/base"
		rec.Spec = spec.AppendJSON(nil)
		return host.SetRecord(txn, layout.ContainerKey(c.d.rec.Num, c.name), rec)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		db, c = open()
		for id, alive := range map[string]bool{"dead": false, "later": true, "over": false, "plain": true} {
			pk, err := c.def.FullKey(definition.PartitionKey{}, id)
			if err == nil {
				_, _, err = c.Read(t.Context(), pk, id, ReadOptions{})
			}
			if (err == nil) != alive {
				t.Errorf("%s: %v", id, err)
			}
		}
		if err := db.IndexNow(t.Context()); err != nil {
			t.Error(err)
		}
		rec := c.state.Load().Rec
		if rec.Basis != "/base" || len(rec.Eras) != 0 || c.Info().Spec.TTLPropertyPath != "/base" {
			t.Errorf("the record is %+v", rec)
		}
		if err := db.Check(t.Context(), func(err error) bool { t.Error(err); return true }); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
