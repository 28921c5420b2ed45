package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
)

// changes reads a change feed from a position to its end. It returns a short text for each change, and the
// position at the end.
func (b *testStore) changes(mode store.ChangeFeedMode, from string) (words []string, end string) {
	b.t.Helper()
	req := store.ChangesRequest{Mode: mode, Start: store.ChangesStart{After: from}, MaxItems: -1}
	for {
		page, _, err := b.c.Changes(b.ctx, req)
		if err != nil {
			b.t.Fatal(err)
		}
		if req.Start.After = page.Position; len(page.Changes) == 0 {
			return words, page.Position
		}
		for _, ch := range page.Changes {
			id := ch.Key.ID
			if ch.Kind != store.ChangeDelete && ch.Kind != store.ChangeExpire {
				id = ch.Item.ID()
			}
			word := ch.Kind.String() + " " + id
			meta := jsondoc.Of(ch.AppendSeparately(nil)).Member("metadata")
			if meta.Member("timeToLiveExpired").Kind() != jsondoc.Undefined {
				word += " expired"
			}
			words = append(words, word)
		}
	}
}

func (b *testStore) showed(row string, got []string, want ...string) {
	b.t.Helper()
	if !slices.Equal(got, want) {
		b.t.Errorf("%s: %q, want %q", row, got, want)
	}
}

// TestTTLLatestFeed checks that the feed of latest versions does not return an item from the second of its
// expiry on, whether it is purged or not, and that it contains no deletes.
func TestTTLLatestFeed(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":5`, 1)
	defer b.close()
	b.put(`{"id":"a","pk":"x"}`, `{"id":"b","pk":"x","ttl":-1}`, `{"id":"c","pk":"x","ttl":3}`)
	b.clock.Advance(2 * time.Second)
	got, end := b.changes(store.LatestVersions, "")
	b.showed("before", got, "latest a", "latest b", "latest c")
	b.clock.Advance(time.Second)
	got, _ = b.changes(store.LatestVersions, "")
	b.showed("the ttl of c", got, "latest a", "latest b")
	b.clock.Advance(2 * time.Second)
	for _, row := range []string{"the default of a", "after the purge"} {
		got, _ = b.changes(store.LatestVersions, "")
		b.showed(row, got, "latest b")
		got, _ = b.changes(store.LatestVersions, end)
		b.showed(row+", from then on", got)
		if _, err := b.db.SweepNow(b.ctx); err != nil {
			t.Fatal(err)
		}
	}
	// The documented way to hear of a death: a write that says so, and a ttl.
	b.put(`{"id":"b","pk":"x","deleted":true,"ttl":4}`)
	got, _ = b.changes(store.LatestVersions, end)
	b.showed("a soft delete", got, "latest b")
	b.clock.Advance(4 * time.Second)
	got, _ = b.changes(store.LatestVersions, "")
	b.showed("after a soft delete", got)
}

// TestTTLAllVersionsFeed checks that the feed of all versions contains an expiry once, when the item is
// purged, as a delete that is marked as an expiry. If an item is created with the id of an expired item, the
// expired one is purged first, so its expiry precedes the create in the feed.
func TestTTLAllVersionsFeed(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":5,"changeFeedPolicy":{"retentionDuration":10}`, 1)
	defer b.close()
	b.put(`{"id":"a","pk":"x"}`, `{"id":"b","pk":"x"}`, `{"id":"c","pk":"x","ttl":-1}`)
	got, at := b.changes(store.AllVersions, "0")
	b.showed("creates", got, "create a", "create b", "create c")
	b.clock.Advance(4 * time.Second)
	b.put(`{"id":"b","pk":"x","ttl":2}`)
	got, at = b.changes(store.AllVersions, at)
	b.showed("a replace", got, "replace b")
	b.clock.Advance(2 * time.Second)
	got, at = b.changes(store.AllVersions, at)
	b.showed("expired, not purged", got)
	if _, _, err := b.c.Create(b.ctx, pk("x"), []byte(`{"id":"a","pk":"x"}`),
		store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	page, _, err := b.c.Changes(b.ctx, store.ChangesRequest{Mode: store.AllVersions,
		Start: store.ChangesStart{After: at}, MaxItems: 1})
	if err != nil || len(page.Changes) != 2 {
		t.Errorf("an expiry and the create in its place are not one transaction: %d changes, %v",
			len(page.Changes), err)
	}
	got, at = b.changes(store.AllVersions, at)
	b.showed("a create over a ghost", got, "delete a expired", "create a")
	for _, row := range [][]string{{"delete b expired"}, nil} {
		if _, err := b.db.SweepNow(b.ctx); err != nil {
			t.Fatal(err)
		}
		got, at = b.changes(store.AllVersions, at)
		b.showed("a purge", got, row...)
	}
	if _, err := b.c.Delete(b.ctx, pk("x"), "c", store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	got, _ = b.changes(store.AllVersions, at)
	b.showed("a delete", got, "delete c")
}

// TestTTLExpiryMetadata checks what an expiry in the feed of all versions contains: the key, the LSN of
// the expired version and, with Options.TTLPreviousImage, that version.
func TestTTLExpiryMetadata(t *testing.T) {
	t.Parallel()
	for _, keeps := range []bool{false, true} {
		b := newBenchWith(t, testdisk.New(t), `"defaultTtl":5,"changeFeedPolicy":{"retentionDuration":10}`,
			store.Options{Ranges: 1, ManualReaper: true, TTLPreviousImage: keeps})
		it, _, err := b.c.Create(b.ctx, pk("x"), []byte(`{"id":"a","pk":"x","n":1}`), store.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b.clock.Advance(9 * time.Second)
		if _, err := b.db.SweepNow(b.ctx); err != nil {
			t.Fatal(err)
		}
		page, _, err := b.c.Changes(b.ctx, store.ChangesRequest{Mode: store.AllVersions,
			Start: store.ChangesStart{After: "0"}})
		if err != nil || len(page.Changes) != 2 {
			t.Fatal(page.Changes, err)
		}
		v := jsondoc.Of(page.Changes[1].AppendSeparately(nil))
		meta := v.Member("metadata")
		for name, want := range map[string]string{"operationType": `"delete"`, "timeToLiveExpired": "true",
			"id": `"a"`, "partitionKey": `{"pk":"x"}`, "crts": "1700000009"} {
			if got := string(meta.Member(name).Raw()); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		if uint64(meta.Member("previousImageLSN").Num()) != it.LSN() ||
			uint64(meta.Member("lsn").Num()) <= it.LSN() {
			t.Errorf("LSNs: %s, the item had %d", meta.Raw(), it.LSN())
		}
		if string(v.Member("current").Raw()) != "{}" ||
			(v.Member("previous").Member("n").Kind() == jsondoc.Number) != keeps {
			t.Errorf("previous images %v: %s", keeps, v.Raw())
		}
		b.close()
	}
}
