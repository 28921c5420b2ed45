package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// pagedQueries are queries whose results are read in several pages. by is the property by which the rows
// are ordered; "": in no order.
var pagedQueries = []struct {
	text, by   string
	descending bool
}{
	{"SELECT c.id FROM c", "", false},
	{"SELECT c.id FROM c WHERE c.n >= 10", "", false},
	{"SELECT c.id, l FROM c JOIN l IN c.l", "", false},
	{"SELECT c.id, c.n FROM c ORDER BY c.n", "n", false},
	{"SELECT c.id, c.n FROM c ORDER BY c.n DESC", "n", true},
	{"SELECT c.id, c.tie AS n FROM c ORDER BY c.tie", "n", false},
	{"SELECT c.id, c.tie AS n FROM c ORDER BY c.tie DESC", "n", true},
	{"SELECT c.id, c.tie AS n, l FROM c JOIN l IN c.l ORDER BY c.tie", "n", false},
	{"SELECT c.id, c.some AS n FROM c ORDER BY c.some", "n", false}, // half have none
	{"SELECT c.id, c.some AS n FROM c ORDER BY c.some DESC", "n", true},
	{"SELECT c.id, c.long AS n FROM c ORDER BY c.long", "n", false}, // too long for a continuation
	{"SELECT c.id, c.long AS n FROM c ORDER BY c.long DESC", "n", true},
	{"SELECT c.id, c.tie AS n FROM c ORDER BY c.tie, c.n DESC", "n", false},
	{"SELECT c.id, c.tie + 0 AS n FROM c WHERE c.n < 70 ORDER BY c.tie", "n", false},
	{"SELECT DISTINCT c.some AS n FROM c ORDER BY c.some", "n", false},
	{"SELECT DISTINCT c.n % 30 AS n FROM c", "", false},
	{"SELECT DISTINCT l, c.tie FROM c JOIN l IN c.l OFFSET 2 LIMIT 9", "", false},
	{"SELECT DISTINCT * FROM c", "", false},
	{"SELECT TOP 60 c.id FROM c", "", false},
	{"SELECT c.id, c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 70", "n", false},
}

func newPagingBench(t *testing.T, ranges int) *testStore {
	b := newQueryBench(t, store.Options{Ranges: ranges}, false,
		`"indexingPolicy":{"compositeIndexes":[[{"path":"/tie"},{"path":"/n","order":"descending"}]]}`)
	long := strings.Repeat("long ", 80)
	for i := range 90 {
		some := ""
		if i%2 == 0 {
			some = fmt.Sprintf(`"some":%d,`, i%6)
		}
		b.put(fmt.Sprintf(`{"id":"%d","pk":"p%d","n":%d,"tie":%d,%s"long":"%s%d","l":[1,2,3]}`, i, i%23,
			(i*37)%90, i%4, some, long, i%9))
	}
	return b
}

// page returns one page of a query with at most n rows, and the continuation for the next page.
func (b *testStore) page(text string, scope store.KeyOrRange, n int,
	token string) (rows []string, next string) {
	b.t.Helper()
	q := store.QueryRequest{Text: text}
	q.Scope, q.MaxItems, q.Continuation = scope, n, token
	page, _, err := b.c.Query(b.ctx, q)
	if err != nil {
		b.t.Fatalf("%s in %+v: %v", text, scope, err)
	}
	if len(page.Continuation) > 1024 {
		b.t.Errorf("%s: a continuation of %d bytes", text, len(page.Continuation))
	}
	for _, row := range page.Rows {
		rows = append(rows, string(row))
	}
	return rows, page.Continuation
}

// splitRandom splits a random range of the container.
func (b *testStore) splitRandom(r *rand.Rand) {
	b.t.Helper()
	ids := b.rangeIDs()
	b.split(ids[r.IntN(len(ids))], "")
}

// sameRows checks that got has the same rows as want, and if by is not empty that they are ordered by this
// property.
func sameRows(t *testing.T, what string, got, want []string, by string, descending bool) {
	t.Helper()
	for i := 1; i < len(got) && by != ""; i++ {
		a, b := gjson.Get(got[i-1], by), gjson.Get(got[i], by)
		if descending {
			a, b = b, a
		}
		if b.Less(a, true) && (a.Exists() || b.Exists()) {
			t.Errorf("%s: %s comes before %s", what, got[i-1], got[i])
		}
	}
	got, want = slices.Clone(got), slices.Clone(want)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: %d rows, not %d", what, len(got), len(want))
		for _, row := range got {
			if n := count(got, row); n != count(want, row) {
				t.Logf("%d times, not %d: %s", n, count(want, row), row)
			}
		}
		for _, row := range want {
			if !slices.Contains(got, row) {
				t.Logf("missing: %s", row)
			}
		}
	}
}

func count(list []string, s string) (n int) {
	for _, e := range list {
		if e == s {
			n++
		}
	}
	return n
}

// TestPagesAcrossSplits checks queries over the whole container with splits between their pages.
func TestPagesAcrossSplits(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 0))
		b := newPagingBench(t, 1+int(seed%3))
		for _, q := range pagedQueries {
			want, _ := b.page(q.text, store.KeyOrRange{}, 1000, "")
			var got []string
			for token, pages := "", 0; token != "" || pages == 0; pages++ {
				var rows []string
				rows, token = b.page(q.text, store.KeyOrRange{}, 1+r.IntN(20), token)
				if got = append(got, rows...); r.IntN(4) == 0 && len(b.rangeIDs()) < 24 {
					b.splitRandom(r)
				}
			}
			if strings.Contains(q.text, "TOP") { // any will do
				if slices.Sort(got); len(slices.Compact(got)) != 60 {
					t.Errorf("%s: %d different rows", q.text, len(got))
				}
				continue
			}
			sameRows(t, fmt.Sprintf("seed %d: %s", seed, q.text), got, want, q.by, q.descending)
		}
		b.close()
	}
}

// TestRangeContinuationAfterSplit checks that a query over one range can continue in each of the halves, with
// its continuation from before the split.
func TestRangeContinuationAfterSplit(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	for seed := range uint64(racetest.Campaign(8, 4)) {
		r := rand.New(rand.NewPCG(seed, 1))
		for _, q := range pagedQueries {
			if strings.Contains(q.text, "TOP") || strings.Contains(q.text, "OFFSET") ||
				strings.Contains(q.text, "DISTINCT") {
				continue // it is for the client to count, and to compare
			}
			b := newPagingBench(t, 1+int(seed%2))
			parent := b.rangeIDs()[int(seed%2)]
			want, _ := b.page(q.text, store.KeyOrRange{Range: parent}, 1000, "")
			given, token := b.page(q.text, store.KeyOrRange{Range: parent}, 1+r.IntN(len(want)/2),
				"")
			given = append(given, b.continueQuery(q.text, parent, token, q.by, q.descending, r, 3)...)
			sameRows(t, fmt.Sprintf("seed %d: %s", seed, q.text), given, want, "", false)
			b.close()
		}
	}
}

// continueQuery splits a range and continues a query in both halves from token. It reads to the end if
// depth is 1. Otherwise it reads until a page has rows, and repeats this with a split of the half.
func (b *testStore) continueQuery(text, id, token, by string, descending bool, r *rand.Rand,
	depth int) (given []string) {
	b.t.Helper()
	lower, upper := b.split(id, "")
	for _, half := range []string{lower, upper} {
		scope := store.KeyOrRange{Range: half}
		if r.IntN(2) == 0 { // some clients name the bounds, too
			set := b.c.Ranges().Ranges
			g := set[slices.IndexFunc(set, func(g store.PartitionRange) bool { return g.ID == half })]
			scope.MinEPK, scope.MaxEPK = g.Min, g.Max
		}
		var rows []string
		for next := token; next != "" && (depth == 1 || len(rows) == 0); {
			var more []string
			more, next = b.page(text, scope, 1+r.IntN(6), next)
			if rows = append(rows, more...); next != "" && depth > 1 {
				given = append(given, b.continueQuery(text, half, next, by, descending, r, depth-1)...)
			}
		}
		sameRows(b.t, text+", one half", rows, rows, by, descending)
		given = append(given, rows...)
	}
	return given
}

// TestListsAcrossSplits lists the items of a container page by page, over all ranges and range by range, and
// splits ranges between the pages. It checks that each item is listed exactly once.
func TestListsAcrossSplits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 2))
		b := newPagingBench(t, 1+int(seed%3))
		seen := map[string]int{}
		page := func(scope store.KeyOrRange, token string) string {
			p, _, err := b.c.List(b.ctx, store.ListOptions{Scope: scope, MaxItems: 1 + r.IntN(9),
				Continuation: token})
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range p.Items {
				seen[it.ID()]++
			}
			return p.Continuation
		}
		for token := page(store.KeyOrRange{},
			""); token != ""; token = page(store.KeyOrRange{},
			token) {
			if r.IntN(3) == 0 && len(b.rangeIDs()) < 16 {
				b.splitRandom(r)
			}
		}
		for i := range 90 {
			if n := seen[fmt.Sprint(i)]; n != 1 {
				t.Errorf("seed %d: %d was listed %d times", seed, i, n)
			}
		}
		clear(seen)
		for _, id := range b.rangeIDs() {
			token := page(store.KeyOrRange{Range: id}, "")
			if token == "" {
				continue
			}
			lower, upper := b.split(id, "")
			for _, half := range []string{lower, upper} {
				for next := page(store.KeyOrRange{Range: half},
					token); next != ""; next = page(store.KeyOrRange{Range: half}, next) {
				}
			}
		}
		for i := range 90 {
			if n := seen[fmt.Sprint(i)]; n != 1 {
				t.Errorf("seed %d: %d was listed %d times by ranges", seed, i, n)
			}
		}
		b.close()
	}
}

// TestForeignContinuationOfARange checks that a continuation is refused for a range to which it does not
// belong.
func TestForeignContinuationOfARange(t *testing.T) {
	t.Parallel()
	b := newPagingBench(t, 3)
	defer b.close()
	ids := b.rangeIDs()
	for _, text := range []string{"SELECT * FROM c", "SELECT * FROM c ORDER BY c.n"} {
		_, token := b.page(text, store.KeyOrRange{Range: ids[1]}, 2, "")
		lower, _ := b.split(ids[1], "")
		_, narrow := b.page(text, store.KeyOrRange{Range: lower}, 2, token)
		for _, c := range []struct {
			token string
			scope store.KeyOrRange
		}{{token, store.KeyOrRange{Range: ids[0]}}, {token,
			store.KeyOrRange{Range: ids[2]}}, {token,
			store.KeyOrRange{}}, {token, store.KeyOrRange{MinEPK: "01"}}, {
			narrow, store.KeyOrRange{Range: b.rangeIDs()[2]}}} {
			q := store.QueryRequest{Text: text}
			q.Scope, q.Continuation = c.scope, c.token
			if _, _, err := b.c.Query(b.ctx, q); !is(err, fault.CodeBadRequest) {
				t.Errorf("%s: a continuation of range %s was taken for %+v: %v", text, ids[1], c.scope, err)
			}
		}
		ids[1] = b.rangeIDs()[1]
	}
}
