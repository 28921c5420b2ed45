package upgrade

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

var errCut = errors.New("cut off")

// crashingEngine is an engine that simulates a crash: all transactions after the first few fail.
type crashingEngine struct {
	engine.Engine
	left int
}

func (e *crashingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) (
	[]engine.LSNScopeStatus, error) {
	if e.left--; e.left < 0 {
		return nil, errCut
	}
	return e.Engine.Update(ctx, scopes, fn, ahead...)
}

// TestPlaceSequences checks that the upgrade from format 1 converts each sequence exactly once, at
// whatever point it is interrupted and run again.
func TestPlaceSequences(t *testing.T) {
	const writes = 2*upgradeKeys + 300 // several transactions, and numbers whose new keys are old keys of others
	e, err := pebble.Open(t.Context(), pebble.Options{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	update := func(fn func(engine.Txn) error) {
		t.Helper()
		if _, err := e.Update(t.Context(), [][]byte{host.CatalogScope()}, fn); err != nil {
			t.Fatal(err)
		}
	}
	spec, _, err := definition.ParseContainerSpec([]byte(`{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"}}`),
		false)
	if err != nil {
		t.Fatal(err)
	}
	cids := []uint32{layout.CIDBit | 2, layout.CIDBit | 3}
	for _, cid := range cids {
		update(func(txn engine.Txn) error {
			for number := range uint16(2) {
				scope := layout.RangeScope(cid, number)
				for n := uint64(1); n <= writes; n++ {
					item := layout.ItemHeader{Range: number, Sequence: layout.WriteSequence(n),
						EPK: []byte{1}}
					txn.Set(layout.AppendScopeKey(nil, scope, layout.FamilyItem, n), append(item.Append(nil),
						"{}"...))
					entry := layout.FeedEntry{RID: n, Last: layout.WriteSequence(n)}
					txn.Set(layout.AppendScopeKey(nil, scope, layout.FamilyFeed, n), entry.Append(nil))
				}
			}
			txn.Set(layout.ConfirmedKey(cid, "hook"), []byte("0:7"))
			return host.SetRecord(txn, layout.ContainerKey(1, string(rune('a'+cid&7))), record.Container{CID: cid,
				Spec: spec.AppendJSON(nil), Ranges: []record.PartitionRange{{Number: 0}, {ID: 1, Number: 1}}})
		})
	}
	runs := 0
	for cut := 1; ; cut++ {
		runs++
		err := PlaceSequences(t.Context(), &crashingEngine{e, 1 + cut%7})
		if err == nil {
			break
		}
		if !errors.Is(err, errCut) || runs > 1000 {
			t.Fatal(err)
		}
	}
	if err := PlaceSequences(t.Context(), e); err != nil { // a crash before the format is stored
		t.Fatal(err)
	}
	if t.Logf("%d runs", runs); runs < 5 {
		t.Error("it was hardly cut off")
	}
	err = e.View(t.Context(), func(r engine.Reader) error {
		for _, cid := range cids {
			for number := range uint16(2) {
				checkPlaced(t, r, layout.RangeScope(cid, number), writes)
			}
			if v, err := r.Get(layout.ConfirmedKey(cid, "hook")); err != nil || string(v) != "0:1792" {
				t.Errorf("confirmed: %s, %v", v, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkPlaced fails the test unless the items and the feed of a range have the first sequence of each LSN.
func checkPlaced(t *testing.T, r engine.Reader, scope []byte, writes uint64) {
	t.Helper()
	for n := uint64(1); n <= writes; n++ {
		want := layout.FirstOf(n)
		item, err := r.Get(layout.AppendScopeKey(nil, scope, layout.FamilyItem, n))
		if err != nil || layout.WriteSequence(binary.BigEndian.Uint64(item[4:])) != want {
			t.Fatalf("item %d: %v", n, err)
		}
		value, err := r.Get(layout.AppendSequenceKey(nil, scope, layout.FamilyFeed, want))
		if err != nil {
			t.Fatalf("change %d: %v", n, err)
		}
		if entry, err := layout.DecodeFeed(value); err != nil || entry.RID != n || entry.Last != want {
			t.Fatalf("change %d: %+v, %v", n, entry, err)
		}
	}
	it, found := r.Scan(layout.ScopeFamily(scope, layout.FamilyFeed), false), uint64(0)
	for it.Next() {
		found++
	}
	if err := it.Close(); err != nil || found != writes {
		t.Errorf("%d changes of %d, %v", found, writes, err)
	}
}

// TestPlaceSequencesRefuses checks that the upgrade from format 1 fails and changes nothing if a container
// has a tombstone (a deleted partition key). The converted LSN in the tombstone would also apply to later
// documents.
func TestPlaceSequencesRefuses(t *testing.T) {
	e, err := pebble.Open(t.Context(), pebble.Options{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	cid := layout.CIDBit | 2
	_, err = e.Update(t.Context(), [][]byte{host.CatalogScope()}, func(txn engine.Txn) error {
		txn.Set(layout.TombstoneKey(cid, "ada"), layout.Number(9))
		return host.SetRecord(txn, layout.ContainerKey(1, "c"), record.Container{CID: cid})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := PlaceSequences(t.Context(), &crashingEngine{e, 1}); !errors.Is(err, engine.ErrOlderFormat) {
		t.Error(err)
	}
}

// TestPlacePositions checks the conversion of feed positions that webhooks have confirmed: each LSN
// becomes the first sequence (LSN and position) of that LSN.
func TestPlacePositions(t *testing.T) {
	for from, want := range map[string]string{"0": "0", "12": "3072", "0:1,7:258": "0:256,7:66048"} {
		if got, err := placePositions(from); err != nil || got != want {
			t.Errorf("%s: %s, %v", from, got, err)
		}
	}
	for _, bad := range []string{"", "x", "1:", "1:2,", "1099511627776"} {
		if got, err := placePositions(bad); !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
}
