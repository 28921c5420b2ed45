package httpapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/testdisk"
)

// served is the header that makes the server merge the rows of a cross-partition query.
var served = []string{"x-mayfly-serve-cross-partition", "true"}

// fillOrdered creates n items in five partition keys. Their property n has only four values, so that many
// are equal, and some items lack it.
func (w *serverUnderTest) fillOrdered(n int) {
	w.t.Helper()
	for i := range n {
		value := fmt.Sprintf(`,"n":%d`, i%4)
		if i%7 == 0 {
			value = ""
		}
		w.do("POST", docs, fmt.Sprintf(`{"id":"%02d","pk":"key%d","even":%t%s}`, i, i%5, i%2 == 0,
			value)).want(201)
	}
}

func (w *serverUnderTest) pagesOf(text string, size int, headers ...string) []string {
	w.t.Helper()
	return w.pages("Documents", "POST", docs, `{"query":`+jsonString(text)+`}`,
		queryHeaders(append(headers, "x-ms-max-item-count", fmt.Sprint(size))...)...)
}

func TestOrderedPaging(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d ranges", n), func(t *testing.T) {
			w := newServerUnderTest(t, ranges(n))
			w.container(keyedByPK + `,"indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/e/*"}],"compositeIndexes":[[{"path":"/n"},{"path":"/id","order":"descending"}]]}`)
			w.fillOrdered(20)
			for _, text := range []string{
				"SELECT * FROM c ORDER BY c.n",
				"SELECT * FROM c ORDER BY c.n DESC",
				"SELECT * FROM c ORDER BY c.n, c.id DESC",
				"SELECT * FROM c ORDER BY c.n DESC, c.id",
				"SELECT * FROM c WHERE c.even ORDER BY c.n DESC",
				"SELECT * FROM c WHERE c.n >= 1 ORDER BY c.n OFFSET 3 LIMIT 8",
			} {
				for _, scope := range [][]string{served, pk(`["key3"]`),
					{"x-ms-documentdb-partitionkeyrangeid", "0"}} {
					whole := w.pagesOf(text, -1, scope...)
					if len(whole) != 1 {
						t.Errorf("%s: %d pages of as many as fit", text, len(whole))
					}
					for _, size := range []int{1, 2, 3} {
						pages := w.pagesOf(text, size, scope...)
						if got := strings.Fields(strings.Join(pages, " ")); !slices.Equal(got,
							strings.Fields(whole[0])) || len(pages) != max(1, (len(got)+size-1)/size) {
							t.Errorf("%s by %d in %v: %d pages\ngot  %v\nwant %s", text, size, scope,
								len(pages), got, whole[0])
						}
					}
				}
			}
		})
	}
}

func TestPageCounts(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.fill(20, 1)
	// A full page of all items has a continuation whatever follows; every other one only if something does.
	for _, c := range []struct {
		text        string
		size, pages int
	}{
		{"SELECT * FROM c", 5, 5},
		{"SELECT * FROM c", 20, 2},
		{"SELECT * FROM c WHERE c.even = true", 5, 2},
		{"SELECT * FROM c WHERE c.id = '7'", 1, 1}, {"SELECT * FROM c WHERE c.id IN ('7', '18')", 1, 2},
		{"SELECT c.id, x FROM c JOIN x IN (SELECT VALUE [1, 2])", 20, 2},
		{"SELECT * FROM c ORDER BY c.id", 10, 2},
		{"SELECT * FROM c ORDER BY c.id", 5, 4},
		{"SELECT * FROM c WHERE c.even = true ORDER BY c.id", 5, 2},
		{"SELECT * FROM c WHERE c.even = true ORDER BY c.id", 10, 1},
		{"SELECT TOP 10 * FROM c", 5, 2},
		{"SELECT TOP 10 * FROM c ORDER BY c.id", 5, 2},
		{"SELECT * FROM c OFFSET 5 LIMIT 10", 5, 2},
		{"SELECT VALUE COUNT(1) FROM c", 1, 1},
		{"SELECT c.even, COUNT(1) AS n FROM c GROUP BY c.even", 1, 1},
		{"SELECT DISTINCT c.even FROM c", 1, 2},
		{"SELECT TOP 0 * FROM c", 1, 1},
		{"SELECT * FROM c WHERE false", 1, 1},
	} {
		if pages := w.pagesOf(c.text, c.size, served...); len(pages) != c.pages {
			t.Errorf("%s by %d: %d pages, want %d: %q", c.text, c.size, len(pages), c.pages, pages)
		}
	}
}

// onDisk returns an option that keeps the data in a folder, so that the store can be closed and opened
// again.
func onDisk(t testing.TB) func(*serverUnderTestOptions) {
	return func(s *serverUnderTestOptions) { s.disk = testdisk.NewFolder(t) }
}

// TestContinuationAfterWritesAndRestart checks that a continuation token stays valid after writes and after a
// restart, and is refused with another query or another scope.
func TestContinuationAfterWritesAndRestart(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, onDisk(t), ranges(4))
	w.container("")
	w.fill(30, 6)
	next := func(text, token string, scope ...string) *testResponse {
		t.Helper()
		return w.ask(docs, text, append(scope, "x-ms-max-item-count", "4", "x-ms-continuation", token)...)
	}
	texts := []string{"SELECT * FROM c", "SELECT * FROM c ORDER BY c.id",
		"SELECT * FROM c ORDER BY c.id DESC", "SELECT * FROM c WHERE c.even = true ORDER BY c.id"}
	seen := make(map[string][]string)
	tokens, first := make(map[string]string), make(map[string]int)
	for _, text := range texts {
		whole := strings.Fields(strings.Join(w.pagesOf(text, -1, served...), " "))
		a := w.ask(docs, text, append(served, "x-ms-max-item-count", "4")...).want(200)
		tokens[text], seen[text] = a.header.Get("X-Ms-Continuation"), whole
		first[text] = len(a.at("Documents").Array())
		if got := a.ids("Documents"); first[text] == 0 || got != strings.Join(whole[:first[text]], " ") {
			t.Errorf("%s: %s", text, got)
		}
	}
	// The row that a page ended with and the one that the next would begin with are deleted; a new one comes
	// that sorts last.
	gone := map[string]bool{}
	for _, text := range texts {
		for _, id := range seen[text][first[text]-1 : first[text]+1] {
			if !gone[id] {
				var n int
				if _, err := fmt.Sscan(id, &n); err != nil {
					t.Fatal(err)
				}
				w.do("DELETE", docs+"/"+id, "", pk(fmt.Sprintf(`["key%d"]`, n%6))...).want(204)
				gone[id] = true
			}
		}
	}
	w.close()
	w.open()
	for _, text := range texts {
		var want []string
		for _, id := range seen[text][first[text]:] {
			if !gone[id] {
				want = append(want, id)
			}
		}
		got := strings.Join(w.pagesOf(text, 4, append(served[:2:2], "x-ms-continuation", tokens[text])...), " ")
		if !slices.Equal(strings.Fields(got), want) {
			t.Errorf("%s: got %s, want %v", text, got, want)
		}
		for _, other := range texts {
			// By the same order it goes on behind the same row, whatever the filter is: the SDK for
			// JavaScript puts one of its own in.
			switch same := strings.HasSuffix(text, "ORDER BY c.id") && strings.HasSuffix(other, "ORDER BY c.id"); {
			case same:
				next(other, tokens[text], served...).want(200)
			case other != text:
				next(other, tokens[text], served...).fails(400, 0, "Invalid Continuation Token")
			}
		}
		next(text, tokens[text], pk(`["key0"]`)...).fails(400, 0, "Invalid Continuation Token")
		next(text, tokens[text], "x-ms-documentdb-partitionkeyrangeid", "1").fails(400, 0, "Invalid Continuation Token")
		w.do("GET", docs, "", "x-ms-continuation", tokens[text]).fails(400, 0, "Invalid Continuation Token")
	}
	with := func(value string) string {
		return `{"query":"SELECT * FROM c WHERE c.id != @x ORDER BY c.id","parameters":[{"name":"@x","value":"` + value + `"}]}`
	}
	token := w.do("POST", docs, with("a"), queryHeaders("x-ms-max-item-count", "1", served[0], served[1])...).want(200).header.Get("X-Ms-Continuation")
	w.do("POST", docs, with("b"), queryHeaders("x-ms-continuation", token, served[0], served[1])...).fails(400, 0, "Invalid Continuation Token")
}

// TestLongKeys checks paging with ORDER BY over long strings that differ only after the part that fits
// into a continuation token.
func TestLongKeys(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(2))
	w.container("")
	for i := range 9 {
		w.do("POST", docs, fmt.Sprintf(`{"id":"%d","pk":"key%d","s":"%s%d"}`, i, i%3, strings.Repeat("x", 1023), i*7%9)).want(201)
	}
	for text, want := range map[string]string{
		"SELECT * FROM c ORDER BY c.s":      "0 4 8 3 7 2 6 1 5",
		"SELECT * FROM c ORDER BY c.s DESC": "5 1 6 2 7 3 8 4 0",
	} {
		for size := range 4 {
			if got := strings.Join(w.pagesOf(text, size+1, served...), " "); got != want {
				t.Errorf("%s by %d: %s", text, size+1, got)
			}
		}
	}
}

func TestExecutionInfo(t *testing.T) {
	t.Parallel()
	const name = "x-ms-cosmos-query-execution-info"
	w := newServerUnderTest(t)
	w.container("")
	w.fill(6, 2)
	for text, want := range map[string]string{
		"SELECT * FROM c": "",
		"SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk":     "",
		"SELECT * FROM c ORDER BY c.id":                       `{"reverseRidEnabled":false,"reverseIndexScan":false}`,
		"SELECT * FROM c ORDER BY c.id DESC":                  `{"reverseRidEnabled":false,"reverseIndexScan":true}`,
		"SELECT DISTINCT VALUE c.even FROM c ORDER BY c.even": `{"reverseRidEnabled":false,"reverseIndexScan":false}`,
	} {
		a := w.ask(docs, text, append(served, "x-ms-max-item-count", "4")...).want(200).head(name, want)
		if token := a.header.Get("X-Ms-Continuation"); token != "" {
			w.ask(docs, text, append(served, "x-ms-continuation", token)...).want(200).head(name, want)
		}
	}
}

// metricNames are the names of all values in the query metrics header, in their order.
const metricNames = "totalExecutionTimeInMs queryCompileTimeInMs queryLogicalPlanBuildTimeInMs queryPhysicalPlanBuildTimeInMs queryOptimizationTimeInMs " +
	"VMExecutionTimeInMs indexLookupTimeInMs instructionCount documentLoadTimeInMs systemFunctionExecuteTimeInMs userFunctionExecuteTimeInMs " +
	"retrievedDocumentCount retrievedDocumentSize outputDocumentCount outputDocumentSize writeOutputTimeInMs indexUtilizationRatio"

// metrics parses the query metrics header as clients do and returns its values by name.
func (a *testResponse) metrics() map[string]string {
	a.t.Helper()
	header := a.header.Get("X-Ms-Documentdb-Query-Metrics")
	values := make(map[string]string)
	var names []string
	for _, part := range strings.Split(header, ";") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || !gjson.Valid(value) {
			a.t.Errorf("%s: metrics %q", a.what, header)
		}
		names, values[name] = append(names, name), value
	}
	if strings.Join(names, " ") != metricNames {
		a.t.Errorf("%s: metrics %q", a.what, header)
	}
	return values
}

func TestQueryMetrics(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container(keyedByPK + `,"indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/free/*"}]}`)
	for i := range 10 {
		w.do("POST", docs, fmt.Sprintf(`{"id":"%d","pk":"a","n":%d,"free":%d}`, i, i, i%2)).want(201)
	}
	const asked = "x-ms-documentdb-populatequerymetrics"
	for _, c := range []struct {
		text, retrieved, output, ratio string
	}{
		{"SELECT * FROM c WHERE c.n = 3", "1", "1", "1.00"},                    // by the index
		{"SELECT VALUE c.id FROM c WHERE c.free = 1", "10", "5", "0.50"},       // a scan
		{"SELECT VALUE 1 FROM c WHERE c.free = 1 AND false", "0", "0", "1.00"}, // nothing to look at
		{"SELECT VALUE COUNT(1) FROM c", "0", "1", "1.00"},                     // counted by the index
	} {
		a := w.ask(docs, c.text, append(pk(`["a"]`), asked, "True")...).want(200)
		m := a.metrics()
		if m["retrievedDocumentCount"] != c.retrieved || m["outputDocumentCount"] != c.output || m["indexUtilizationRatio"] != c.ratio {
			t.Errorf("%s: %v", c.text, m)
		}
		for name, value := range m {
			if strings.HasSuffix(name, "InMs") && (value == "0.00" || value == "0") {
				t.Errorf("%s: %s is %s", c.text, name, value)
			}
		}
		if size := fmt.Sprint(len(strings.Join(a.rows("Documents"), ""))); m["outputDocumentSize"] != size {
			t.Errorf("%s: output of %s bytes, the rows have %s", c.text, m["outputDocumentSize"], size)
		}
	}
	// On every page, and only when asked.
	first := w.ask(docs, "SELECT * FROM c ORDER BY c.n", append(pk(`["a"]`), asked, "true", "x-ms-max-item-count", "4")...).want(200)
	second := w.ask(docs, "SELECT * FROM c ORDER BY c.n", append(pk(`["a"]`), asked, "true", "x-ms-continuation", first.header.Get("X-Ms-Continuation"))...).want(200)
	if first.metrics()["outputDocumentCount"] != "4" || second.metrics()["outputDocumentCount"] != "6" {
		t.Errorf("%v %v", first.metrics(), second.metrics())
	}
	w.ask(docs, "SELECT * FROM c", append(pk(`["a"]`), asked, "false")...).want(200).head("x-ms-documentdb-query-metrics", "")
	w.ask("/dbs", "SELECT * FROM c", asked, "true").want(200).metrics()
}

// TestAggregatesWithoutPartitionKey checks that a query with aggregates in its select list is refused (400)
// without a partition key header, even if its WHERE condition selects one partition. It succeeds with that
// header, or if the client lets the server merge.
func TestAggregatesWithoutPartitionKey(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(2))
	w.container("")
	w.fill(8, 4)
	const list = "SELECT COUNT(1), AVG(c.n) FROM c WHERE c.pk = 'key1'"
	w.ask(docs, list).fails(400, 1004, "The provided cross partition query can not be directly served by the gateway.")
	w.ask(docs, list, served...).want(200)
	w.ask(docs, list, pk(`["key1"]`)...).want(200)
	w.ask(docs, "SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'key1'").want(200)
	w.ask(docs, "SELECT COUNT(1) AS n FROM c WHERE c.pk = 'key1' GROUP BY c.pk").want(200)
}

// TestCrossPartitionQueryMerging checks when a query without a partition key must be merged by the client, is
// merged by the server, or is refused: by the query, the headers and the server's option ServeCrossPartition.
func TestCrossPartitionQueryMerging(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 4} {
		w := newServerUnderTest(t, ranges(n))
		w.container("")
		w.fill(8, 4)
		for _, text := range []string{"SELECT * FROM c ORDER BY c.id", "SELECT VALUE COUNT(1) FROM c", "SELECT DISTINCT c.pk FROM c", "SELECT TOP 1 * FROM c",
			"SELECT * FROM c OFFSET 1 LIMIT 1", "SELECT c.pk FROM c GROUP BY c.pk"} {
			w.ask(docs, text).fails(400, 1004, "The provided cross partition query can not be directly served by the gateway.")
			w.ask(docs, text, crossing, "false").fails(400, 0, "Cross partition query is required but disabled.")
			w.ask(docs, text, crossing, "false", served[0], served[1]).want(200)
			w.ask(docs, text, pk(`["key1"]`)...).want(200)
			w.ask(docs, text, "x-ms-documentdb-partitionkeyrangeid", "0").want(200)
		}
		w.ask(docs, "SELECT * FROM c WHERE c.pk = 'key1' ORDER BY c.id DESC", crossing, "false").want(200).has("_count", "2") // the text names the key
		if pages := w.pagesOf("SELECT c.id FROM c WHERE c.even", -1); len(pages) != n || len(strings.Fields(strings.Join(pages, " "))) != 4 {
			t.Errorf("pages of %d ranges: %q", n, pages)
		}
	}
	w := newServerUnderTest(t, ranges(2), func(s *serverUnderTestOptions) { s.server.ServeCrossPartition = true })
	w.container("")
	w.fill(8, 4)
	w.ask(docs, "SELECT VALUE COUNT(1) FROM c", crossing, "false").want(200).has("Documents", "[8]")
}

// TestIndexProgress checks the header that says to what percentage a container's items have been reindexed
// after a change of its indexing policy.
func TestIndexProgress(t *testing.T) {
	t.Parallel()
	const name = "X-Ms-Documentdb-Collection-Index-Transformation-Progress"
	w := newServerUnderTest(t)
	asked := []string{"x-ms-documentdb-populatequotainfo", "True"}
	w.container(keyedByPK+`,"indexingPolicy":{"includedPaths":[],"excludedPaths":[{"path":"/*"}]}`, asked...).head(name, "100")
	w.fill(1000, 1)
	d, err := w.db.Database("d")
	if err != nil {
		t.Fatal(err)
	}
	a := w.do("PUT", coll, `{"id":"c",`+keyedByPK+`}`, asked...).want(200)
	for before := 0; ; {
		told, err := strconv.Atoi(a.header.Get(name))
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.Container("c")
		if err != nil {
			t.Fatal(err)
		}
		after := c.IndexProgress()
		if told < before || told > after {
			t.Errorf("%d %% between %d and %d", told, before, after)
		}
		if told == 100 {
			return
		}
		before = after
		a = w.do("GET", coll, "", asked...).want(200)
	}
}
