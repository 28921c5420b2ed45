package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// TestFeedPagesEndWithTransactions checks that a page of a change feed ends at the end of a transaction:
// it contains all changes of a batch, or a create together with the expiry of the item that it replaced.
func TestFeedPagesEndWithTransactions(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":10}`, 1)
	defer b.close()
	put := func(id, more string) {
		t.Helper()
		if _, _, err := b.c.Upsert(b.ctx, pk("p"), []byte(`{"id":"`+id+`","pk":"p"`+more+`}`),
			store.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	batch := func(ids string) {
		t.Helper()
		var ops []store.ItemOperation
		for _, id := range strings.Fields(ids) {
			ops = append(ops, store.ItemOperation{Kind: store.OperationUpsert,
				Body: []byte(`{"id":"` + id + `","pk":"p"}`)})
		}
		if out, _, err := b.c.Batch(b.ctx, pk("p"), ops, store.BatchOptions{Atomic: true}); err != nil ||
			out.Mixed {
			t.Fatal(out, err)
		}
	}
	sizes := func(mode store.ChangeFeedMode, limit int) (sizes []int) {
		t.Helper()
		start := store.ChangesStart{After: "0"}
		for {
			page, _, err := b.c.Changes(b.ctx, store.ChangesRequest{Mode: mode, Start: start,
				MaxItems: limit})
			if err != nil {
				t.Fatal(err)
			}
			if start.After = page.Position; len(page.Changes) == 0 {
				return sizes
			}
			sizes = append(sizes, len(page.Changes))
		}
	}
	batch("a b c")
	put("d", `,"ttl":1`)
	batch("e f")
	b.clock.Advance(time.Second)
	put("d", "")   // an expiry and a create
	batch("b a g") // b and a leave the first batch
	for _, tc := range []struct {
		mode  store.ChangeFeedMode
		limit int
		want  []int
	}{
		{store.LatestVersions, 1, []int{1, 2, 1, 3}},
		{store.LatestVersions, 2, []int{3, 4}},
		{store.LatestVersions, 100, []int{7}},
		{store.AllVersions, 1, []int{3, 1, 2, 2, 3}},
		{store.AllVersions, 4, []int{4, 4, 3}},
	} {
		if got := sizes(tc.mode, tc.limit); !slices.Equal(got, tc.want) {
			t.Errorf("mode %d, %d a page: pages of %v, want %v", tc.mode, tc.limit, got, tc.want)
		}
	}
}

// TestRetention checks the retention of the feed of all versions. A reader misses no change if its
// position is accepted, and is refused if a change after its position is older than the retention,
// regardless of purges and earlier retentions.
func TestRetention(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 7))
		minutes := int64(1)
		b := newTestStore(t, `"changeFeedPolicy":{"retentionDuration":1}`, 1)
		type change struct {
			lsn uint64
			ts  int64
		}
		var all []change
		shortest := minutes
		for range 60 {
			switch r.IntN(8) {
			case 0, 1:
				b.clock.Advance(time.Duration(r.IntN(40)) * time.Second)
			case 2:
				if _, err := b.db.SweepNow(b.ctx); err != nil {
					t.Fatal(err)
				}
			case 3:
				if seed%2 == 0 {
					break
				}
				minutes = 1 + r.Int64N(3)
				shortest = min(shortest, minutes)
				d, err := b.db.Database("db")
				if err == nil {
					_, err = d.ReplaceContainer(b.ctx, "c",
						specOf(t, fmt.Sprintf(`"changeFeedPolicy":{"retentionDuration":%d}`,
							minutes)), store.WriteOptions{})
				}
				if err != nil {
					t.Fatal(err)
				}
			default:
				it, _, err := b.c.Upsert(b.ctx, pk("p"), fmt.Appendf(nil, `{"id":"%d","pk":"p"}`, r.IntN(3)),
					store.WriteOptions{})
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, change{it.LSN(), it.Timestamp()})
			}
			for after := range uint64(len(all) + 1) {
				page, _, err := b.c.Changes(b.ctx, store.ChangesRequest{Mode: store.AllVersions,
					Start: store.ChangesStart{After: fmt.Sprint(after)}, MaxItems: -1})
				var unseen []change
				for _, ch := range all {
					if ch.lsn > after {
						unseen = append(unseen, ch)
					}
				}
				outside := len(unseen) > 0 && unseen[0].ts <= b.seconds()-60*minutes
				inside := len(unseen) == 0 || unseen[0].ts > b.seconds()-60*shortest
				switch {
				case err != nil && !is(err, fault.CodeBadRequest):
					t.Fatal(err)
				case err == nil && outside, err != nil && inside:
					t.Fatalf("seed %d: after %d of %v at %d, %d minutes: %v", seed, after, all, b.seconds(),
						minutes, err)
				case err == nil && len(page.Changes) != len(unseen):
					t.Fatalf("seed %d: after %d: %d changes, want %d", seed, after, len(page.Changes),
						len(unseen))
				}
			}
		}
		b.close()
	}
}

// TestPurgeOfLargeVersions checks that large expired items whose last versions are kept are purged in
// several transactions if they exceed the limit of one.
func TestPurgeOfLargeVersions(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	b := newTestStore(t, `"changeFeedPolicy":{"retentionDuration":10},"indexingPolicy":{"indexingMode":"none"}`,
		1)
	defer b.close()
	for i := range 9 {
		body := fmt.Appendf(nil, `{"id":"%d","pk":"p","text":"%s"}`, i, strings.Repeat("x", 1_900_000))
		if _, _, err := b.c.Create(b.ctx, pk("p"), body, store.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.c.DeletePartition(b.ctx, pk("p")); err != nil {
		t.Fatal(err)
	}
	if n, err := b.db.SweepNow(b.ctx); n != 9 || err != nil {
		t.Errorf("%d purged, %v", n, err)
	}
}

// TestFeedOfPrefix checks the change feed of a prefix of a hierarchical partition key that lies in one
// range, and of one that lies in several.
func TestFeedOfPrefix(t *testing.T) {
	t.Parallel()
	for _, ranges := range []int{1, 5} {
		b := newTestStore(t, "", ranges)
		d, err := b.db.Database("db")
		if err != nil {
			t.Fatal(err)
		}
		spec, _, err := definition.ParseContainerSpec([]byte(`{"id":"h","partitionKey":{"paths":["/t","/u"],"kind":"MultiHash","version":2},
			"changeFeedPolicy":{"retentionDuration":10}}`), true)
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.CreateContainer(b.ctx, spec, definition.Throughput{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			if _, _, err := c.Create(b.ctx, definition.PartitionKey{},
				fmt.Appendf(nil, `{"id":"%d","t":"t%d","u":%d}`, i, i%4,
					i%8), store.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, mode := range []store.ChangeFeedMode{store.LatestVersions, store.AllVersions} {
			for key, want := range map[*definition.PartitionKey]int{
				{}:                  40,
				keyed("t2"):         10,
				keyed("t2", 6.0):    5,
				keyed("t2", 5.0):    0,
				keyed("nobody"):     0,
				keyed("t2", "none"): 0,
			} {
				start, n := store.ChangesStart{After: "0"}, 0
				for {
					page, _, err := c.Changes(b.ctx,
						store.ChangesRequest{Scope: store.KeyOrRange{Partition: *key},
							Mode: mode, Start: start, MaxItems: 3})
					if err != nil {
						t.Fatal(err)
					}
					if n += len(page.Changes); len(page.Changes) == 0 {
						break
					}
					start.After = page.Position
				}
				if n != want {
					t.Errorf("%d ranges, mode %d, %s: %d changes, want %d", ranges, mode, key, n, want)
				}
			}
		}
		b.close()
	}
}

func keyed(values ...any) *definition.PartitionKey {
	var list []jsondoc.Value
	for _, v := range values {
		switch v := v.(type) {
		case string:
			list = append(list, jsondoc.StringValue(v))
		case float64:
			list = append(list, jsondoc.NumberValue(v))
		}
	}
	k := definition.NewPartitionKey(list...)
	return &k
}
