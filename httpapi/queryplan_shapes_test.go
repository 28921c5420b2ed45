package httpapi

import (
	"fmt"
	"strings"
	"testing"
)

// shapesWorld returns a server with 40 items in a container of n partition ranges. All items of a partition
// key have the same property t and the same property u; the property n has the same values in several.
func shapesWorld(t *testing.T, n int) *serverUnderTest {
	w := newServerUnderTest(t, ranges(n))
	w.container("")
	for i := range 40 {
		w.do("POST", docs, fmt.Sprintf(
			`{"id":"%02d","pk":"%d","t":"t%d","u":%d,"n":%d,"l":[{"x":%d,"N":[{"x":%d},{"x":%d}]}],"o":{"k":%d}}`,
			i, i%8, 7-i%8, i%2, i*7%5, i%3, i%4, i%6, i%9)).want(201)
	}
	return w
}

// TestGroupsInOrder checks that a query with GROUP BY and ORDER BY returns its groups in that order if the
// server merges the partition ranges. If the client merges them, the order is checked only for queries
// without aggregates or with a single range.
func TestGroupsInOrder(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 5} {
		w := shapesWorld(t, n)
		for text, want := range map[string]string{
			"SELECT c.t, MIN(c.n) AS m FROM c GROUP BY c.t, c.u ORDER BY c.t":                  `[{"t":"t0","m":0},{"t":"t1","m":0},{"t":"t2","m":0},{"t":"t3","m":0},{"t":"t4","m":0},{"t":"t5","m":0},{"t":"t6","m":0},{"t":"t7","m":0}]`,
			"SELECT TOP 2 VALUE COUNT(1) FROM c GROUP BY c.u ORDER BY c.u DESC":                `[20,20]`,
			"SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n ORDER BY c.n DESC":                  `[{"n":4,"k":8},{"n":3,"k":8},{"n":2,"k":8},{"n":1,"k":8},{"n":0,"k":8}]`,
			"SELECT VALUE c.t FROM c GROUP BY c.t ORDER BY c.t DESC OFFSET 1 LIMIT 3":          `["t6","t5","t4"]`,
			"SELECT c.n, c.u FROM c GROUP BY c.n, c.u ORDER BY c.u DESC, c.n OFFSET 3 LIMIT 4": `[{"n":3,"u":1},{"n":4,"u":1},{"n":0,"u":0},{"n":1,"u":0}]`,
			"SELECT VALUE c.o.k FROM c GROUP BY c.o ORDER BY c.o.k":                            `[0,1,2,3,4,5,6,7,8]`,
			"SELECT DISTINCT VALUE c.u FROM c GROUP BY c.t, c.u ORDER BY c.u":                  `[0,1]`,
			"SELECT o.k FROM c.o GROUP BY o.k ORDER BY o.k DESC OFFSET 7 LIMIT 9":              `[{"k":1},{"k":0}]`,
		} {
			w.do("POST", docs, queryBody(text, ""), queryHeaders(served...)...).want(200).has("Documents",
				want)
			for _, page := range []int{1, 3, 1000} {
				aggregates := strings.Contains(text, "(")
				if aggregates && strings.Contains(text, "TOP") && n > 1 {
					continue // the client takes the first groups that it meets
				}
				ok, err := w.pipeline(docs, page).merged(&queryTestCase{Query: text, Ordered: n == 1 ||
					!aggregates})
				if err != nil || !ok {
					t.Errorf("%d ranges, pages of %d: %t %s\n%v", n, page, ok, text, err)
				}
			}
		}
	}
}

// TestSubqueriesAcrossRanges checks subqueries in FROM with GROUP BY or DISTINCT, which are evaluated
// within each range. In the test's data, no group and no duplicates span two ranges.
func TestSubqueriesAcrossRanges(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 5} {
		w := shapesWorld(t, n)
		for text, want := range map[string]string{
			"SELECT COUNT(U) FROM (SELECT AVG(f.n) FROM f GROUP BY f.t) AS U":                                               `[{"$1":8}]`,
			"SELECT VALUE SUM(U.s) FROM (SELECT SUM(f.n) AS s FROM f GROUP BY f.t) AS U":                                    `[80]`,
			"SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.t FROM c) s WHERE s > 't3'":                                `[4]`,
			"SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.n FROM c)":                                                 `[5]`,
			"SELECT VALUE MAX(s) FROM (SELECT DISTINCT VALUE c.t FROM c) s":                                                 `["t7"]`,
			"SELECT VALUE s FROM (SELECT DISTINCT VALUE c.t FROM c) s WHERE s < 't1'":                                       `["t0"]`,
			"SELECT s.k FROM (SELECT c.t, COUNT(1) AS k FROM c GROUP BY c.t) s WHERE s.t = 't3'":                            `[{"k":5}]`,
			"SELECT VALUE SUM((SELECT VALUE MAX(e.x) FROM e IN c.l[0].N)) FROM c":                                           `[108]`,
			"SELECT VALUE (SELECT VALUE SUM((SELECT VALUE MAX(e.x) FROM e IN a.N)) FROM a IN c.l) FROM c WHERE c.id = '05'": `[5]`,
			"SELECT VALUE s.id FROM (SELECT * FROM root c WHERE c.n > 3) s ORDER BY s.id OFFSET 1 LIMIT 2":                  `["07","12"]`,
			"SELECT VALUE s.id FROM (SELECT c.id, c.n FROM c) s ORDER BY s.id DESC OFFSET 38 LIMIT 5":                       `["01","00"]`,
			"SELECT TOP 3 VALUE s.a FROM (SELECT VALUE {'a': c.id, 'b': c.n} FROM c) s ORDER BY s.a":                        `["00","01","02"]`,
			"SELECT VALUE s.id FROM (SELECT i.id FROM (SELECT * FROM c WHERE c.n = 4) i) s ORDER BY s.id":                   `["02","07","12","17","22","27","32","37"]`,
			"SELECT TOP 2 VALUE e.x FROM (SELECT * FROM c) s JOIN e IN s.l ORDER BY s.id DESC":                              `[0,2]`,
			"SELECT TOP 2 VALUE s.k FROM (SELECT o.k FROM c.o) s ORDER BY s.k DESC":                                         `[8,8]`,
		} {
			if got := w.documents(text); got != want {
				t.Errorf("%d ranges: %s: %s, want %s", n, text, got, want)
			}
			for _, page := range []int{1, 3, 1000} {
				ok, err := w.pipeline(docs,
					page).merged(&queryTestCase{Query: text, Ordered: strings.Contains(text, "ORDER BY")})
				if err != nil || !ok {
					t.Errorf("%d ranges, pages of %d: %t %s\n%v", n, page, ok, text, err)
				}
			}
		}
	}
}

// documents runs a query that the server merges and returns the rows of all pages as one JSON array.
func (w *serverUnderTest) documents(text string) string {
	w.t.Helper()
	var rows []string
	for token := ""; ; {
		headers := queryHeaders(served...)
		if token != "" {
			headers = append(headers, "x-ms-continuation", token)
		}
		a := w.do("POST", docs, queryBody(text, ""), headers...).want(200)
		for _, row := range a.at("Documents").Array() {
			rows = append(rows, row.Raw)
		}
		if token = a.header.Get("X-Ms-Continuation"); token == "" {
			return "[" + strings.Join(rows, ",") + "]"
		}
	}
}

// TestLenientSyntax checks that unambiguous syntax which Cosmos DB refuses, such as comments, is accepted
// only with the store's option Lenient.
func TestLenientSyntax(t *testing.T) {
	t.Parallel()
	for _, lenient := range []bool{false, true} {
		w := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.store.Lenient = lenient })
		w.container("")
		w.fill(3, 1)
		for _, text := range []string{
			"SELECT VALUE c.id FROM c WHERE c.id BETWEEN '1' AND '1' AND c.id != 'x'", "SELECT VALUE c.id FROM c WHERE c.id != 'x' AND c.id BETWEEN '1' AND '1'",
			"SELECT /* one */ VALUE c.id FROM c WHERE c.id = '1'", "SELECT VALUE c.id FROM c WHERE c.id = '1';",
		} {
			a := w.do("POST", docs, queryBody(text, ""), queryHeaders(served...)...)
			if lenient {
				a.want(200).has("Documents", `["1"]`)
				w.askPlan(text, allFeatures).want(200)
			} else {
				a.fails(400, 0, "Syntax error")
				w.askPlan(text, allFeatures).fails(400, 0, "Syntax error")
			}
		}
	}
}

// TestUnknownFunction checks that a query with a user-defined function that does not exist fails only when
// the function is called, so not in an empty container.
func TestUnknownFunction(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	const text = "SELECT VALUE udf.nope(c.id) FROM c"
	w.do("POST", docs, queryBody(text, ""), queryHeaders(served...)...).want(200).has("Documents", `[]`)
	w.askPlan(text, allFeatures).want(200)
	w.fill(1, 1)
	w.do("POST", docs, queryBody(text, ""), queryHeaders(served...)...).fails(400, 0,
		"The user defined function 'nope' does not exist.")
}

// TestQueryPlanInErrors checks that the error for a query which the client must merge contains the query
// plan.
func TestQueryPlanInErrors(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 4} {
		w := newServerUnderTest(t, ranges(n))
		w.container(mixedSettings)
		for _, text := range []string{
			"SELECT * FROM c ORDER BY c.n", "SELECT TOP 1 * FROM c", "SELECT VALUE COUNT(1) FROM c", "SELECT DISTINCT c.n FROM c",
			"SELECT c.n FROM c GROUP BY c.n", "SELECT * FROM c OFFSET 1 LIMIT 2", "SELECT * FROM c WHERE c.pk IN (1, 2) ORDER BY c.n",
			"SELECT TOP 1 * FROM c ORDER BY VectorDistance(c.v, [1, 2, 3])", "SELECT TOP 1 * FROM c ORDER BY RANK FullTextScore(c.text, 'a')",
		} {
			a := w.do("POST", docs, `{"query":`+jsonString(text)+`}`, queryHeaders()...).fails(400, 1004,
				"cross partition query can not be directly served by the gateway")
			if got, want := a.at("additionalErrorInfo").Str, string(w.askPlan(text,
				allFeatures).want(200).body); got != want {
				t.Errorf("%s: additionalErrorInfo is %s, want %s", text, a.at("additionalErrorInfo").Raw,
					want)
			}
		}
		w.do("POST", docs, `{"query":"SELECT FLOOR(AVG(c.n)) FROM c"}`, queryHeaders()...).fails(400, 1004,
			"Compositions of aggregates").has("additionalErrorInfo", "")
		w.do("POST", docs, `{"query":"SELECT * FROM c ORDER BY c.n"}`, queryHeaders(crossing, "False")...).fails(400, 0, "Cross partition query is required but disabled").has("additionalErrorInfo", "")
	}
}

func TestOptimisticDirectExecution(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.fill(5, 2)
	const asked, told = "x-ms-cosmos-query-optimisticdirectexecute", "X-Ms-Cosmos-Query-Requiresdistribution"
	scope := []string{"x-ms-documentdb-partitionkeyrangeid", "0", "x-ms-max-item-count", "2"}
	w.ask(docs, "SELECT * FROM c ORDER BY c.id", append(scope, asked, "true")...).want(200).head(told,
		"False")
	w.ask(docs, "SELECT * FROM c ORDER BY c.id", scope...).want(200).head(told, "")
	w.ask(docs, "SELECT * FROM c", asked, "perhaps").fails(400, 0, "'x-ms-cosmos-query-optimisticdirectexecute' is invalid")
}
