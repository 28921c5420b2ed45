package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// split splits a range at the effective partition key at, or in half if that is empty, and returns the ids
// of the two new ranges.
func (b *testStore) split(id, at string) (lower, upper string) {
	b.t.Helper()
	halves, err := b.c.Split(b.ctx, id, at)
	if err != nil || len(halves) != 2 {
		b.t.Fatalf("splitting range %s at %q: %d halves, %v", id, at, len(halves), err)
	}
	return halves[0].ID, halves[1].ID
}

// fill creates n documents with keys different partition keys.
func (b *testStore) fill(n, keys int) {
	b.t.Helper()
	for i := range n {
		body := fmt.Sprintf(`{"id":"%d","pk":"p%d","n":%d,"tie":%d,"u":%d,"l":[1,2,3]}`, i, i%keys, i, i%4, i)
		if _, _, err := b.c.Create(b.ctx, pk(fmt.Sprint("p", i%keys)), []byte(body), store.WriteOptions{}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// items returns the JSON of all items in a scope, by id.
func (b *testStore) items(scope store.KeyOrRange) map[string]string {
	b.t.Helper()
	all := map[string]string{}
	for o := (store.ListOptions{Scope: scope, MaxItems: 7}); ; {
		page, _, err := b.c.List(b.ctx, o)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, it := range page.Items {
			if _, twice := all[it.ID()]; twice {
				b.t.Errorf("%s is listed twice", it.ID())
			}
			all[it.ID()] = fmt.Sprintf("%s at %d", it.AppendJSON(nil), it.LSN())
		}
		if o.Continuation = page.Continuation; o.Continuation == "" {
			return all
		}
	}
}

func (b *testStore) rangeIDs() (ids []string) {
	for _, r := range b.c.Ranges().Ranges {
		ids = append(ids, r.ID)
	}
	return ids
}

// TestSplit checks that a split changes no item: each keeps its rid, etag, LSN and _ts.
func TestSplit(t *testing.T) {
	t.Parallel()
	for _, ranges := range []int{1, 3} {
		b := newTestStore(t, `"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`, ranges)
		b.fill(200, 50)
		before := b.items(store.KeyOrRange{})
		r := rand.New(rand.NewPCG(uint64(ranges), 0))
		for range 8 {
			set := b.c.Ranges()
			victim := set.Ranges[r.IntN(len(set.Ranges))]
			held := b.items(store.KeyOrRange{Range: victim.ID})
			lower, upper := b.split(victim.ID, "")

			after := b.c.Ranges()
			checkRanges(t, after)
			if after.ETag == set.ETag || len(after.Since(set.ETag)) != 2 || len(after.Since("")) != len(after.Ranges) || len(after.Since(after.ETag)) != 0 {
				t.Errorf("the ranges' etag went from %s to %s: %v have come since", set.ETag, after.ETag, after.Since(set.ETag))
			}
			for _, half := range after.Since(set.ETag) {
				if want := append(slices.Clone(victim.Parents), victim.ID); !slices.Equal(half.Parents, want) {
					t.Errorf("range %s has the parents %v, not %v", half.ID, half.Parents, want)
				}
				for _, s := range []struct {
					lsn uint64
					ok  bool
				}{{victim.LSN, true}, {half.LSN + 1, false}} {
					o := store.ListOptions{Scope: store.KeyOrRange{Range: half.ID},
						Session: []store.SessionTokenEntry{{Range: victim.ID, LSN: s.lsn}}}
					if _, _, err := b.c.List(b.ctx, o); s.ok && err != nil || !s.ok && !is(err, fault.CodeSessionNotAvailable) {
						t.Errorf("range %s at the position %d of its parent: %v", half.ID, s.lsn, err)
					}
				}
			}
			halves := []map[string]string{b.items(store.KeyOrRange{Range: lower}),
				b.items(store.KeyOrRange{Range: upper})}
			if n := len(halves[0]) - len(halves[1]); n < -16 || n > 16 {
				t.Errorf("the halves have %d and %d items", len(halves[0]), len(halves[1]))
			}
			for id, it := range held {
				if halves[0][id] != it && halves[1][id] != it {
					t.Errorf("%s became %q or %q", it, halves[0][id], halves[1][id])
				}
			}
			if _, _, err := b.c.List(b.ctx, store.ListOptions{
				Scope: store.KeyOrRange{Range: victim.ID}}); !is(err, fault.CodeRangeGone) {
				t.Errorf("the range that was split was read: %v", err)
			}
			if _, err := b.c.Split(b.ctx, victim.ID, ""); !is(err, fault.CodeRangeGone) {
				t.Errorf("it was split again: %v", err)
			}
			checkClean(t, b.db)
		}
		for id, it := range b.items(store.KeyOrRange{}) {
			if before[id] != it {
				t.Errorf("%s has become %s", before[id], it)
			}
			key, err := b.c.ResolveRID(b.ctx, gjson.Get(it, "_rid").String())
			if err != nil || key.ID != id {
				t.Errorf("the rid of %s leads to %s, %v", id, key.ID, err)
			}
			n, _ := strconv.Atoi(id)
			body := fmt.Appendf(nil, `{"id":"other","pk":"p%d","u":%d}`, n%50, n)
			if _, _, err := b.c.Create(b.ctx, pk(fmt.Sprint("p", n%50)), body, store.WriteOptions{}); !is(err, fault.CodeConflict) {
				t.Errorf("the unique value of %s was given again: %v", id, err)
			}
			old := uint64(0)
			fmt.Sscanf(it[strings.LastIndex(it, " ")+1:], "%d", &old)
			body = fmt.Appendf(nil, `{"id":%q,"pk":"p%d","u":%d}`, id, n%50, n)
			now, receipt, err := b.c.Replace(b.ctx, pk(fmt.Sprint("p", n%50)), id, body, store.WriteOptions{IfMatch: gjson.Get(it, "_etag").String()})
			if err != nil || now.LSN() <= old || receipt.LSN < now.LSN() || now.RID() != gjson.Get(it, "_rid").String() {
				t.Errorf("%s was replaced by LSN %d at %d, %v", it, now.LSN(), receipt.LSN, err)
			}
		}
		if u, err := b.c.Usage(b.ctx); err != nil || u.Documents != 200 {
			t.Errorf("usage is %+v, %v", u, err)
		}
		b.close()
	}
}

// checkRanges checks that the ranges cover the whole key space without gaps or overlaps, and have
// different ids.
func checkRanges(t *testing.T, set store.PartitionRanges) {
	t.Helper()
	at := ""
	ids := map[string]bool{}
	for _, r := range set.Ranges {
		if r.Min != at || ids[r.ID] || r.Min >= r.Max {
			t.Errorf("range %s is from %s to %s, behind %s", r.ID, r.Min, r.Max, at)
		}
		at, ids[r.ID] = r.Max, true
		for _, p := range r.Parents {
			ids[p] = false
			if slices.ContainsFunc(set.Ranges, func(o store.PartitionRange) bool { return o.ID == p }) {
				t.Errorf("range %s and its parent %s are both there", r.ID, p)
			}
		}
	}
	if at != "FF" {
		t.Errorf("the ranges end at %s", at)
	}
}

// TestSplitPoint checks where a range is split: at the requested key if that lies inside, and otherwise so
// that each half has half of the documents.
func TestSplitPoint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, key string }{
		{`"kind":"Hash","version":2`, `"paths":["/pk"]`}, {`"kind":"Hash","version":1`, `"paths":["/pk"]`},
		{`"kind":"MultiHash","version":2`, `"paths":["/pk","/id"]`},
	} {
		b := newTestStore(t, "", 1)
		d, err := b.db.Database("db")
		if err != nil {
			t.Fatal(err)
		}
		spec, _, err := definition.ParseContainerSpec([]byte(`{"id":"other","partitionKey":{`+c.key+`,`+c.kind+`}}`), true)
		if err != nil {
			t.Fatal(err)
		}
		if b.c, err = d.CreateContainerWith(b.ctx, spec, store.ContainerOptions{Ranges: 2}); err != nil {
			t.Fatal(err)
		}
		bounds := b.c.Ranges().Ranges
		middle := bounds[1].Min
		for _, at := range []string{"nonsense", middle, "FF", middle + strings.Repeat("00", 300)} {
			if _, err := b.c.Split(b.ctx, "1", at); !is(err, fault.CodeBadRequest) {
				t.Errorf("%s: split at %.40s: %v", c.kind, at, err)
			}
		}
		for _, id := range []string{"", "2", "x"} {
			if _, err := b.c.Split(b.ctx, id, ""); !is(err, fault.CodeRangeGone) {
				t.Errorf("split of %q: %v", id, err)
			}
		}
		// An empty range is split in its middle, which is that of a container with more ranges.
		spec.ID = "four"
		four, err := d.CreateContainerWith(b.ctx, spec, store.ContainerOptions{Ranges: 4})
		if err != nil {
			t.Fatal(err)
		}
		want := four.Ranges().Ranges[1].Min
		lower, _ := b.split("0", "")
		if got := b.c.Ranges().Ranges[1].Min; !strings.HasPrefix(got, want[:len(want)-2]) {
			t.Errorf("%s: an empty range is split at %s, not %s", c.kind, got, want)
		}
		// Between two bounds that are neighbours there is nothing.
		_, upper := b.split(lower, "05"+strings.Repeat("00", 14)+"01")
		thin, _ := b.split(upper, "05"+strings.Repeat("00", 14)+"02")
		if _, err := b.c.Split(b.ctx, thin, ""); !is(err, fault.CodeConflict) {
			t.Errorf("%s: a range without room was split: %v", c.kind, err)
		}
		checkRanges(t, b.c.Ranges())
		b.close()
	}
}

// TestSplitOfOneKey checks that a split keeps all documents of one partition key in one range.
func TestSplitOfOneKey(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	b.fill(20, 1)
	for range 12 {
		for _, id := range b.rangeIDs() {
			if n := len(b.items(store.KeyOrRange{Range: id})); n == 20 {
				b.split(id, "")
			} else if n != 0 {
				t.Fatalf("range %s has %d of 20 documents", id, n)
			}
		}
	}
	for i := range 5 {
		if _, _, err := b.c.Upsert(b.ctx, pk("second"), fmt.Appendf(nil, `{"id":"%d","pk":"second"}`, i), store.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSplitKeepsGhostsInvisible checks that expired items, and items deleted with their whole partition key,
// stay invisible after a split if they are not purged yet.
func TestSplitKeepsGhostsInvisible(t *testing.T) {
	t.Parallel()
	for _, sweepFirst := range []bool{false, true} {
		b := newTestStore(t, `"defaultTtl":-1`, 1)
		b.fill(100, 10)
		for i := range 40 {
			body := fmt.Appendf(nil, `{"id":"mortal%d","pk":"p%d","ttl":5}`, i, i%10)
			if _, _, err := b.c.Create(b.ctx, pk(fmt.Sprint("p", i%10)), body, store.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 {
			if _, err := b.c.DeletePartition(b.ctx, pk(fmt.Sprint("p", i))); err != nil {
				t.Fatal(err)
			}
		}
		b.clock.Advance(10 * time.Second)
		if sweepFirst {
			if _, err := b.db.SweepNow(b.ctx); err != nil {
				t.Fatal(err)
			}
		}
		want := b.items(store.KeyOrRange{})
		for range 4 {
			b.split(b.rangeIDs()[0], "")
		}
		if got := b.items(store.KeyOrRange{}); len(got) != 50 || len(want) != 50 {
			t.Errorf("%d items were alive, now %d", len(want), len(got))
		}
		purged, err := b.db.SweepNow(b.ctx)
		if left := map[bool]int{false: 90, true: 0}[sweepFirst]; err != nil || purged != left {
			t.Errorf("%d items were purged, not %d (%v)", purged, left, err)
		}
		if u, err := b.c.Usage(b.ctx); err != nil || u.Documents != 50 {
			t.Errorf("usage is %+v, %v", u, err)
		}
		b.close()
	}
}

// TestSplitWhileReindexing checks that a range can be split while its documents are being reindexed after a
// change of the indexing policy: DB.Check finds no damage after the split and after the rest is reindexed,
// and a query then finds all documents.
func TestSplitWhileReindexing(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	b.fill(300, 30)
	d, err := b.db.Database("db")
	if err != nil {
		t.Fatal(err)
	}
	for i, policy := range []string{metamorphic.SomePaths, metamorphic.DefaultPolicy, metamorphic.NoIndex,
		metamorphic.DefaultPolicy} {
		spec := specOf(t, `"indexingPolicy":`+metamorphic.PolicyJSON(policy))
		if _, err := d.ReplaceContainer(b.ctx, "c", spec, store.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		b.split(b.rangeIDs()[i%2], "")
		checkClean(t, b.db)
		if err := b.db.IndexNow(b.ctx); err != nil {
			t.Fatal(err)
		}
		if p := b.c.IndexProgress(); p != 100 {
			t.Errorf("after a split under %s %d %% are indexed", policy, p)
		}
		checkClean(t, b.db)
		if got, err := b.rows(store.QueryRequest{Text: "SELECT VALUE COUNT(1) FROM c WHERE c.tie = 2"}); err != nil || got != "75" {
			t.Errorf("under %s: %s, %v", policy, got, err)
		}
	}
}

// TestReadsAndWritesDuringSplit checks that concurrent writers and readers of items get correct results and
// no errors during splits.
func TestReadsAndWritesDuringSplit(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 1)
	defer b.close()
	const workers, keys = 4, 6
	var done atomic.Bool
	var splits atomic.Int64
	work := func(w int) {
		r := rand.New(rand.NewPCG(uint64(w), 0))
		counts := map[string]int{}
		etags := map[string]string{}
		var session []store.SessionTokenEntry
		for n := 0; !done.Load() || n < 100; n++ {
			id, p := fmt.Sprint(w, "-", r.IntN(20)), pk(fmt.Sprint("p", r.IntN(keys)))
			id += p.String()
			body := fmt.Appendf(nil, `{"id":%q,"pk":%s,"n":%d}`, id, strings.Trim(p.String(), "[]"), counts[id]+1)
			var it store.Item
			var receipt store.OperationReceipt
			var err error
			switch {
			case counts[id] == 0:
				it, receipt, err = b.c.Create(b.ctx, p, body, store.WriteOptions{})
			case r.IntN(2) == 0:
				it, receipt, err = b.c.Replace(b.ctx, p, id, body, store.WriteOptions{IfMatch: etags[id]})
			default:
				it, receipt, err = b.c.Upsert(b.ctx, p, body, store.WriteOptions{})
			}
			if err != nil {
				t.Errorf("write %d of %s: %v", counts[id]+1, id, err)
				return
			}
			counts[id]++
			etags[id] = it.ETag()
			session = []store.SessionTokenEntry{{Range: receipt.Range, LSN: receipt.LSN}}
			got, receipt, err := b.c.Read(b.ctx, p, id, store.ReadOptions{Session: session})
			if err != nil || string(got.Body()) != string(body) || got.ETag() != etags[id] {
				t.Errorf("%s was read as %s, %v", body, got.Body(), err)
				return
			}
			session = []store.SessionTokenEntry{{Range: receipt.Range, LSN: receipt.LSN}}
			if r.IntN(8) == 0 {
				if key, err := b.c.ResolveRID(b.ctx, got.RID()); err != nil || key.ID != id {
					t.Errorf("the rid of %s leads to %s, %v", id, key.ID, err)
				}
				page, _, err := b.c.Query(b.ctx, store.QueryRequest{Text: "SELECT VALUE c.n FROM c WHERE c.id = '" + id + "'",
					ListOptions: store.ListOptions{Scope: store.KeyOrRange{Partition: p},
						Session: session}})
				if err != nil || len(page.Rows) != 1 || string(page.Rows[0]) != fmt.Sprint(counts[id]) {
					t.Errorf("%s was found as %s, %v", body, page.Rows, err)
				}
			}
		}
	}
	counting := func() {
		for low := int64(0); !done.Load(); {
			page, _, err := b.c.Query(b.ctx, store.QueryRequest{Text: "SELECT VALUE COUNT(1) FROM c"})
			if err != nil {
				t.Error(err)
				return
			}
			n := gjson.ParseBytes(page.Rows[0]).Int()
			list := int64(len(b.items(store.KeyOrRange{})))
			if n < low || list < n {
				t.Errorf("%d items, then %d, then %d in a list", low, n, list)
				return
			}
			low = n
			if _, err := b.c.Usage(b.ctx); err != nil {
				t.Error(err)
			}
		}
	}
	sweeping := func() {
		for !done.Load() {
			if _, err := b.db.SweepNow(b.ctx); err != nil {
				t.Error(err)
			}
		}
	}
	splitting := func() {
		defer done.Store(true)
		for r := rand.New(rand.NewPCG(9, 9)); splits.Load() < 25; {
			ids := b.rangeIDs()
			if _, err := b.c.Split(b.ctx, ids[r.IntN(len(ids))], ""); err != nil {
				t.Error(err)
				return
			}
			splits.Add(1)
		}
	}
	jobs := []func(){splitting, counting, sweeping}
	for w := range workers {
		jobs = append(jobs, func() { work(w) })
	}
	all(len(jobs), func(i int) { jobs[i]() })
	checkRanges(t, b.c.Ranges())
}
