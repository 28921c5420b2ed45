package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
)

// unmergeable are parts of the error messages with which a query plan is refused because clients cannot merge
// the rows of the query.
var unmergeable = []string{"Compositions of aggregates and other expressions are not allowed.",
	"is not supported across partitions"}

// merged runs a query once merged by the client and once by the server, and returns an error if the
// results differ. It returns false if the server refuses to plan the query because clients cannot merge
// it.
func (p *mergingQueryClient) merged(c *queryTestCase) (bool, error) {
	params := string(c.Parameters)
	direct := p.w.do("POST", p.path, queryBody(c.Query, params),
		queryHeaders(append(served, "x-ms-max-item-count", "-1")...)...)
	rows, err := p.result(c.Query, params)
	var refused receivedErrorResponse
	switch {
	case errors.As(err, &refused) && direct.code == 200:
		for _, text := range unmergeable {
			if strings.Contains(refused.at("message").Str, text) {
				return false, nil
			}
		}
		return false, err
	case errors.As(err, &refused) && direct.code == refused.code:
		return true, nil
	case err != nil:
		return false, err
	case direct.code != 200:
		return false, fmt.Errorf("the direct answer is %d %s, the client made %d rows", direct.code,
			direct.body, len(rows))
	}
	var all []jsondoc.Value
	for { // where nothing has to be merged each range has a page of its own
		all = append(all, elements(jsondoc.Of(direct.body).Member("Documents"))...)
		token := direct.header.Get("X-Ms-Continuation")
		if token == "" {
			break
		}
		headers := queryHeaders(append(served, "x-ms-max-item-count", "-1", "x-ms-continuation", token)...)
		direct = p.w.do("POST", p.path, queryBody(c.Query, params), headers...).want(200)
	}
	want, got := decoded(all), decoded(rows)
	if !c.same(want, got, !c.Ordered) {
		return false, fmt.Errorf("the client made\n%v\nthe server\n%v", got, want)
	}
	return true, nil
}

func decoded(rows []jsondoc.Value) []any {
	list := make([]any, len(rows))
	for i, row := range rows {
		d := json.NewDecoder(bytes.NewReader(row.AppendJSON(nil)))
		d.UseNumber()
		if err := d.Decode(&list[i]); err != nil {
			panic(err) // the server does not send what is no JSON
		}
	}
	return list
}

// TestPlansOfQueryCases runs all query cases with a client that merges by the query plan, and checks that
// its result is that of the server.
func TestPlansOfQueryCases(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 8} {
		t.Run(fmt.Sprintf("%d ranges", n), func(t *testing.T) {
			cases, sets := readCases(t)
			w := newServerUnderTest(t, ranges(n))
			w.do("POST", "/dbs", `{"id":"d"}`).want(201)
			pipelines := map[string]*mergingQueryClient{}
			for name, set := range sets {
				set.load(w, name, false)
				pipelines[name] = w.pipeline(set.path, 2)
			}
			for _, c := range cases {
				// A query that is the rewritten form of another composes aggregates, and is not to be
				// rewritten again.
				ok, err := pipelines[c.Docs].merged(&c)
				if err != nil || !ok && !strings.HasPrefix(c.ID, "rewritten-") {
					t.Errorf("%s, %t: %s\n%v", c.ID, ok, c.Query, err)
				}
			}
		})
	}
}

// fillMixed creates n items with values of all types in several partition keys. Values are repeated, and
// some items lack some properties. path is the container's path.
func (w *serverUnderTest) fillMixed(path string, n int) {
	w.t.Helper()
	words := []string{"red", "blue", "mountain", "bike", "road", "swim", "sea", "sun"}
	for i := range n {
		b := fmt.Sprintf(`{"id":"%02d","pk":"key%d","n":%d,"s":"%s","even":%t`, i, i%13, i*7%5, words[i*5%8],
			i%2 == 0)
		if i%6 > 0 {
			b += fmt.Sprintf(`,"m":%s`, []string{"null", "true", "1", "2.5", `"a"`,
				fmt.Sprintf("[%d]", i/7%5), fmt.Sprintf(`{"a":%d}`, i/7%4)}[i%7])
		}
		if i%9 > 0 {
			b += fmt.Sprintf(`,"text":"%s %s %s%s","v":[%d,%d.5,%d]`, words[i%8], words[i*3%8], words[i/3%8],
				strings.Repeat(" filler", i), i%7, i*i%11, 1+i%3)
		}
		b += fmt.Sprintf(`,"list":[%d,%d],"o":{"k":%d,"list":["x","y%d"]}`, i%3, i%4, i%4, i%2)
		w.do("POST", path, b+"}").want(201)
	}
}

// mixedSettings are the settings of a container whose indexes support every ORDER BY of the tests.
const mixedSettings = keyedByPK + `,"indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/v/*"}],
	"compositeIndexes":[[{"path":"/n"},{"path":"/s"}],[{"path":"/n"},{"path":"/s","order":"descending"}]],
	"fullTextIndexes":[{"path":"/text"}],"vectorIndexes":[{"path":"/v","type":"flat"}]},
	"fullTextPolicy":{"defaultLanguage":"en-US","fullTextPaths":[{"path":"/text","language":"en-US"}]},
	"vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v","dataType":"float32","dimensions":3,"distanceFunction":"euclidean"}]}`

// TestClientMergeOfMixedItems runs queries over items whose values have different types, repeat or are
// missing, with a client that merges the results of several ranges by the query plan. The result must be that
// of the server.
func TestClientMergeOfMixedItems(t *testing.T) {
	queries := strings.Split(strings.TrimSpace(`
SELECT * FROM c
SELECT TOP 7 * FROM c
SELECT c.id FROM c OFFSET 3 LIMIT 9
SELECT TOP 4 c.id FROM c OFFSET 3 LIMIT 9
SELECT * FROM c ORDER BY c.n
SELECT * FROM c ORDER BY c.n DESC
SELECT * FROM c ORDER BY c.m
SELECT c.id, c.m FROM c ORDER BY c.m DESC
SELECT VALUE c.m FROM c ORDER BY c.n
SELECT VALUE c.id FROM c WHERE c.even OR c.n > 3 ORDER BY c.n, c.s
SELECT VALUE c.id FROM c ORDER BY c.n DESC, c.s DESC
SELECT VALUE c.id FROM c ORDER BY c.n, c.s DESC OFFSET 5 LIMIT 11
SELECT TOP 6 c.id FROM c ORDER BY c.n
SELECT TOP 6 c.id FROM c ORDER BY c.n DESC OFFSET 4 LIMIT 10
SELECT c.id FROM c ORDER BY c.n OFFSET 4294967290 LIMIT 4294967290
SELECT c.id, l FROM c JOIN l IN c.list WHERE l > 0 ORDER BY c.s
SELECT VALUE l FROM l IN c.list
SELECT * FROM c.o ORDER BY o.k
SELECT x.k, y FROM c.o x JOIN y IN x.list WHERE x.k > 0 ORDER BY x.k DESC
SELECT VALUE o.k FROM c.o WHERE EXISTS(SELECT VALUE c FROM c IN o.list WHERE c = "y1") ORDER BY o.k
SELECT DISTINCT c.n FROM c
SELECT DISTINCT VALUE c.m FROM c
SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n
SELECT DISTINCT c.s FROM c ORDER BY c.n DESC
SELECT DISTINCT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC
SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n OFFSET 1 LIMIT 2
SELECT DISTINCT VALUE c.n FROM c OFFSET 0 LIMIT 10
SELECT VALUE COUNT(1) FROM c
SELECT VALUE COUNT(c.m) FROM c
SELECT VALUE SUM(c.n) FROM c
SELECT VALUE SUM(c.m) FROM c
SELECT VALUE AVG(c.n) FROM c
SELECT VALUE AVG(c.m) FROM c
SELECT VALUE AVG(c.nothing) FROM c
SELECT VALUE MIN(c.m) FROM c
SELECT VALUE MIN(c.s) FROM c
SELECT VALUE MAX(c.s) FROM c WHERE c.id = "07"
SELECT VALUE MAX(c.nothing) FROM c
SELECT VALUE COUNTIF(c.even) FROM c
SELECT VALUE MAKELIST(c.s) FROM c
SELECT VALUE MAKESET(c.s) FROM c
SELECT VALUE COUNT(1) FROM c WHERE false
SELECT VALUE SUM(c.n) FROM c WHERE false
SELECT COUNT(1), SUM(c.n) AS s, AVG(c.n) AS a, MIN(c.s) AS lo, MAX(c.s) AS hi, AVG(c.m) AS bad, MIN(c.m) AS worse FROM c
SELECT COUNT(1) AS n, MIN(c.n) AS lo FROM c WHERE c.id = "nobody"
SELECT COUNT(1) AS n, "fixed" AS x FROM c ORDER BY c.n
SELECT TOP 1 COUNT(1) AS n FROM c
SELECT c.n, COUNT(1) AS k, AVG(c.n) AS a, MAX(c.s) AS hi FROM c GROUP BY c.n
SELECT c.m, COUNT(1) FROM c GROUP BY c.m
SELECT VALUE c.m FROM c GROUP BY c.m
SELECT VALUE COUNT(1) FROM c GROUP BY c.n, c.even
SELECT UPPER(c.s) AS s, c.n > 2 AS big, MAKESET(c.n) AS ns FROM c GROUP BY UPPER(c.s), c.n > 2
SELECT DISTINCT c.n, COUNT(1) AS k FROM c GROUP BY c.n
SELECT DISTINCT c.n FROM c GROUP BY c.n, c.s
SELECT c.n FROM c GROUP BY c.n OFFSET 0 LIMIT 20
SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.m FROM c)
SELECT COUNT(1) AS k FROM (SELECT DISTINCT c.n, c.s FROM c WHERE c.even) AS s
SELECT COUNT(s) FROM (SELECT DISTINCT c.n FROM c) s
SELECT * FROM c WHERE c.pk = "key3" ORDER BY c.id
SELECT c.id FROM c WHERE c.pk = "key3" OFFSET 1 LIMIT 2
SELECT VALUE SUM(c.n) FROM c WHERE c.pk IN ("key1", "key2", "nobody")
SELECT VALUE [SUM(c.n)] FROM c WHERE c.pk = "key4"
SELECT c.id FROM c WHERE c.pk = "key1" OR c.pk = "key5" ORDER BY c.s
SELECT VALUE COUNT(1)
SELECT TOP 5 c.id FROM c ORDER BY VectorDistance(c.v, [1, 2, 3])
SELECT c.id FROM c ORDER BY VectorDistance(c.v, [1, 2, 3]) OFFSET 2 LIMIT 40
SELECT TOP 5 c.id, VectorDistance(c.v, [3, 1, 0], true, {"distanceFunction":"cosine"}) AS d FROM c ORDER BY VectorDistance(c.v, [3, 1, 0], true, {"distanceFunction":"cosine"})
SELECT TOP 9 c.id FROM c WHERE FullTextContains(c.text, "mountain") ORDER BY RANK FullTextScore(c.text, "mountain", "bike")
SELECT TOP 20 c.id FROM c ORDER BY RANK RRF(FullTextScore(c.text, "swim", "sea"), VectorDistance(c.v, [1, 1, 1]))
SELECT TOP 60 c.id FROM c ORDER BY RANK RRF(VectorDistance(c.v, [1, 4, 2]), FullTextScore(c.text, "bike"), [2, -0.5])
SELECT TOP 15 c.id FROM c WHERE c.n > 1 ORDER BY RANK RRF(FullTextScore(c.text, "red"), VectorDistance(c.v, [2, 0, 1]), [1, -3])
SELECT VALUE c.id FROM c WHERE c.even ORDER BY RANK RRF(FullTextScore(c.text, ["red", "sun"]), FullTextScore(c.text, "road")) OFFSET 3 LIMIT 12`), "\n")
	for _, n := range []int{1, 8} {
		t.Run(fmt.Sprintf("%d ranges", n), func(t *testing.T) {
			w := newServerUnderTest(t, ranges(n))
			w.container(mixedSettings)
			w.fillMixed(docs, 60)
			for _, page := range []int{3, 1, 1000}[:racetest.Fewer(3, 3)] {
				p := w.pipeline(docs, page)
				if page == 3 {
					p.features += ",HybridSearchSkipOrderByRewrite"
				}
				for _, text := range queries {
					c := &queryTestCase{Query: text, Ordered: strings.Contains(text, "ORDER BY")}
					if ok, err := p.merged(c); err != nil || !ok {
						t.Errorf("pages of %d, %t: %s\n%v", page, ok, text, err)
					}
				}
			}
		})
	}
}

// TestPlansOfPrefixes checks the query plans of queries on a prefix of a hierarchical partition key: it is
// a part of a range, which the client requests by bounds of effective partition keys.
func TestPlansOfPrefixes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 8} {
		w := newServerUnderTest(t, ranges(n))
		w.container(`"partitionKey":{"paths":["/a","/b"],"kind":"MultiHash","version":2}`)
		for i := range 40 {
			w.do("POST", docs, fmt.Sprintf(`{"id":"%02d","a":"a%d","b":%d,"n":%d}`, i, i%3, i%5,
				i*7%10)).want(201)
		}
		p := w.pipeline(docs, 3)
		for _, text := range []string{
			"SELECT * FROM c WHERE c.a = 'a1' ORDER BY c.n DESC", "SELECT VALUE COUNT(1) FROM c WHERE c.a = 'a1' AND c.n > 2",
			"SELECT c.id FROM c WHERE c.a = 'a2' OFFSET 2 LIMIT 100", "SELECT * FROM c WHERE c.a = 'a0' AND c.b IN (1, 2, 4) ORDER BY c.n",
			"SELECT c.n, MIN(c.id) AS least FROM c WHERE c.a IN ('a0', 'a2') GROUP BY c.n", "SELECT * FROM c WHERE c.a = 'a1' AND c.b = 2",
		} {
			if ok, err := p.merged(&queryTestCase{Query: text,
				Ordered: strings.Contains(text, "ORDER BY")}); err != nil || !ok {
				t.Errorf("%d ranges, %t: %s\n%v", n, ok, text, err)
			}
		}
	}
}

// TestInvalidComputedProperties checks that a container with an invalid computed property is refused.
func TestInvalidComputedProperties(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	for definition, text := range map[string]string{
		`{"name":"p","query":"SELECT VALUE RAND() FROM c"}`:                                           "RAND",
		`{"name":"p","query":"SELECT VALUE GetCurrentDateTime() FROM c"}`:                             "GETCURRENTDATETIME",
		`{"name":"p","query":"SELECT VALUE (SELECT VALUE c.a) FROM c"}`:                               "'p'",
		`{"name":"p","query":"SELECT VALUE SUM(c.a) FROM c"}`:                                         "'p'",
		`{"name":"p","query":"SELECT VALUE c.a FROM c WHERE c.b"}`:                                    "'p'",
		`{"name":"p","query":"SELECT VALUE c.a. FROM c"}`:                                             "Syntax error",
		`{"name":"pk","query":"SELECT VALUE c.a FROM c"}`:                                             "partition key",
		`{"name":"p","query":"SELECT VALUE 1 FROM c"},{"name":"q","query":"SELECT VALUE c.p FROM c"}`: "computed property 'p'",
	} {
		settings := `{"id":"x",` + keyedByPK + `,"computedProperties":[` + definition + `]}`
		w.do("POST", colls, settings).fails(400, 0, text)
		w.do("PUT", coll, strings.Replace(settings, `"x"`, `"c"`, 1)).fails(400, 0, text)
	}
}

// askPlan requests the plan of a query. features are the query features that the client can merge.
func (w *serverUnderTest) askPlan(text, features string, headers ...string) *testResponse {
	w.t.Helper()
	return w.do("POST", docs, `{"query":`+jsonString(text)+`}`,
		queryHeaders(append(headers, planHeaders(features)...)...)...)
}

func TestQueryPlan(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(4))
	w.container("")
	a := w.askPlan("SELECT * FROM c ORDER BY c.x", allFeatures).want(200)
	want := `{"partitionedQueryExecutionInfoVersion":2,"queryInfo":{"distinctType":"None","top":null,"offset":null,"limit":null,` +
		`"orderBy":["Ascending"],"orderByExpressions":["c.x"],"groupByExpressions":[],"groupByAliases":[],"aggregates":[],` +
		`"groupByAliasToAggregateType":{},"rewrittenQuery":"SELECT c._rid, [{\"item\": c.x}] AS orderByItems, c AS payload\nFROM c\n` +
		`WHERE ({documentdb-formattableorderbyquery-filter})\nORDER BY c.x","hasSelectValue":false,"dCountInfo":null,` +
		`"hasNonStreamingOrderBy":false},"queryRanges":[{"min":"","max":"FF","isMinInclusive":true,"isMaxInclusive":false}],` +
		`"hybridSearchQueryInfo":null}`
	if string(a.body) != want {
		t.Errorf("got  %s\nwant %s", a.body, want)
	}
	w.askPlan("SELECT TOP 1 * FROM c ORDER BY RANK FullTextScore(c.t, 'a')", allFeatures).want(200).
		has("queryInfo", "").has("hybridSearchQueryInfo.take",
		"1").has("hybridSearchQueryInfo.componentWeights", "[]")

	w.askPlan("SELECT c.a, COUNT(1) FROM c GROUP BY c.a", "Aggregate,CompositeAggregate, Distinct,Nonsense").
		fails(400, 1004, "Query contains 1 or more unsupported features. Upgrade your SDK to a version that does support the requested features:\n"+
			"Query contained GroupBy, which the calling client does not support.\nQuery contained NonValueAggregate, which the calling client does not support.\r\n")
	w.do("POST", docs, `{"query":"SELECT c.a FROM c GROUP BY c.a"}`,
		queryHeaders("x-ms-cosmos-is-query-plan-request", "True")...).want(200)
	w.askPlan("SELECT FLOOR(AVG(c.x)) FROM c", allFeatures).
		fails(400, 0, "Gateway Failed to Retrieve Query Plan: Message: {\"Errors\":[\"Compositions of aggregates and other expressions are not allowed.\"]}")
	w.askPlan("SELECT * FORM c", allFeatures).fails(400, 0, `"code":"SC1001"`)
	w.askPlan("SELECT * FROM c", allFeatures, pk(`["a","b"]`)...).fails(400, 1001, "")
	w.askPlan("SELECT FLOOR(AVG(c.x)) FROM c", allFeatures,
		pk(`["a"]`)...).want(200).has("queryInfo.rewrittenQuery", `""`)

	// Who wants more than one page of one partition key gets them from its range as they are; who does not
	// say so does its part.
	const expected = "x-ms-documentdb-query-iscontinuationexpected"
	for value, top := range map[string]string{"": "5", "False": "5", "True": "null"} {
		var headers []string
		if value != "" {
			headers = []string{expected, value}
		}
		w.askPlan("SELECT TOP 5 * FROM c WHERE c.pk = 'a'", allFeatures,
			headers...).want(200).has("queryInfo.top", top)
	}
}

// TestPlanRanges checks that query plans convert conditions on the partition key to ranges of its hash.
func TestPlanRanges(t *testing.T) {
	t.Parallel()
	const all = `["",FF)`
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", colls, `{"id":"h","partitionKey":{"paths":["/a","/b"],"kind":"MultiHash","version":2}}`).want(201)
	for _, c := range []struct{ path, text, ranges string }{
		{docs, "SELECT * FROM c", all},
		{docs, "SELECT * FROM c WHERE c.pk > 1", all},
		{docs, "SELECT * FROM c WHERE c.pk = @x", "1 points"},
		{docs, "SELECT * FROM c WHERE false", `["",""]`},
		{docs, "SELECT 1", `["",""]`},
		{docs, "SELECT * FROM c WHERE c.pk IN (3, 1, 2, 1)", "3 points"},
		// neither can be a key: both are undefined's
		{docs, "SELECT * FROM c WHERE c.pk = [] OR c.pk = {}", "1 points"},
		{colls + "/h/docs", "SELECT * FROM c WHERE c.a = @x", "a prefix"},
		{colls + "/h/docs", "SELECT * FROM c WHERE c.a = 1 AND c.b IN (1, 2)", "2 points"},
		{colls + "/h/docs", "SELECT * FROM c WHERE c.b = 1", all},
	} {
		a := w.do("POST", c.path, `{"query":`+jsonString(c.text)+
			`,"parameters":[{"name":"@x","value":"key"}]}`, queryHeaders(
			planHeaders(allFeatures)...)...).want(200)
		list := a.at("queryRanges").Array()
		got := ""
		last := "-"
		for _, r := range list {
			low, high := r.Get("min").Str, r.Get("max").Str
			if low <= last && len(list) > 1 {
				t.Errorf("%s: %s is not sorted", c.text, a.body)
			}
			last = low
			switch point := low == high; {
			case !r.Get("isMinInclusive").Bool() || r.Get("isMaxInclusive").Bool() != point:
				t.Errorf("%s: %s", c.text, a.body)
			case low == "" && point:
				got = `["",""]`
			case low == "":
				got = all
			case point:
				got = fmt.Sprintf("%d points", len(list))
			case high == low+"FF" && len(low) == 32:
				got = "a prefix"
			}
		}
		if got != c.ranges {
			t.Errorf("%s: %s, want %s", c.text, a.at("queryRanges").Raw, c.ranges)
		}
	}
	// The key that is given beside the query goes before what its conditions say.
	same := w.askPlan("SELECT * FROM c WHERE c.pk = 'key'", allFeatures).at("queryRanges").Raw
	w.askPlan("SELECT * FROM c", allFeatures, pk(`["key"]`)...).has("queryRanges", same)
}
