package bench

import (
	"fmt"
	"testing"

	raw "github.com/cockroachdb/pebble/v2"
	"github.com/google/go-cmp/cmp"
)

// TestDeleteMissing checks that deleteMissing deletes from one folder exactly the keys that the other
// folder does not have.
func TestDeleteMissing(t *testing.T) {
	fill := func(dir string, keys ...string) {
		t.Helper()
		db, err := newRaw(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			if err := db.Set([]byte(k), []byte("in "+dir), raw.NoSync); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var all, kept, want []string
	for i := range 5000 {
		k := fmt.Sprintf("key %05d", i)
		all = append(all, k)
		if i%7 == 3 {
			kept, want = append(kept, k), append(want, k)
		}
	}
	dir, other := t.TempDir(), t.TempDir()
	fill(dir, all...)
	fill(other, append(kept, "a key before", "key 00000 and more", "the last key")...)
	if err := deleteMissing(dir, other); err != nil {
		t.Fatal(err)
	}
	db, err := openRaw(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	it, err := db.NewIter(&raw.IterOptions{LowerBound: []byte("a")}) // above what an empty store holds
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for it.First(); it.Valid(); it.Next() {
		got = append(got, string(it.Key()))
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
