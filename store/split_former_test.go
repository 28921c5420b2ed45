package store

import (
	"bytes"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// A split of a former version that a crash has left half removed is finished by Open: the lower half's slot
// has still what has moved.
func TestFormerSplitIsFinished(t *testing.T) {
	disk := vfs.NewMem()
	open := func() *DB {
		e, err := pebble.Open(t.Context(), pebble.Options{Dir: "data", FS: disk, Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		db, err := Open(t.Context(), e, Options{Clock: ttl.NewManual(time.Unix(1_700_000_000, 0)), ManualReaper: true})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open()
	d, err := db.CreateDatabase(t.Context(), "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	spec := definition.ContainerSpec{ID: "c", PartitionKey: definition.PartitionKeyDefinition{Paths: []string{"/pk"}, Kind: "Hash", Version: 2}, DefaultTTL: 1000,
		ChangeFeed: &definition.ChangeFeedPolicy{RetentionMinutes: 10}}
	c, err := d.CreateContainer(t.Context(), spec, definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 700 {
		putNumber(t, c, i, i)
	}
	if _, err := c.Split(t.Context(), "0", ""); err != nil {
		t.Fatal(err)
	}
	st := *c.state.Load()
	lower, upper := st.ranges[0], st.ranges[1]
	var copies []entry
	for _, family := range []byte{layout.FamilyItem, layout.FamilyFeed, layout.FamilyVersions, layout.FamilyWritten, layout.FamilyTerms} {
		for _, e := range keysOf(t, db, layout.SlotFamily(upper.scope, family)) {
			e.key = append(bytes.Clone(lower.scope), e.key[layout.ScopeLen:]...)
			copies = append(copies, e)
		}
	}
	st.rec.Split = &splitRecord{From: lower.number, To: upper.number, Switched: true}
	_, err = db.live().eng.Update(t.Context(), [][]byte{lower.scope}, func(txn engine.Txn) error {
		for _, e := range copies {
			txn.Set(e.key, e.value)
		}
		return nil
	})
	if err == nil {
		err = c.setContainer(t.Context(), st.rec)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open()
	if d, err = db.Database("db"); err == nil {
		c, err = d.Container("c")
	}
	if err != nil || c.state.Load().rec.Split != nil {
		t.Fatal("the split is not finished", err)
	}
	soundAfterSplit(t, db, c, 700)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func keysOf(t *testing.T, db *DB, rg engine.Range) (all []entry) {
	t.Helper()
	err := db.live().eng.View(t.Context(), func(r engine.Reader) error {
		it := r.Scan(rg, false)
		for it.Next() {
			all = append(all, entry{bytes.Clone(it.Key()), bytes.Clone(it.Value())})
		}
		return it.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
