package httpapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func checkPlanArrays(t *testing.T) {
	w := checked(t)
	for _, text := range []string{"SELECT * FROM c", "SELECT VALUE 1", "SELECT * FROM c ORDER BY c.id",
		"SELECT VALUE COUNT(1) FROM c", "SELECT DISTINCT c.pk FROM c OFFSET 1 LIMIT 2",
		"SELECT c.pk, COUNT(1) FROM c GROUP BY c.pk", "SELECT TOP 3 * FROM c", "SELECT * FROM c WHERE false"} {
		a := w.askPlan(text, allFeatures).want(200)
		for _, name := range []string{"orderBy", "orderByExpressions", "groupByExpressions", "groupByAliases",
			"aggregates"} {
			if !a.at("queryInfo." + name).IsArray() {
				t.Errorf("%s: %s is %q", text, name, a.at("queryInfo."+name).Raw)
			}
		}
		if !a.at("queryRanges").IsArray() || len(a.at("queryRanges").Array()) == 0 ||
			!a.at("queryInfo.groupByAliasToAggregateType").IsObject() ||
			a.at("queryInfo.rewrittenQuery").Type != gjson.String ||
			!a.at("queryInfo.hasSelectValue").IsBool() {
			t.Errorf("%s: %s", text, a.body)
		}
	}
	a := w.askPlan("SELECT TOP 1 * FROM c ORDER BY RANK FullTextScore(c.t, 'a')", allFeatures).want(200)
	for _, name := range []string{"componentQueryInfos", "componentWithoutPayloadQueryInfos",
		"componentWeights"} {
		if !a.at("hybridSearchQueryInfo." + name).IsArray() {
			t.Errorf("%s: %s", name, a.body)
		}
	}
}

func checkPlanRequests(t *testing.T) {
	w := checked(t, ranges(4))
	body := queryBody("SELECT * FROM c WHERE c.id != @x ORDER BY c.id", `[{"name":"@x","value":"1"}]`)
	for client, headers := range map[string][]string{
		"Java": {"Content-Type", "application/query+json", "x-ms-cosmos-query-version", "1.0"},
		"JS": {"Content-Type", "application/query+json", "x-ms-cosmos-query-version", "1.4",
			"x-ms-documentdb-isquery", "true"},
		"Python": {"Content-Type", "application/json", "x-ms-documentdb-isquery", "true"},
		"Rust":   {"Content-Type", "application/query+json", "x-ms-documentdb-isquery", "True"},
		".NET": {"Content-Type", "application/query+json", "x-ms-documentdb-query-enablecrosspartition",
			"True"},
	} {
		headers = append(headers, "x-ms-cosmos-supported-query-features", clientFeatures[client],
			"x-ms-cosmos-is-query-plan-request", "True")
		a := w.do("POST", docs, body, headers...).want(200)
		if !strings.Contains(a.at("queryInfo.rewrittenQuery").Str, "orderByItems") ||
			a.at("Documents").Exists() {
			t.Errorf("%s: %s", client, a.body)
		}
	}
	w.askPlan("SELECT c.pk FROM c GROUP BY c.pk", "OrderBy").fails(400, 1004, "GroupBy")
}

// clientFeatures are the query features that the newest version of each official SDK sends in
// x-ms-cosmos-supported-query-features, by SDK, copied from its source.
var clientFeatures = map[string]string{
	".NET": "Aggregate, Distinct, GroupBy, MultipleAggregates, MultipleOrderBy, OffsetAndLimit, OrderBy, Top, NonValueAggregate, DCount, " +
		"NonStreamingOrderBy, CountIf, HybridSearch, WeightedRankFusion, HybridSearchSkipOrderByRewrite",
	"Java": "Aggregate, CompositeAggregate, MultipleOrderBy, MultipleAggregates, OrderBy, OffsetAndLimit, Distinct, GroupBy, Top, DCount, " +
		"NonValueAggregate, NonStreamingOrderBy, HybridSearch, WeightedRankFusion",
	"JS": "NonValueAggregate,Aggregate,Distinct,MultipleOrderBy,OffsetAndLimit,OrderBy,Top,CompositeAggregate,GroupBy,MultipleAggregates," +
		"NonStreamingOrderBy,ListAndSetAggregate,CountIf,HybridSearch,WeightedRankFusion,HybridSearchSkipOrderByRewrite",
	"Python": "Aggregate,CompositeAggregate,Distinct,MultipleOrderBy,OffsetAndLimit,OrderBy,Top,NonStreamingOrderBy,HybridSearch,CountIf," +
		"ListAndSetAggregate,WeightedRankFusion",
	"Rust": "Distinct,MultipleOrderBy,NonStreamingOrderBy,OffsetAndLimit,OrderBy,Top",
}

// TestQueryFeaturesOfClients checks for each SDK and query whether the server returns a query plan or, if the
// SDK lacks a feature that the plan needs, an error that names the feature.
func TestQueryFeaturesOfClients(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(4))
	w.container("")
	const valueless = "JS .NET Java" // the clients that merge groups and aggregates in select lists
	for text, want := range map[string]struct{ clients, feature string }{
		"SELECT VALUE AVG(c.n) FROM c":                            {"JS .NET Java Python", "Aggregate"},
		"SELECT VALUE MIN(c.n) FROM c":                            {"JS .NET Java Python", "Aggregate"},
		"SELECT VALUE MAX(c.n) FROM c":                            {"JS .NET Java Python", "Aggregate"},
		"SELECT VALUE COUNT(1) FROM c":                            {"JS .NET Java Python", "Aggregate"},
		"SELECT VALUE COUNTIF(c.n > 1) FROM c":                    {"JS .NET Python", "CountIf"},
		"SELECT VALUE MAKESET(c.n) FROM c":                        {"JS Python", "ListAndSetAggregate"},
		"SELECT AVG(c.n) AS a FROM c":                             {valueless, "NonValueAggregate"},
		"SELECT AVG(c.n), MAX(c.n) FROM c":                        {valueless, "MultipleAggregates"},
		"SELECT AVG(c.n) FROM c WHERE c.pk = 'x'":                 {valueless, "NonValueAggregate"},
		"SELECT VALUE AVG(c.n) FROM c WHERE c.pk = 'x'":           {"JS .NET Java Python", "Aggregate"},
		"SELECT c.n, MIN(c.m) FROM c GROUP BY c.n":                {valueless, "GroupBy"},
		"SELECT VALUE COUNT(1) FROM c GROUP BY c.n":               {valueless, "GroupBy"},
		"SELECT * FROM c ORDER BY c.n":                            {"JS .NET Java Python Rust", ""},
		"SELECT * FROM c ORDER BY c.n, c.m":                       {"JS .NET Java Python Rust", ""},
		"SELECT TOP 1 * FROM c ORDER BY VectorDistance(c.v, [1])": {"JS .NET Java Python Rust", ""},
		"SELECT DISTINCT VALUE c.n FROM c OFFSET 1 LIMIT 1":       {"JS .NET Java Python Rust", ""},
		"SELECT TOP 1 * FROM c ORDER BY RANK FullTextScore(c.t, 'a')": {"JS .NET Java Python",
			"HybridSearch"},
		"SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.n FROM c)": {".NET Java", "DCount"},
	} {
		for client, features := range clientFeatures {
			if slices.Contains(strings.Fields(want.clients), client) {
				w.askPlan(text, features).want(200)
			} else {
				w.askPlan(text, features).fails(400, 1004, "Query contained "+want.feature+
					", which the calling client does not support.")
			}
		}
	}
}

// rewrites are queries, each with a sample of the rows that every partition range must return for the
// query as rewritten in its plan. Only names and types of the sample count; {} matches any object.
var rewrites = []struct{ text, row string }{
	{"SELECT * FROM c ORDER BY c.id", `{"_rid":"","orderByItems":[{"item":""}],"payload":{}}`},
	{"SELECT c.id FROM c WHERE c.even = true ORDER BY c.id DESC, c.pk",
		`{"_rid":"","orderByItems":[{"item":""},{"item":""}],"payload":{"id":""}}`},
	{"SELECT VALUE SUM(c.even ? 1 : 2) FROM c", `[{"item":0}]`},
	{"SELECT VALUE AVG(LENGTH(c.id)) FROM c", `[{"item":{"sum":0,"count":0}}]`},
	{"SELECT VALUE MIN(c.id) FROM c", `[{"item":"","item2":{"min":"","count":0}}]`},
	{"SELECT VALUE MAX(c.id) FROM c", `[{"item":"","item2":{"max":"","count":0}}]`},
	{"SELECT COUNT(1) AS n, AVG(LENGTH(c.id)) AS a FROM c",
		`{"payload":{"n":{"item":0},"a":{"item":{"sum":0,"count":0}}}}`},
	{"SELECT SUM(1) FROM c", `{"payload":{"$1":{"item":0}}}`},
	{"SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk",
		`{"groupByItems":[{"item":""}],"payload":{"pk":"","n":{"item":0}}}`},
	{"SELECT VALUE COUNT(1) FROM c GROUP BY c.pk", `{"groupByItems":[{"item":""}],"payload":[{"item":0}]}`},
}

// rewritten requests the plan of a query and returns one range's response to the rewritten query in it.
// filter replaces the plan's placeholder for a filter; empty: the placeholder stays.
func (w *serverUnderTest) rewritten(text, rangeID, filter string) *testResponse {
	w.t.Helper()
	sent := w.askPlan(text, allFeatures).want(200).at("queryInfo.rewrittenQuery").Str
	if strings.Contains(sent, "orderByItems") != strings.Contains(sent,
		"{documentdb-formattableorderbyquery-filter}") {
		w.t.Errorf("%s: clients look for the place of their filter in %s", text, sent)
	}
	if filter != "" {
		sent = strings.ReplaceAll(sent, "{documentdb-formattableorderbyquery-filter}", filter)
	}
	return w.do("POST", docs, queryBody(sent, ""), queryHeaders(rangeHeader(rangeID)...)...).want(200)
}

func checkRewritten(t *testing.T) {
	w := checked(t, func(s *serverUnderTestOptions) { s.store.Lenient = true })
	for _, r := range rewrites {
		for _, filter := range []string{"", "true"} { // the place for the filter may be left as it is
			a := w.rewritten(r.text, "0", filter)
			if !sameShape(gjson.Parse(r.row), a.at("Documents.0")) {
				t.Errorf("%s: %s, want the shape %s", r.text, a.at("Documents.0").Raw, r.row)
			}
		}
	}
}

// sameShape reports whether got has the same structure, names and types as want; values may differ. An
// empty object in want matches every object.
func sameShape(want, got gjson.Result) bool {
	switch {
	case want.IsArray():
		one, other := want.Array(), got.Array()
		return got.IsArray() && slices.EqualFunc(one, other, sameShape)
	case want.IsObject():
		one, other := want.Map(), got.Map()
		return got.IsObject() && (len(one) == 0 || maps.EqualFunc(one, other, sameShape))
	}
	return want.Type == got.Type
}

func checkItem2(t *testing.T) {
	w := checked(t)
	for fn, of := range map[string]string{"MIN": "min", "MAX": "max"} {
		w.rewritten("SELECT VALUE "+fn+"(c.id) FROM c WHERE c.even != null", "0",
			"").has("Documents.0.0.item2.count", "6").
			has("Documents.0.0.item2."+of, map[string]string{"min": `"0"`, "max": `"5"`}[of])
		// None counted reports that there is nothing to compare with.
		w.rewritten("SELECT VALUE "+fn+"(c.none) FROM c", "0", "").has("Documents.0.0.item2.count",
			"0").has("Documents.0.0.item2."+of, "")
	}
}

func checkCrossPlan(t *testing.T) {
	for _, n := range []int{1, 4} {
		w := checked(t, ranges(n))
		for _, text := range []string{"SELECT * FROM c ORDER BY c.id", "SELECT VALUE COUNT(1) FROM c",
			"SELECT DISTINCT c.pk FROM c", "SELECT TOP 1 * FROM c", "SELECT c.pk FROM c GROUP BY c.pk", "SELECT * FROM c OFFSET 0 LIMIT 1"} {
			a := w.do("POST", docs, queryBody(text, ""), queryHeaders()...).fails(400, 1004,
				"cross partition query can not be directly served by the gateway")
			if plan := a.at("additionalErrorInfo"); plan.Type != gjson.String ||
				!gjson.Get(plan.Str, "queryInfo").IsObject() ||
				plan.Str != string(w.askPlan(text, allFeatures).body) {
				t.Errorf("%s: %s", text, a.body)
			}
		}
	}
}

func checkTokenLength(t *testing.T) {
	w := newServerUnderTest(t, ranges(24), func(s *serverUnderTestOptions) { s.store.Lenient = true })
	w.container("")
	for i := range 40 {
		w.do("POST", docs, fmt.Sprintf(`{"id":"%s%d","pk":"%d","a":"%s","b":"%s"}`, strings.Repeat("i", 900),
			i, i, strings.Repeat("é", 3000), strings.Repeat("z", 2000+i))).want(201)
	}
	for _, text := range []string{"SELECT * FROM c", "SELECT * FROM c ORDER BY c.a",
		"SELECT * FROM c ORDER BY c.a DESC, c.b, c.id", "SELECT DISTINCT VALUE c.b FROM c ORDER BY c.b", "SELECT c.b FROM c GROUP BY c.b", "SELECT * FROM c OFFSET 3 LIMIT 30"} {
		token, rows := "", 0
		for page := 0; page == 0 || token != ""; page++ {
			a := w.do("POST", docs, queryBody(text, ""),
				queryHeaders(append(served, "x-ms-max-item-count", "3",
					"x-ms-documentdb-responsecontinuationtokenlimitinkb", "1", "x-ms-continuation", token)...)...)
			rows += len(a.want(200).at("Documents").Array())
			if token = a.header.Get("X-Ms-Continuation"); len(token) > 1024 || page > 40 {
				t.Fatalf("%s: page %d, a continuation of %d bytes", text, page, len(token))
			}
		}
		if want := map[bool]int{true: 30, false: 40}[strings.Contains(text, "LIMIT")]; rows != want {
			t.Errorf("%s: %d rows", text, rows)
		}
	}
}
