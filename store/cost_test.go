package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// TestCharges compares charges with the published figures of Cosmos DB for a document of 1 KB: a read 1
// RU, a create 5 to 7 RU, a replace about twice as much, a delete as much as a create. It also checks that
// charges grow with the size and the index entries, and are otherwise constant.
func TestCharges(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	pk := definition.NewPartitionKey(jsondoc.StringValue("a"))
	item := func(id string, fields, size int) []byte {
		var s strings.Builder
		fmt.Fprintf(&s, `{"id":%q,"pk":"a"`, id)
		for i := range fields {
			fmt.Fprintf(&s, `,"f%d":%d`, i, i)
		}
		fmt.Fprintf(&s, `,"pad":%q}`, strings.Repeat("x", size-s.Len()-10))
		return []byte(s.String())
	}
	create := func(id string, fields, size int) float64 {
		t.Helper()
		_, r, err := b.c.Create(b.ctx, pk, item(id, fields, size), store.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Charge
	}
	small := create("small", 10, 1024)
	if small < 5 || small > 7 {
		t.Errorf("a create of 1 KB costs %v", small)
	}
	if again := create("other", 10, 1024); again != small {
		t.Errorf("the same create costs %v, then %v", small, again)
	}
	if plain := create("plain", 0, 1024); plain >= small {
		t.Errorf("ten properties fewer cost %v, not less than %v", plain, small)
	}
	medium, large := create("medium", 10, 10*1024), create("large", 10, 100*1024)
	if medium < small+4 || medium > small+4.2 {
		t.Errorf("a create of 10 KB costs %v", medium)
	}
	if large < 48 || large > 52 {
		t.Errorf("a create of 100 KB costs %v", large)
	}
	_, r, err := b.c.Read(b.ctx, pk, "small", store.ReadOptions{})
	if err != nil || r.Charge != 1 {
		t.Errorf("a read of 1 KB costs %v (%v)", r.Charge, err)
	}
	_, r, err = b.c.Replace(b.ctx, pk, "small", item("small", 10, 1024), store.WriteOptions{})
	if err != nil || r.Charge < 1.9*small || r.Charge > 2.1*small {
		t.Errorf("a replace costs %v, the create cost %v (%v)", r.Charge, small, err)
	}
	r, err = b.c.Delete(b.ctx, pk, "small", store.WriteOptions{})
	if err != nil || r.Charge != small {
		t.Errorf("a delete costs %v, the create cost %v (%v)", r.Charge, small, err)
	}
}
