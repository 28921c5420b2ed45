package store

import (
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/transaction"
)

// TestCheckFeeds damages the keys of change feeds in several ways, and checks that DB.Check reports each
// damage.
func TestCheckFeeds(t *testing.T) {
	t.Parallel()
	key := func(scope []byte, family byte, lsn uint64) []byte {
		return layout.AppendSequenceKey(nil, scope, family, layout.FirstOf(lsn))
	}
	read := func(txn engine.Txn, key []byte) []byte {
		v, err := txn.Get(key)
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte(nil), v...)
	}
	// The container holds a (created at 1, replaced at 2) and b (created at 3); c was created at 4 and
	// deleted at 5.
	for name, damage := range map[string]func(txn engine.Txn, scope []byte){
		"an item without a feed entry": func(txn engine.Txn,
			scope []byte) {
			txn.Delete(key(scope, layout.FamilyFeed, 2))
		},
		"a feed entry without an item": func(txn engine.Txn, scope []byte) {
			txn.Set(key(scope, layout.FamilyFeed, 1), read(txn, key(scope, layout.FamilyFeed, 2)))
		},
		"a feed entry of another item": func(txn engine.Txn, scope []byte) {
			txn.Set(key(scope, layout.FamilyFeed, 2), read(txn, key(scope, layout.FamilyFeed, 3)))
		},
		"a malformed feed entry": func(txn engine.Txn, scope []byte) {
			txn.Set(key(scope, layout.FamilyFeed, 9), []byte("x"))
		},
		"an item without its version": func(txn engine.Txn, scope []byte) {
			txn.Delete(key(scope, layout.FamilyVersions, 3))
		},
		"a version before is missing": func(txn engine.Txn, scope []byte) {
			txn.Delete(key(scope, layout.FamilyVersions, 1))
		},
		"a version of another item": func(txn engine.Txn, scope []byte) {
			txn.Set(key(scope, layout.FamilyVersions, 2), read(txn, key(scope, layout.FamilyVersions, 3)))
		},
		"a version above the ceiling": func(txn engine.Txn, scope []byte) {
			txn.Set(key(scope, layout.FamilyVersions, 1<<30), read(txn, key(scope, layout.FamilyVersions, 3)))
		},
		"a version before its time": func(txn engine.Txn, scope []byte) {
			v := read(txn, key(scope, layout.FamilyVersions, 4))
			v[27]++ // the lowest byte of its second
			txn.Set(key(scope, layout.FamilyVersions, 4), v)
		},
		"a floor in the middle": func(txn engine.Txn, scope []byte) {
			transaction.SetFloor(txn, scope, layout.FirstOf(3),
				1_800_000_000)
		},
		"a malformed version": func(txn engine.Txn, scope []byte) {
			txn.Set(key(scope, layout.FamilyVersions, 9), []byte("x"))
		},
		"a version without body": func(txn engine.Txn, scope []byte) {
			v := read(txn, key(scope, layout.FamilyVersions, 5))
			v[1] = byte(ChangeCreate)
			txn.Set(key(scope, layout.FamilyVersions, 5), v)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newIndexRig(t, 0, 1, false, `{"indexingMode":"none"}`)
			g.spec.ID, g.spec.ChangeFeed = "kept", &definition.ChangeFeedPolicy{RetentionMinutes: 10}
			c, err := g.d.CreateContainer(t.Context(), g.spec, definition.Throughput{})
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"a", "a", "b", "c"} {
				if _, _, err := c.Upsert(t.Context(), definition.PartitionKey{},
					[]byte(`{"id":"`+id+`","pk":"p"}`), WriteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			body := []byte(`{"pk":"p"}`)
			if _, err := c.Delete(t.Context(), c.def.Extract(body), "c", WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			faults := func() (n int) {
				if err := g.db.Check(t.Context(), func(error) bool { n++; return true }); err != nil {
					t.Fatal(err)
				}
				return n
			}
			if n := faults(); n != 0 {
				t.Fatalf("%d faults before any", n)
			}
			scope := c.state.Load().Ranges[0].Scope
			if _, err := g.db.live().eng.Update(t.Context(), [][]byte{scope},
				func(txn engine.Txn) error { damage(txn, scope); return nil }); err != nil {
				t.Fatal(err)
			}
			if faults() == 0 {
				t.Error("nothing is found")
			}
			if err := g.db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
