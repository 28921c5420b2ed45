package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

var queries = []scenario{
	{"paging-partition", func(t *ScenarioRun) {
		c := t.ten()
		sizes, all := []int{}, []string{}
		c.resume("SELECT * FROM c", key("a"), nil, func(page [][]byte, _ string) {
			sizes = append(sizes, len(page))
			all = append(all, t.names(page)...)
		})
		t.equal(sizes, JSONArray{3, 3, 3, 1})
		t.equal(strings.Join(all, ""), "0123456789")
		sizes = nil
		for _, page := range c.pages("SELECT * FROM c", key("a"), &azcosmos.QueryOptions{PageSizeHint: 3}) {
			sizes = append(sizes, len(page))
		}
		t.equal(sizes, JSONArray{3, 3, 3, 1})
	}},

	{"paging-cross", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		all := []string{}
		c.resume("SELECT * FROM c", across, nil, func(page [][]byte, _ string) {
			t.check(len(page) <= 3, "a page of %d", len(page))
			all = append(all, t.names(page)...)
		})
		t.same(all, everything())
	}},

	without("paging-ordered", merges),
	without("paging-all", "no read feed"),

	{"read-many", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		asked := []azcosmos.ItemIdentity{{ID: "none", PartitionKey: key("p1")}}
		want := everything()[5:16]
		for i := 5; i < 16; i++ {
			m := twentieth(i)
			asked = append(asked, azcosmos.ItemIdentity{ID: m["id"].(string), PartitionKey: key(m["pk"])})
		}
		res, err := c.ReadManyItems(t.ctx, asked, nil)
		t.must(err)
		t.same(t.names(res.Items), want)
	}},

	{"query-partition", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		for _, test := range []struct {
			where string
			want  []string
		}{
			{"c.n = 7", []string{"i07"}},
			{"c.n > 7", []string{"i12", "i17"}},
			{"c.n >= 7 AND c.n < 17", []string{"i07", "i12"}},
			{"c.n IN (2, 12, 13)", []string{"i02", "i12"}},
			{"c.n BETWEEN 3 AND 12", []string{"i07", "i12"}},
			{"NOT (c.g = 'g0')", []string{"i02", "i07", "i17"}},
			{"c.g = 'g0' OR c.o.x = 2", []string{"i02", "i12"}},
			{"c.none = 1", []string{}},
			{"c.n != 7", []string{"i02", "i12", "i17"}},
		} {
			t.equal(c.ids(" WHERE "+test.where, key("p2")), test.want)
		}
	}},

	{"query-parameters", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		values := JSONArray{"it's", 1.5, true, nil, JSONArray{1, "two"}, JSONObject{"a": JSONObject{"b": 1}}}
		for i, v := range values {
			c.create(JSONObject{"id": fmt.Sprint(i), "pk": "a", "v": v})
		}
		for i, v := range values {
			o := &azcosmos.QueryOptions{QueryParameters: []azcosmos.QueryParameter{{Name: "@v", Value: v}}}
			t.equal(c.rows("SELECT VALUE c.id FROM c WHERE c.v = @v", key("a"), o), JSONArray{fmt.Sprint(i)})
			t.equal(c.rows("SELECT VALUE c.id FROM c WHERE c.v = @v", across, o), JSONArray{fmt.Sprint(i)})
		}
	}},

	{"query-cross", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		t.same(c.ids(" WHERE c.n >= 15", across), everything()[15:])
		t.same(c.ids(" WHERE c.g = 'g2' AND c.n < 9", across), []string{"i02", "i05", "i08"})
		t.same(c.ids(" WHERE c.pk = 'p3'", across), []string{"i03", "i08", "i13", "i18"})
		t.equal(c.ids(" WHERE c.n > 100", across), JSONArray{})
	}},

	{"query-projection", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		for _, test := range []struct {
			selected string
			want     any
		}{
			{"c.id, c.o.x", JSONObject{"id": "i07", "x": 7}},
			{"c.id AS name, c.n * 2 + 1 AS m", JSONObject{"name": "i07", "m": 15}},
			{"VALUE { k: c.n, l: [c.g, c.n] }", JSONObject{"k": 7, "l": JSONArray{"g1", 7}}},
			{"VALUE c.tags", JSONArray{"t3", "all"}},
			{"c.id, c.none, c.n = 7 AS same", JSONObject{"id": "i07", "same": true}},
			{"VALUE c.tags[1]", "all"},
			{`c["id"], c.g || "!" AS loud`, JSONObject{"id": "i07", "loud": "g1!"}},
		} {
			t.equal(c.rows("SELECT "+test.selected+" FROM c WHERE c.id = 'i07'", key("p2"), nil),
				JSONArray{test.want})
		}
		t.equal(c.rows("SELECT VALUE c.none FROM c", key("p2"), nil), JSONArray{})
		t.equal(t.doc(c.pages("SELECT * FROM c WHERE c.n = 7", key("p2"), nil)[0][0]), twentieth(7))
	}},

	{"query-order-by-partition", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		for i, v := range (JSONArray{3, "b", nil, true, -1, "a", false, 2.5}) {
			c.create(JSONObject{"id": fmt.Sprint(i), "pk": "a", "v": v})
		}
		c.create(JSONObject{"id": "missing", "pk": "a"})
		up := JSONArray{"missing", nil, false, true, -1, 2.5, 3, "a", "b"}
		query := "SELECT VALUE IS_DEFINED(c.v) ? c.v : 'missing' FROM c ORDER BY c.v"
		t.equal(c.rows(query, key("a"), nil), up)
		slices.Reverse(up)
		t.equal(c.rows(query+" DESC", key("a"), nil), up)
	}},

	without("query-order-by-cross", merges),
	without("query-order-by-string-cross", merges),
	without("query-order-by-composite", merges),

	{"query-order-by-refused", func(t *ScenarioRun) {
		policy := indexAll()
		policy.CompositeIndexes = [][]azcosmos.CompositeIndex{{
			{Path: "/g", Order: azcosmos.CompositeIndexAscending}, {Path: "/n", Order: azcosmos.CompositeIndexDescending},
		}}
		c := t.twenty(azcosmos.ContainerProperties{IndexingPolicy: policy})
		text := t.fails(c.refused("SELECT * FROM c ORDER BY c.g ASC, c.n ASC", key("p1")), 400)
		t.check(strings.Contains(text, "composite index"), "says %s", text)
	}},

	{"query-aggregates-partition", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		for f, want := range (JSONObject{"COUNT(1)": 4, "SUM(c.n)": 34, "AVG(c.n)": 8.5, "MIN(c.n)": 1,
			"MAX(c.n)": 16, "MIN(c.id)": "i01", "COUNT(c.none)": 0}) {
			t.equal(c.rows("SELECT VALUE "+f+" FROM c", key("p1"), nil), JSONArray{want})
		}
		t.equal(c.rows("SELECT COUNT(1) AS k, SUM(c.n) AS s FROM c WHERE c.n > 1", key("p1"), nil),
			JSONArray{JSONObject{"k": 3, "s": 33}})
	}},

	without("query-aggregates-cross", merges),
	without("query-aggregates-many-cross", merges),
	without("query-aggregates-empty", merges),

	{"query-group-by-partition", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		rows := c.rows("SELECT c.g, COUNT(1) AS k, SUM(c.n) AS s FROM c GROUP BY c.g", key("p1"), nil)
		slices.SortFunc(rows, func(a,
			b any) int {
			return strings.Compare(a.(JSONObject)["g"].(string), b.(JSONObject)["g"].(string))
		})
		t.equal(rows, JSONArray{JSONObject{"g": "g0", "k": 1, "s": 6}, JSONObject{"g": "g1", "k": 2, "s": 17},
			JSONObject{"g": "g2", "k": 1, "s": 11}})
	}},

	without("query-group-by-cross", merges),

	{"query-distinct-partition", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		t.same(text(c.rows("SELECT DISTINCT VALUE c.g FROM c", key("p1"), nil)), []string{"g0", "g1", "g2"})
		t.equal(len(c.rows("SELECT DISTINCT c.g FROM c", key("p1"), nil)), 3)
	}},

	without("query-distinct-cross", merges),
	without("query-count-distinct-cross", merges),

	{"query-top-partition", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		t.equal(c.rows("SELECT TOP 2 VALUE c.id FROM c ORDER BY c.n DESC", key("p4"), nil), JSONArray{"i19",
			"i14"})
		t.equal(c.ids(" ORDER BY c.n OFFSET 1 LIMIT 2", key("p4")), JSONArray{"i09", "i14"})
		t.equal(c.ids(" OFFSET 3 LIMIT 5", key("p4")), JSONArray{"i19"})
		t.equal(c.rows("SELECT TOP 0 * FROM c", key("p4"), nil), JSONArray{})
	}},

	without("query-top-cross", merges),
	without("query-offset-limit-cross", merges),

	{"query-join", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		rows := c.rows("SELECT VALUE c.id FROM c JOIN tag IN c.tags WHERE tag = 't1'", across, nil)
		t.same(text(rows), []string{"i01", "i05", "i09", "i13", "i17"})
		t.equal(len(c.rows("SELECT VALUE tag FROM c JOIN tag IN c.tags", key("p0"), nil)), 8)
		t.equal(c.rows("SELECT VALUE tag FROM tag IN c.tags WHERE tag != 'all'", key("p0"), nil),
			JSONArray{"t0",
				"t1", "t2", "t3"})
	}},

	{"query-arrays", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		t.same(c.ids(" WHERE ARRAY_CONTAINS(c.tags, 't2')", key("p2")), []string{"i02"})
		query := `SELECT VALUE [ARRAY_LENGTH(c.tags), ARRAY_SLICE(c.tags, 1), ARRAY_CONCAT(c.tags, [c.n]),
			ARRAY(SELECT VALUE x FROM x IN c.tags WHERE x != 'all')] FROM c WHERE c.id = 'i07'`
		t.equal(c.rows(query, key("p2"), nil),
			JSONArray{JSONArray{2, JSONArray{"all"}, JSONArray{"t3", "all", 7}, JSONArray{"t3"}}})
	}},

	{"query-subqueries", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		t.same(c.ids(" WHERE EXISTS(SELECT VALUE x FROM x IN c.tags WHERE x = 't3')", key("p2")), []string{"i07"})
		t.equal(c.rows("SELECT VALUE (SELECT VALUE COUNT(1) FROM x IN c.tags) FROM c WHERE c.n = 7",
			key("p2"), nil), JSONArray{2})
		t.equal(c.rows("SELECT VALUE s.m FROM (SELECT c.n * 2 AS m FROM c WHERE c.n > 10) AS s", key("p2"),
			nil), JSONArray{24, 34})
	}},

	{"query-strings", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		c.create(JSONObject{"id": "1", "pk": "a", "s": "Hello World"})
		query := `SELECT VALUE [CONTAINS(c.s, "world", true), STARTSWITH(c.s, "Hell"), ENDSWITH(c.s, "x"), UPPER(c.s), CONCAT(c.s, "!"),
			c.s LIKE "%o W%", RegexMatch(c.s, "^H.*d$"), SUBSTRING(c.s, 6, 5), REPLACE(c.s, "l", "L"), INDEX_OF(c.s, "o"), LENGTH(c.s)] FROM c`
		t.equal(c.rows(query, key("a"), nil),
			JSONArray{JSONArray{true, true, false, "HELLO WORLD", "Hello World!", true, true, "World",
				"HeLLo WorLd",
				4, 11}})
	}},

	{"query-types", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		c.create(JSONObject{"id": "1", "pk": "a", "z": nil, "n": -2.5, "s": "x", "a": JSONArray{},
			"o": JSONObject{}})
		query := `SELECT VALUE [IS_DEFINED(c.none), IS_DEFINED(c.z), IS_NULL(c.z), IS_NUMBER(c.n), IS_STRING(c.n), IS_ARRAY(c.a), IS_OBJECT(c.o),
			c.none ?? "else", IIF(c.n < 0, "minus", "plus"), ABS(c.n), FLOOR(c.n), ROUND(2.5), POWER(2, 10), SQRT(16), 7 % 4, 6 & 3] FROM c`
		t.equal(c.rows(query, key("a"), nil),
			JSONArray{JSONArray{false, true, true, true, false, true, true, "else", "minus", 2.5, -3, 3,
				1024, 4, 3,
				2}})
	}},

	{"query-spatial", func(t *ScenarioRun) {
		policy := indexAll()
		policy.SpatialIndexes = []azcosmos.SpatialIndex{{Path: "/at/*", SpatialTypes: everyShape}}
		c := t.container(azcosmos.ContainerProperties{IndexingPolicy: policy})
		for id, at := range map[string]JSONArray{"berlin": {13.405, 52.52}, "potsdam": {13.065, 52.4},
			"paris": {2.352, 48.857}} {
			c.create(JSONObject{"id": id, "pk": id, "at": JSONObject{"type": "Point", "coordinates": at}})
		}
		t.same(c.ids(` WHERE ST_DISTANCE(c.at, {"type": "Point", "coordinates": [13.4, 52.5]}) < 40000`, across), []string{"berlin", "potsdam"})
		within := ` WHERE ST_WITHIN(c.at, {"type": "Polygon", "coordinates": [[[0, 45], [5, 45], [5, 50], [0, 50], [0, 45]]]})`
		t.same(c.ids(within, across), []string{"paris"})
	}},

	without("query-vector", merges),

	{"query-full-text", func(t *ScenarioRun) {
		policy := indexAll()
		policy.FullTextIndexes = []azcosmos.FullTextIndex{{Path: "/text"}}
		c := t.container(azcosmos.ContainerProperties{IndexingPolicy: policy, FullTextPolicy: &azcosmos.FullTextPolicy{
			DefaultLanguage: "en-US", FullTextPaths: []azcosmos.FullTextPath{{Path: "/text", Language: "en-US"}},
		}})
		for i, text := range []string{"a red bicycle on a mountain road", "a blue car in the city", "a bicycle on every mountain", "red wine and cheese"} {
			c.create(JSONObject{"id": fmt.Sprint(i + 1), "pk": fmt.Sprint(i), "text": text})
		}
		t.same(c.ids(" WHERE FullTextContains(c.text, 'bicycle')", across), []string{"1", "3"})
		t.same(c.ids(" WHERE FullTextContainsAll(c.text, 'red', 'bicycle')", across), []string{"1"})
		t.same(c.ids(" WHERE FullTextContainsAny(c.text, 'wine', 'car')", across), []string{"2", "4"})
	}},

	without("query-full-text-rank", merges),
	without("query-hybrid", merges),

	{"query-syntax-error", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		for _, pk := range []azcosmos.PartitionKey{key("a"), across} {
			text := t.fails(c.refused("SELECT * FROM c WHERE c.n = = 1", pk), 400)
			t.check(strings.Contains(strings.ToLower(text), "syntax error"), "says %s", text)
		}
	}},

	{"query-metrics", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		page := func(o *azcosmos.QueryOptions) azcosmos.QueryItemsResponse {
			page, err := c.NewQueryItemsPager("SELECT * FROM c WHERE c.n > 3", key("p1"), o).NextPage(t.ctx)
			t.must(err)
			t.check(page.QueryMetrics != nil && strings.Contains(*page.QueryMetrics, "Document"), "no query metrics")
			return page
		}
		asked := page(&azcosmos.QueryOptions{PopulateIndexMetrics: true})
		t.check(asked.IndexMetrics != nil && *asked.IndexMetrics != "", "no index metrics")
		plain := page(nil)
		t.check(plain.IndexMetrics == nil || *plain.IndexMetrics == "", "index metrics that nobody asked for")
	}},
}

// indexAll returns the indexing policy that indexes all paths.
func indexAll() *azcosmos.IndexingPolicy {
	return &azcosmos.IndexingPolicy{
		Automatic: true, IndexingMode: azcosmos.IndexingModeConsistent, IncludedPaths: []azcosmos.IncludedPath{{Path: "/*"}},
	}
}

// ten creates a container with the items 0 to 9 in the partition "a".
func (t *ScenarioRun) ten() ScenarioContainer {
	c := t.container(azcosmos.ContainerProperties{})
	for i := range 10 {
		c.create(JSONObject{"id": fmt.Sprint(i), "pk": "a"})
	}
	return c
}

// resume runs a query with pages of 3 rows, beginning at the continuation from, with a new pager for each
// page. It calls each with every page and the continuation after it.
func (c ScenarioContainer) resume(query string, pk azcosmos.PartitionKey, from *string,
	each func(page [][]byte, continuation string)) {
	for {
		o := &azcosmos.QueryOptions{PageSizeHint: 3, ContinuationToken: from}
		page, err := c.NewQueryItemsPager(query, pk, o).NextPage(c.t.ctx)
		c.t.must(err)
		from = page.ContinuationToken
		if from == nil || *from == "" {
			each(page.Items, "")
			return
		}
		each(page.Items, *from)
	}
}

// text returns the values as strings.
func text(values JSONArray) []string {
	s := []string{}
	for _, v := range values {
		s = append(s, v.(string))
	}
	return s
}
