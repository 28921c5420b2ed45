package httpapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
)

const splitPath = "/_mayfly/dbs/d/colls/c/split"

func rangeHeader(id string, more ...string) []string {
	return append([]string{"x-ms-documentdb-partitionkeyrangeid", id}, more...)
}

// TestRangesOfAContainer checks the number of ranges of a new container: from the request's header, else
// from the operator's option, else from its throughput.
func TestRangesOfAContainer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		operator int
		headers  []string
		want     string
	}{
		{0, nil, "0"},
		{3, nil, "0 1 2"},
		{3, []string{"x-mayfly-ranges", "2"}, "0 1"},
		{3, []string{"x-mayfly-ranges", "1", "x-ms-offer-throughput", "25100"}, "0"},
		{0, []string{"x-mayfly-ranges", "6", "x-ms-cosmos-offer-autopilot-settings",
			`{"maxThroughput":4000}`}, "0 1 2 3 4 5"},
		{0, []string{"x-ms-offer-throughput", "25100"}, "0 1 2 3 4"},
	} {
		w := newServerUnderTest(t, ranges(c.operator))
		w.container("", c.headers...)
		if got := w.do("GET", coll+"/pkranges", "").want(200).ids("PartitionKeyRanges"); got != c.want {
			t.Errorf("%d asked for by the operator, %v: ranges %s, want %s", c.operator, c.headers, got,
				c.want)
		}
		for _, bad := range []string{"0", "-1", "x", "1.5", "4097", "99999999999"} {
			w.do("POST", colls, `{"id":"bad","partitionKey":{"paths":["/pk"]}}`, "x-mayfly-ranges",
				bad).fails(400, 0, "")
		}
	}
}

// TestSplitOverHTTP checks what a client sees when a range is split: 410 for the old range, the new
// ranges with their parents, and its continuation tokens, which stay valid for the new ranges.
func TestSplitOverHTTP(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.fill(40, 20)
	incremental := []string{"A-IM", "Incremental feed", "x-ms-max-item-count", "-1"}
	known := w.do("GET", coll+"/pkranges", "", incremental...).want(200).header.Get("Etag")
	w.do("GET", coll+"/pkranges", "", append(incremental, "If-None-Match", known)...).want(304)

	order := `{"query":"SELECT * FROM c ORDER BY c.even"}`
	list := w.do("GET", docs, "", rangeHeader("0", "x-ms-max-item-count", "7")...).want(200)
	query := w.do("POST", docs, order,
		queryHeaders(rangeHeader("0", "x-ms-max-item-count", "7")...)...).want(200)
	feed := w.do("GET", docs, "", rangeHeader("0", "A-IM", "Incremental feed", "x-ms-max-item-count",
		"7")...).want(200)
	session := w.do("GET", docs+"/0", "", pk(`["key0"]`)...).want(200).header.Get("X-Ms-Session-Token")
	etag := w.do("GET", docs+"/0", "", pk(`["key0"]`)...).at("_etag").Str

	halves := w.do("POST", splitPath, `{"range":"0"}`).want(200).has("_count", "2")
	if halves.ids("PartitionKeyRanges") != "1 2" {
		t.Fatalf("halves %s", halves.body)
	}
	w.do("GET", docs, "", rangeHeader("0")...).fails(410, 1002, "")
	w.do("POST", docs, order, queryHeaders(rangeHeader("0")...)...).fails(410, 1002, "")
	w.do("GET", docs, "", rangeHeader("0", "A-IM", "Incremental feed")...).fails(410, 1002, "")
	w.do("POST", splitPath, `{"range":"0"}`).fails(410, 1002, "")

	fresh := w.do("GET", coll+"/pkranges", "", append(incremental, "If-None-Match", known)...).want(200)
	fresh.has("PartitionKeyRanges.#.parents", `[["0"],["0"]]`).has("PartitionKeyRanges.0.minInclusive",
		`""`).has("PartitionKeyRanges.1.maxExclusive", `"FF"`)
	if fresh.at("PartitionKeyRanges.0.maxExclusive").Str != fresh.at(
		"PartitionKeyRanges.1.minInclusive").Str {
		t.Errorf("the halves do not meet: %s", fresh.body)
	}
	now := fresh.header.Get("Etag")
	w.do("GET", coll+"/pkranges", "", append(incremental, "If-None-Match", now)...).want(304)

	w.do("GET", docs+"/0", "",
		append(pk(`["key0"]`), "x-ms-session-token", session)...).want(200).has("_etag", jsonString(etag))
	w.do("PUT", docs+"/0", `{"id":"0","pk":"key0","even":true}`,
		append(pk(`["key0"]`), "If-Match", etag, "x-ms-session-token", session)...).want(200)
	w.do("GET", docs, "", rangeHeader("1", "x-ms-session-token", "0:-1#99999999999")...).fails(404, 1002, "")

	all := make([]string, 40)
	for i := range all {
		all[i] = strconv.Itoa(i)
	}
	slices.Sort(all)
	check := func(what string, pages ...string) {
		t.Helper()
		got := strings.Fields(strings.Join(pages, " "))
		if slices.Sort(got); !slices.Equal(got, all) {
			t.Errorf("%s: %d items: %v", what, len(got), got)
		}
	}
	rest := func(method, path, body string, first *testResponse,
		headers func(more ...string) []string) []string {
		given := []string{first.ids("Documents")}
		for _, half := range []string{"1", "2"} {
			for token := first.header.Get("X-Ms-Continuation"); token != ""; {
				a := w.do(method, path, body,
					headers(rangeHeader(half, "x-ms-max-item-count", "3", "x-ms-continuation",
						token)...)...).want(200)
				given, token = append(given, a.ids("Documents")), a.header.Get("X-Ms-Continuation")
			}
		}
		return given
	}
	check("a list", rest("GET", docs, "", list, func(more ...string) []string { return more })...)
	check("a query", rest("POST", docs, order, query, queryHeaders)...)

	// The change feed: item 0 was changed after the first page, so that it comes a second time.
	given := []string{feed.ids("Documents")}
	for _, half := range []string{"1", "2"} {
		for position := feed.header.Get("Etag"); ; {
			a := w.do("GET", docs, "", rangeHeader(half, "A-IM", "Incremental feed", "x-ms-max-item-count",
				"4", "If-None-Match", position)...)
			if a.code == 304 {
				break
			}
			given, position = append(given, a.want(200).ids("Documents")), a.header.Get("Etag")
		}
	}
	given[0] = strings.TrimPrefix(given[0], "0 ")
	check("the change feed", given...)
}

func TestSplitRefusals(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(2))
	w.container("")
	for body, text := range map[string]string{
		``: "", `[]`: "", `{}`: "'range'", `{"range":0}`: "'range'", `{"range":"0","at":5}`: "'at'", `{"range":"0","at":"x"}`: "at",
		`{"range":"0","at":"3F"}`: "does not lie", `{"range":"1","at":"FF"}`: "does not lie", `{"range":"0","where":"1F"}`: "'where'",
	} {
		w.do("POST", splitPath, body).fails(400, 0, text)
	}
	w.do("POST", splitPath, `{"range":"7"}`).fails(410, 1002, "")
	w.do("GET", splitPath, "").fails(405, 0, "")
	w.do("POST", "/_mayfly/dbs/d/colls/nope/split", `{"range":"0"}`).fails(404, 1003, "")
	w.do("POST", "/_mayfly/dbs/nope/colls/c/split", `{"range":"0"}`).fails(404, 1003, "")
	w.do("POST", "/_mayfly/dbs/d/colls/c/splits", `{"range":"0"}`).fails(404, 0, "")
	w.do("POST", "/_mayfly/dbs/d/split", `{"range":"0"}`).fails(404, 0, "")
	w.do("POST", splitPath, `{"range":"0"}`, "Authorization",
		"type%3dmaster%26ver%3d1.0%26sig%3dAAAA").fails(401, 0, "")

	// Ids may hold anything, escaped.
	w.do("POST", "/dbs", `{"id":"a b"}`).want(201)
	w.do("POST", "/dbs/a%20b/colls", `{"id":"c+é","partitionKey":{"paths":["/pk"]}}`).want(201)
	w.do("POST", "/_mayfly/dbs/a%20b/colls/c+%C3%A9/split",
		`{"range":"1","at":"2f"}`).want(200).has("PartitionKeyRanges.1.minInclusive", `"2F"`)
}

// TestPrefixAndIntervalRequests checks requests for a part of a container: a prefix of a hierarchical
// partition key, or an interval of effective partition keys (hashes), with a range id and without, for
// different numbers of ranges.
func TestPrefixAndIntervalRequests(t *testing.T) {
	t.Parallel()
	def := definition.PartitionKeyDefinition{Kind: definition.KindMultiHash, Version: 2,
		Paths: []string{"/a", "/b", "/c"}}
	epk := func(values ...string) string {
		var list []jsondoc.Value
		for _, v := range values {
			list = append(list, jsondoc.StringValue(v))
		}
		return strings.ToUpper(fmt.Sprintf("%x", definition.EPK(&def, definition.NewPartitionKey(list...))))
	}
	for _, n := range []int{1, 5} {
		w := newServerUnderTest(t, ranges(n))
		w.container(`"partitionKey":{"paths":["/a","/b","/c"],"kind":"MultiHash","version":2}`)
		ids := map[string][]string{} // by prefix
		var epks []string
		for i := range 60 {
			a, b, c := fmt.Sprint("a", i%3), fmt.Sprint("b", i%6), fmt.Sprint("c", i%30)
			w.do("POST", docs, fmt.Sprintf(`{"id":"%d","a":%q,"b":%q,"c":%q}`, i, a, b, c)).want(201)
			for _, prefix := range []string{a, a + b, a + b + c} {
				ids[prefix] = append(ids[prefix], strconv.Itoa(i))
			}
			epks = append(epks, epk(a, b, c))
		}
		same := func(what, got string, want []string) {
			t.Helper()
			list := strings.Fields(got)
			if slices.Sort(list); !slices.Equal(list, slices.Sorted(slices.Values(want))) {
				t.Errorf("%d ranges: %s: %v, want %v", n, what, list, want)
			}
		}
		look := func() {
			t.Helper()
			every := func(what string, want []string, headers ...string) {
				t.Helper()
				small := append(slices.Clip(headers), "x-ms-max-item-count", "3")
				same(what+", listed", strings.Join(w.pages("Documents", "GET", docs, "", small...), " "),
					want)
				for _, text := range []string{"SELECT * FROM c", "SELECT * FROM c ORDER BY c.id DESC",
					"SELECT c.id FROM c WHERE c.a != 'none'"} {
					same(what+", "+text, strings.Join(w.pages("Documents", "POST", docs,
						`{"query":"`+text+`"}`, queryHeaders(small...)...), " "), want)
				}
				count := w.do("POST", docs, `{"query":"SELECT VALUE COUNT(1) FROM c"}`,
					queryHeaders(append(slices.Clip(headers), "x-mayfly-serve-cross-partition",
						"true")...)...)
				if got := count.want(200).at("Documents.0").Raw; got != strconv.Itoa(len(want)) {
					t.Errorf("%d ranges: %s: counted %s of %d", n, what, got, len(want))
				}
				var fed []string
				for position := ""; ; {
					h := append(slices.Clip(small), "A-IM", "Incremental feed")
					if position != "" {
						h = append(h, "If-None-Match", position)
					}
					a := w.do("GET", docs, "", h...)
					if a.code == 304 {
						break
					}
					fed, position = append(fed, a.want(200).ids("Documents")), a.header.Get("Etag")
				}
				same(what+", fed", strings.Join(fed, " "), want)
			}
			within := func(low, high string) (in []string) {
				for i, e := range epks {
					if e >= low && e < high {
						in = append(in, strconv.Itoa(i))
					}
				}
				return in
			}
			every("a prefix of one", ids["a1"], pk(`["a1"]`)...)
			every("a prefix of two", ids["a2b5"], pk(`["a2","b5"]`)...)
			every("a whole key", ids["a0b3c9"], pk(`["a0","b3","c9"]`)...)
			every("no such prefix", nil, pk(`["a9"]`)...)
			bounds := []string{"", epk("a1"), epk("a1", "b4"), "20", "FF"}
			slices.Sort(bounds)
			for i, low := range bounds[:len(bounds)-1] {
				h := []string{"x-ms-end-epk", bounds[i+1], "x-ms-read-key-type", "EffectivePartitionKeyRange"}
				if low != "" {
					h = append(h, "x-ms-start-epk", low)
				}
				every(fmt.Sprintf("from %s to %s", low, bounds[i+1]), within(low, bounds[i+1]), h...)
			}
			for _, r := range w.do("GET", coll+"/pkranges", "").at("PartitionKeyRanges").Array() {
				low, high := r.Get("minInclusive").Str, r.Get("maxExclusive").Str
				every("range "+r.Get("id").Str, within(low, high), rangeHeader(r.Get("id").Str)...)
				every("a part of range "+r.Get("id").Str, within(max(low, bounds[2]), high),
					rangeHeader(r.Get("id").Str, "x-ms-start-epk", bounds[2], "x-ms-end-epk", "FF")...)
			}
		}
		look()
		// the first two in the middle of a prefix
		for _, at := range []string{epk("a1", "b4"), epk("a1", "b1", "c7"), epk("a0")} {
			for _, r := range w.do("GET", coll+"/pkranges", "").at("PartitionKeyRanges").Array() {
				if r.Get("minInclusive").Str < at && at < r.Get("maxExclusive").Str {
					w.do("POST", splitPath, fmt.Sprintf(`{"range":%q,"at":%q}`, r.Get("id").Str,
						at)).want(200)
				}
			}
		}
		look()
	}
}
