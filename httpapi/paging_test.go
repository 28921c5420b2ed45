package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// fill creates n items with the ids 0 to n-1. Their partition keys are key0, key1 and so on, in turn. keys is
// the number of different partition keys.
func (w *serverUnderTest) fill(n, keys int) {
	w.t.Helper()
	for i := range n {
		w.do("POST", docs, fmt.Sprintf(`{"id":"%d","pk":"key%d","even":%t}`, i, i%keys, i%2 == 0)).want(201)
	}
}

func TestItemPaging(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.fill(20, 2)
	all := make([]string, 20)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	list := func(size string, headers ...string) []string {
		return w.pages("Documents", "GET", docs, "", append(headers, "x-ms-max-item-count", size)...)
	}
	query := func(text, size string, headers ...string) []string {
		return w.pages("Documents", "POST", docs, `{"query":"`+text+`"}`,
			queryHeaders(append(headers, "x-ms-max-item-count", size)...)...)
	}
	// A page that is full carries a continuation even if nothing follows.
	for _, f := range []struct {
		name  string
		pages []string
		want  int
	}{
		{"list 20 by 5", list("5"), 5},
		{"list 20 by 6", list("6"), 4},
		{"list 20 by 20", list("20"), 2},
		{"list 20 by 100", list("100"), 1},
		{"list 20 as many as fit", list("-1"), 1},
		{"query 20 by 5", query("SELECT * FROM c", "5"), 5},
		{"query 20 by 21", query("SELECT * FROM c", "21"), 1},
	} {
		if got := strings.Fields(strings.Join(f.pages, " ")); len(f.pages) != f.want ||
			!slices.Equal(got, all) {
			t.Errorf("%s: %d pages of %v", f.name, len(f.pages), got)
		}
	}
	if pages := list("5", pk(`["key1"]`)...); len(pages) != 2 || pages[0] != "1 3 5 7 9" {
		t.Errorf("one key: %q", pages)
	}
	if pages := query("SELECT * FROM c WHERE c.even = true", "3"); len(pages) != 4 || pages[3] != "18" {
		t.Errorf("filtered: %q", pages)
	}
	// Rows that are deleted or added between two pages disturb nothing.
	a := w.do("GET", docs, "", "x-ms-max-item-count", "5").want(200)
	for _, id := range []string{"4", "5"} {
		w.do("DELETE", docs+"/"+id, "", pk(fmt.Sprintf(`["key%d"]`, id[0]%2))...).want(204)
	}
	if got := w.do("GET", docs, "", "x-ms-max-item-count", "3", "x-ms-continuation",
		a.header.Get("X-Ms-Continuation")).ids("Documents"); got != "6 7 8" {
		t.Errorf("after deletions: %s", got)
	}
	for _, bad := range []string{"x", "AAAA", "5", a.header.Get("X-Ms-Continuation") + "x"} {
		w.do("GET", docs, "", "x-ms-continuation", bad).fails(400, 0, "Invalid Continuation Token")
		w.do("POST", docs, `{"query":"SELECT * FROM c"}`,
			queryHeaders("x-ms-continuation", bad)...).fails(400, 0, "Invalid Continuation Token")
	}
	w.do("GET", docs, "", "x-ms-continuation", "").want(200).has("_count", "18")
	w.do("POST", docs, `{"query":"SELECT TOP 0 * FROM c"}`,
		queryHeaders(append(pk(`["p"]`), "x-ms-max-item-count", "0")...)...).want(200).has("_count", "0")
	for _, bad := range []string{"0", "-2", "x", "1.5", "2147483648"} {
		w.do("GET", docs, "", "x-ms-max-item-count", bad).fails(400, 0, "")
	}
}

func TestDefaultPage(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.fill(101, 1)
	if pages := w.pages("Documents", "GET", docs, ""); len(pages) != 2 || pages[1] != "100" {
		t.Errorf("%d pages, the last %q", len(pages), pages[len(pages)-1])
	}
}

func TestListScopes(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(4))
	w.container("")
	w.fill(40, 20)
	seen := 0
	var halves []string
	for _, r := range w.do("GET", coll+"/pkranges", "").want(200).at("PartitionKeyRanges").Array() {
		id, lo, hi := r.Get("id").Str, r.Get("minInclusive").Str, r.Get("maxExclusive").Str
		byRange := w.do("GET", docs, "", "x-ms-documentdb-partitionkeyrangeid",
			id).want(200).head("x-ms-documentdb-partitionkeyrangeid", id).ids("Documents")
		byEPK := w.do("GET", docs, "", "x-ms-start-epk", lo, "x-ms-end-epk", hi, "x-ms-read-key-type",
			"EffectivePartitionKeyRange").want(200).ids("Documents")
		byQuery := w.do("POST", docs, `{"query":"SELECT * FROM c"}`,
			queryHeaders("x-ms-documentdb-partitionkeyrangeid", "AAAAAAAAAAA=,"+id)...).want(200).ids(
			"Documents")
		if byRange != byEPK || byRange != byQuery {
			t.Errorf("range %s: %q by id, %q by EPK, %q by query", id, byRange, byEPK, byQuery)
		}
		seen += len(strings.Fields(byRange))
		if id == "1" {
			mid := lo[:1] + "8"
			for _, cut := range [][2]string{{lo, mid}, {mid, hi}} {
				halves = append(halves, strings.Fields(w.do("GET", docs, "",
					"x-ms-documentdb-partitionkeyrangeid", id,
					"x-ms-start-epk", cut[0], "x-ms-end-epk", cut[1]).want(200).ids("Documents"))...)
			}
			if len(halves) != len(strings.Fields(byRange)) {
				t.Errorf("halves of range 1: %v, together %s", halves, byRange)
			}
		}
	}
	if seen != 40 {
		t.Errorf("the ranges hold %d items", seen)
	}
	all := strings.Fields(strings.Join(w.pages("Documents", "GET", docs, "", "x-ms-max-item-count", "7"),
		" "))
	slices.Sort(all)
	if len(slices.Compact(all)) != 40 {
		t.Errorf("all pages: %v", all)
	}
	w.do("GET", docs, "", "x-ms-documentdb-partitionkeyrangeid", "9").fails(410, 1002, "")
	w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders("x-ms-documentdb-partitionkeyrangeid",
		"9")...).fails(410, 1002, "")
	for _, empty := range [][2]string{{"30", "10"}, {"20", "20"}, {"FF", "FF"}, {"FF", ""}} {
		w.do("GET", docs, "", "x-ms-start-epk", empty[0], "x-ms-end-epk", empty[1]).want(200).has("_count",
			"0")
	}
	w.do("GET", docs, "", "x-ms-start-epk", "xyz").fails(400, 0, "")
}

func TestItemQueries(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	c := w.container("")
	w.fill(6, 2)
	post := func(body string, headers ...string) *testResponse {
		t.Helper()
		return w.do("POST", docs, body, queryHeaders(headers...)...)
	}
	post(`{"query":"SELECT * FROM c"}`).want(200).has("_rid", c.at("_rid").Raw).has("_count",
		"6").has("Documents.0._self", w.do("GET", docs, "").at("Documents.0._self").Raw)
	if got := post(`{"query":"select * from docs c where c.pk = @k and c.even = false","parameters":[{"name":"@k","value":"key1"}]}`).want(200).ids("Documents"); got != "1 3 5" {
		t.Errorf("with parameters: %s", got)
	}
	post(`{"query":"SELECT * FROM c WHERE c.even = true"}`, pk(`["key1"]`)...).want(200).has("_count",
		"0").has("Documents", "[]")
	// Go says x-ms-documentdb-query, the content type alone will do, and so will raw text.
	w.do("POST", docs, `{"query":"SELECT * FROM c"}`, "x-ms-documentdb-query", "True", "Content-Type",
		"application/query+json", crossing, "true").want(200)
	w.do("POST", docs, `{"query":"SELECT * FROM c"}`, "Content-Type", "application/query+json", crossing,
		"TRUE").want(200)
	w.do("POST", docs, `SELECT * FROM c`, "Content-Type", "application/sql", crossing,
		"true").want(200).has("_count", "6")
	w.do("POST", docs, `{"query":"SELECT * FROM c"}`, "x-ms-documentdb-isquery", "true", "Content-Type",
		"text/plain", crossing, "true").want(200)

	// Without a key and without leave to go over all of them there is nowhere to look.
	w.do("POST", docs, `{"query":"SELECT * FROM c"}`, "x-ms-documentdb-isquery", "true").fails(400, 0,
		"Cross partition query is required but disabled.")
	post(`{"query":"SELECT * FROM c"}`, crossing, "False").fails(400, 0,
		"Cross partition query is required but disabled.")
	post(`{"query":"SELECT * FROM c"}`, append(pk(`["key1"]`), crossing, "false")...).want(200).has("_count",
		"3")
	post(`{"query":"SELECT * FROM c"}`, crossing, "false", "x-ms-documentdb-partitionkeyrangeid",
		"0").want(200)
	post(`{"query":"SELECT * FROM c"}`, crossing, "maybe").fails(400, 0, "")

	post(`{"query":"SELECT * FORM c"}`).
		fails(400, 0, `{"errors":[{"severity":"Error","location":{"start":9,"end":13},"code":"SC1001","message":"Syntax error, incorrect syntax near 'FORM'."}]}`)
	// a parameter that is not given is undefined
	post(`{"query":"SELECT * FROM c WHERE c.a = @x"}`).want(200).has("_count", "0")
	post(`{"query":"SELECT * FROM c WHERE c.a = @x","parameters":[{"name":"@x","value":1},{"name":"@x","value":2}]}`).
		fails(400, 0, "Invalid query. Specified duplicate parameter name '@x'.")
	for _, bad := range []string{``, `[]`, `{}`, `{"query":null}`, `{"query":"SELECT"}`,
		`{"query":"SELECT * FROM c","parameters":7}`} {
		post(bad).fails(400, 0, "")
	}
}
