package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// gatewayResultPage is one page of a list or query over several partition ranges: the ids of its documents,
// the range that has them, and the continuation token.
type gatewayResultPage struct {
	ids   []string
	of    string
	token string
}

// gatewayPages reads all pages of a query, or of the list of items if text is empty. It calls then, unless
// that is nil, after each page.
func (w *serverUnderTest) gatewayPages(text string, size int, then func(page int),
	headers ...string) (pages []gatewayResultPage) {
	w.t.Helper()
	for token := ""; token != "" || len(pages) == 0; {
		h := append(headers[:len(headers):len(headers)], "x-ms-max-item-count", fmt.Sprint(size),
			"x-ms-continuation", token)
		a := w.do("GET", docs, "", h...)
		if text != "" {
			a = w.do("POST", docs, queryBody(text, ""), queryHeaders(h...)...)
		}
		token = a.want(200).header.Get("X-Ms-Continuation")
		pages = append(pages, gatewayResultPage{strings.Fields(a.ids("Documents")),
			a.header.Get("X-Ms-Documentdb-Partitionkeyrangeid"), token})
		if len(pages) > 200 {
			w.t.Fatalf("%q: paging does not end: %s", text, token)
		}
		if then != nil {
			then(len(pages))
		}
	}
	return pages
}

func idsOf(pages []gatewayResultPage) (ids []string) {
	for _, p := range pages {
		ids = append(ids, p.ids...)
	}
	return ids
}

// inRange returns the ids of the items of a partition range, in the range's order.
func (w *serverUnderTest) inRange(id string) []string {
	w.t.Helper()
	return strings.Fields(strings.Join(w.pages("Documents", "GET", docs, "",
		"x-ms-documentdb-partitionkeyrangeid", id), " "))
}

// TestPagesOfOneRange checks that each page of a list or query over several ranges has items of one range
// only, even if it is not full, and that its continuation token names the range of the next page.
func TestPagesOfOneRange(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(3))
	w.container("")
	w.fill(20, 7)
	bounds := w.do("GET", coll+"/pkranges", "").want(200).at("PartitionKeyRanges").Array()
	for _, text := range []string{"", "SELECT * FROM c"} {
		var want []string
		for _, size := range []int{1, 3, 100} {
			pages := w.gatewayPages(text, size, nil)
			want = nil
			n := 0
			for i, r := range bounds {
				ids := w.inRange(r.Get("id").Str)
				want = append(want, ids...)
				n += len(ids)/size + 1
				if size == 100 && (pages[i].of != r.Get("id").Str || !slices.Equal(pages[i].ids, ids)) {
					t.Errorf("%q: page %d is %+v, want %v of range %s", text, i, pages[i], ids, r.Get("id"))
				}
			}
			if got := idsOf(pages); !slices.Equal(got, want) || len(pages) != n {
				t.Errorf("%q by %d: %v in %d pages, want %v in %d", text, size, got, len(pages), want, n)
			}
		}
		second := gjson.Get(w.gatewayPages(text, 100, nil)[0].token, "range").Raw
		if want := fmt.Sprintf(`{"min":%s,"max":%s}`, bounds[1].Get("minInclusive").Raw,
			bounds[1].Get("maxExclusive").Raw); second != want {
			t.Errorf("%q: the second page is of %s, want %s", text, second, want)
		}
	}
}

// TestFullPages checks when a full page has a continuation token: always if all items of a range are read;
// only if another row follows if the query has a WHERE condition or is limited to a logical partition.
func TestFullPages(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.fill(12, 2)
	for _, text := range []string{"", "SELECT * FROM c", "SELECT * FROM c WHERE c.id != '12'"} {
		for size, want := range map[int][2]int{1: {13, 6}, 2: {7, 3}, 3: {5, 2}, 4: {4, 2}, 6: {3, 1},
			7: {2, 1}} {
			if strings.Contains(text, "WHERE") {
				want[0] = (12 + size - 1) / size
			}
			if n := len(w.gatewayPages(text, size, nil)); n != want[0] {
				t.Errorf("%q by %d over all: %d pages, want %d", text, size, n, want[0])
			}
			if n := len(w.gatewayPages(text, size, nil, pk(`["key1"]`)...)); n != want[1] {
				t.Errorf("%q by %d in one partition: %d pages, want %d", text, size, n, want[1])
			}
		}
	}
}

// TestPagesByPartitionKeyCondition checks that a query with conditions on the partition key reads only the
// ranges that these keys can be in.
func TestPagesByPartitionKeyCondition(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(8))
	w.container("")
	w.fill(40, 10)
	where := map[string]string{}
	for _, r := range w.do("GET", coll+"/pkranges", "").want(200).at("PartitionKeyRanges.#.id").Array() {
		for _, id := range w.inRange(r.Str) {
			where[id] = r.Str
		}
	}
	for _, keys := range [][]string{{"0"}, {"3"}, {"0", "1", "2", "3"}, {"5", "nobody"}, {"nobody"}} {
		of := map[string]bool{}
		rows := 0
		for _, k := range keys {
			if k != "nobody" {
				of[where[k]] = true
				rows += 4
			}
		}
		text := `SELECT * FROM c WHERE c.pk IN ("key` + strings.Join(keys, `", "key`) + `")`
		pages := w.gatewayPages(text, 100, nil)
		for _, p := range pages {
			if len(p.ids) > 0 && !of[p.of] || len(p.ids) == 0 && len(keys) == 1 && rows > 0 {
				t.Errorf("%s: a page %+v", text, p)
			}
		}
		if got := idsOf(pages); len(got) != rows || len(pages) > max(len(of)+1, 1) {
			t.Errorf("%s: %v in %d pages", text, got, len(pages))
		}
	}
}

// TestPagesOfAnEmptyRange checks that a range without items still has a page, which is empty.
func TestPagesOfAnEmptyRange(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(2))
	w.container("")
	w.fill(4, 1)
	for _, text := range []string{"", "SELECT * FROM c"} {
		if pages := w.gatewayPages(text, 100, nil); len(pages) != 2 || len(idsOf(pages)) != 4 {
			t.Errorf("%q: %+v", text, pages)
		}
	}
}

// TestGatewayPagesAcrossSplits checks that a list or query that was begun before ranges were split
// continues after the splits without repeating or omitting rows.
func TestGatewayPagesAcrossSplits(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "SELECT * FROM c",
		`SELECT * FROM c WHERE c.pk IN ("key1", "key4", "key7", "key9")`} {
		for _, at := range [][]int{{1}, {2}, {1, 2}, {1, 2, 3}, {1, 3, 5}, {2, 9}} {
			w := newServerUnderTest(t, ranges(2))
			w.container("")
			w.fill(60, 11)
			want := idsOf(w.gatewayPages(text, 100, nil))
			lists := 0
			pages := w.gatewayPages(text, 2, func(page int) {
				if slices.Contains(at, page) {
					rows := w.do("GET", coll+"/pkranges", "").want(200).at("PartitionKeyRanges").Array()
					w.do("POST", "/_mayfly"+coll+"/split", `{"range":"`+rows[0].Get("id").Str+`"}`).want(200)
				}
			})
			for _, p := range pages {
				if strings.HasPrefix(p.token, "[") {
					lists++
				}
			}
			got := idsOf(pages)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || lists == 0 && text != "" && at[0] == 1 &&
				strings.HasSuffix(text, "c") {
				t.Errorf("%q, split at %v: %d lists\ngot  %v\nwant %v", text, at, lists, got, want)
			}
		}
	}
}

// TestGatewayTokenRefused checks that continuation tokens that the gateway has not issued are refused.
func TestGatewayTokenRefused(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(3))
	w.container("")
	w.fill(20, 7)
	for _, text := range []string{"", "SELECT * FROM c"} {
		token := w.gatewayPages(text, 1, nil)[0].token
		inner := gjson.Get(token, "token").Str
		for _, bad := range []string{
			inner, "{}", "[]", "null", "{", `{"token":null}`, `{"token":null,"range":null}`, `{"token":"x","range":{"min":"","max":"FF"}}`,
			`{"token":7,"range":{"min":"","max":"FF"}}`, `{"token":"","range":{"min":"x","max":"FF"}}`,
			`{"token":"","range":{"min":"3","max":"FF"}}`, `{"token":"","range":{"min":"20","max":"10"}}`,
			`[` + token + `,` + token + `]`, token + token, `{"token":"` + inner +
				`","range":{"min":"3F","max":"FF"}}`,
		} {
			a := w.do("GET", docs, "", "x-ms-continuation", bad)
			if text != "" {
				a = w.ask(docs, text, "x-ms-continuation", bad)
			}
			a.fails(400, 0, "Invalid Continuation Token")
		}
		// A token that is null is the beginning of its range.
		bounds := w.do("GET", coll+"/pkranges", "").want(200).at("PartitionKeyRanges").Array()
		last := fmt.Sprintf(`{"token":null,"range":{"min":%s,"max":"FF"}}`, bounds[2].Get("minInclusive").Raw)
		a := w.do("GET", docs, "", "x-ms-continuation", last)
		if text != "" {
			a = w.ask(docs, text, "x-ms-continuation", last)
		}
		if got := strings.Fields(a.want(200).head("x-ms-continuation", "").ids("Documents")); !slices.Equal(
			got, w.inRange("2")) {
			t.Errorf("%q: %v", text, got)
		}
	}
}
