package view_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/store/internal/viewtest"
	"github.com/mayflydb/mayfly/ttl"
)

// TestEntries checks the keys of an item besides its own: one for point reads, one for its partition key,
// one for each unique key, and one in the expiry index unless the item never expires.
func TestEntries(t *testing.T) {
	for own, family := range map[ttl.Seconds]byte{
		ttl.Absent: layout.FamilyWritten, 60: layout.FamilyDeadline, ttl.Never: 0,
	} {
		c := viewtest.New(t, 3600)
		item := c.Put(`{"id":"1","pk":"a","code":7}`, 10, own)
		if item.ID != "1" || !bytes.Equal(item.PK, c.State.Keys.PartitionOf(item.Body)) {
			t.Fatalf("%+v", item)
		}
		count := map[byte]int{}
		for _, e := range c.Entries(&item) {
			at := 4 // behind the number of the container, for families that have no range
			if bytes.HasPrefix(e.Key, c.Scope()) {
				at = layout.ScopeLen
			}
			count[e.Key[at]]++
		}
		want := map[byte]int{layout.FamilyPoint: 1, layout.FamilyPartition: 1, layout.FamilyUnique: 1}
		if family != 0 {
			want[family] = 1
		}
		for f := range want {
			if count[f] != want[f] || len(count) != len(want) {
				t.Errorf("own %d: %v, want %v", own, count, want)
			}
		}
	}
}

// TestRanges checks that RangeOf returns the last range that begins at or before an effective partition
// key.
func TestRanges(t *testing.T) {
	s := view.ContainerAtTime{Ranges: []view.PartitionRange{{ID: "0", Max: []byte{8}},
		{ID: "1", Min: []byte{8}, Max: []byte{9}},
		{ID: "2", Min: []byte{9}}}}
	for epk, want := range map[string]string{
		"": "0", "\x07\xff": "0", "\x08": "1", "\x08\xff": "1", "\x09": "2", "\xff": "2",
	} {
		r := s.RangeOf([]byte(epk))
		if r.ID != want || !r.Holds([]byte(epk)) {
			t.Errorf("%x is in range %s, want %s", epk, r.ID, want)
		}
		for i := range s.Ranges {
			if other := &s.Ranges[i]; other.ID != want && other.Holds([]byte(epk)) {
				t.Errorf("range %s holds %x, too", other.ID, epk)
			}
		}
	}
}

// TestPartitionTombstone checks that the tombstone of a deleted partition key hides the items of that key
// with an LSN up to the tombstone's, and no other items.
func TestPartitionTombstone(t *testing.T) {
	c := viewtest.New(t, ttl.Absent)
	before := c.Put(`{"id":"1","pk":"a","code":1}`, 10, ttl.Absent)
	other := c.Put(`{"id":"2","pk":"b","code":2}`, 10, ttl.Absent)
	after := c.Put(`{"id":"3","pk":"a","code":3}`, 10, ttl.Absent)
	c.State.Tombstones = map[string]uint64{
		layout.TombstoneName(before.Head.EPK, before.PK): before.Head.Sequence.LSN(),
	}
	for _, w := range []struct {
		item view.DecodedItem
		want bool
	}{{before, true}, {other, false}, {after, false}} {
		if got := c.State.Tombstoned(w.item.Head, func() []byte { return w.item.PK }); got != w.want {
			t.Errorf("item %s: %v", w.item.ID, got)
		}
	}
}

// TestDecode checks that Decode reports a value that is not an item as corrupt.
func TestDecode(t *testing.T) {
	c := viewtest.New(t, ttl.Absent)
	if _, err := c.State.Keys.Decode(1, []byte("short")); !errors.Is(err, engine.ErrCorrupt) {
		t.Error(err)
	}
}
