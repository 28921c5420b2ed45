package httpapi

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

func TestDatabases(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	made := w.do("POST", "/dbs", `{"id":"Ab c"}`).want(201)
	rid := made.at("_rid").Str
	made.has("id", `"Ab c"`).has("_self", `"dbs/`+rid+`/"`).has("_colls", `"colls/"`).has("_users",
		`"users/"`).
		has("_ts", fmt.Sprint(start.Unix())).head("etag", made.at("_etag").Str).head("x-ms-session-token", "")
	if !isRID(rid) || !strings.HasPrefix(made.at("_etag").Str, `"`) {
		t.Errorf("rid %s, etag %s", rid, made.at("_etag").Raw)
	}
	w.do("POST", "/dbs", `{"id":"Ab c"}`).fails(409, 0, "already exists")
	w.do("POST", "/dbs", `{"id":"ab c"}`).want(201) // ids tell case

	for _, path := range []string{"/dbs/Ab%20c", "/dbs/Ab%20c/", "//dbs//Ab%20c", "/DBS/Ab%20c",
		"/dbs/" + url.PathEscape(rid)} {
		if got := w.do("GET", path, "").want(200); string(got.body) != string(made.body) {
			t.Errorf("GET %s: %s", path, got.body)
		}
	}
	w.do("GET", "/dbs", "").want(200).has("_rid", `""`).has("_count", "2").head("x-ms-item-count", "2").
		has("Databases.0", string(made.body))
	w.do("GET", "/dbs/none", "").fails(404, 0, "Resource Not Found")
	w.do("GET", "/dbs/AAAAAA==", "").fails(404, 0, "https://aka.ms/cosmosdb-tsg-not-found")
	w.do("PUT", "/dbs/Ab%20c", `{"id":"Ab c"}`).fails(405, 0, "")

	w.do("DELETE", "/dbs/Ab%20c", "", "If-Match", `"other"`).fails(412, 0,
		"One of the specified pre-condition is not met")
	w.do("DELETE", "/dbs/Ab%20c", "", "If-Match", made.at("_etag").Str).want(204).
		head("content-type", "application/json")
	w.do("DELETE", "/dbs/Ab%20c", "").fails(404, 0, "Resource Not Found")
	w.do("GET", "/dbs", "").want(200).has("_count", "1")
}

// TestNameBeforeRID checks a database whose name is the rid of another database. Requests by that name
// reach the database with the name, never the other one, whose own links by rid still work.
func TestNameBeforeRID(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	precious := w.do("POST", "/dbs", `{"id":"precious"}`).want(201)
	rid := precious.at("_rid").Str
	kept := w.do("POST", "/dbs/precious/colls", `{"id":"c","partitionKey":{"paths":["/pk"]}}`).want(201)
	item := w.do("POST", "/dbs/precious/colls/c/docs", `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
	user := w.do("POST", "/dbs/precious/users", `{"id":"u"}`).want(201)

	w.do("POST", "/dbs", `{"id":"`+rid+`"}`).want(201)
	w.do("GET", "/dbs/"+rid, "").want(200).has("id", `"`+rid+`"`)
	w.do("POST", "/dbs/"+rid+"/colls", `{"id":"mine","partitionKey":{"paths":["/pk"]}}`).want(201)
	w.do("GET", "/dbs/"+rid+"/colls", "").want(200).has("_count", "1").has("DocumentCollections.0.id",
		`"mine"`)
	w.do("GET", "/dbs/"+rid+"/colls/mine", "").want(200)
	w.do("GET", "/dbs/"+rid+"/colls/none", "").fails(404, 0, "Resource Not Found")
	for _, self := range []string{kept.at("_self").Str, user.at("_self").Str} {
		w.do("GET", "/"+self, "").want(200).has("_self", jsonString(self))
	}
	w.do("GET", "/"+item.at("_self").Str, "", pk(`["a"]`)...).want(200).has("id", `"1"`)
	// A container may have the other one's rid for a name, too.
	w.do("POST", "/dbs/"+rid+"/colls", `{"id":"`+kept.at("_rid").Str+
		`","partitionKey":{"paths":["/pk"]}}`).want(201)
	w.do("DELETE", "/"+kept.at("_self").Str, "").want(204)
	w.do("GET", "/dbs/precious/colls/c", "").want(200)
	w.do("GET", "/"+kept.at("_self").Str, "").want(200).has("id", `"c"`)

	w.do("DELETE", "/dbs/"+rid, "").want(204)
	w.do("GET", "/dbs/precious", "").want(200)
	w.do("GET", "/dbs/"+rid, "").want(200).has("id", `"precious"`)
}

// TestDatabaseNamedLikeRID checks that a database whose name has the form of a rid, but is no database's rid,
// can be created and used by this name.
func TestDatabaseNamedLikeRID(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"AAAAAA=="}`).want(201)
	w.do("POST", "/dbs/AAAAAA==/colls", `{"id":"c","partitionKey":{"paths":["/pk"]}}`).want(201)
	w.do("POST", "/dbs/AAAAAA==/colls/c/docs", `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
	w.do("GET", "/dbs/AAAAAA==/colls/c/docs/1", "", pk(`["a"]`)...).want(200).has("id", `"1"`)
}

func TestContainers(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	db := w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	w.do("POST", "/dbs/none/colls", `{"id":"c","partitionKey":{"paths":["/pk"]}}`).fails(404, 1003,
		"Resource Not Found")
	w.do("GET", "/dbs/none/colls", "").fails(404, 1003, "Resource Not Found")
	w.do("GET", coll, "").fails(404, 0, "Resource Not Found")
	w.do("GET", docs, "").fails(404, 1003, "Resource Not Found")

	made := w.do("POST", colls,
		`{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":60}`).want(201)
	rid, dbRID := made.at("_rid").Str, db.at("_rid").Str
	made.has("partitionKey", `{"paths":["/pk"],"kind":"Hash","version":2}`).has("defaultTtl", "60").
		has("indexingPolicy", `{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]}`).
		has("conflictResolutionPolicy",
			`{"mode":"LastWriterWins","conflictResolutionPath":"/_ts","conflictResolutionProcedure":""}`).
		has("geospatialConfig", `{"type":"Geography"}`).has("_docs", `"docs/"`).has("_conflicts",
		`"conflicts/"`).
		has("_self", `"dbs/`+dbRID+`/colls/`+rid+`/"`).head("etag", made.at("_etag").Str).
		head("x-ms-content-path", dbRID).head("x-ms-alt-content-path", "dbs/d").
		head("x-ms-documentdb-collection-index-transformation-progress", "").head("x-ms-share-throughput", "")
	w.do("GET", coll, "", "x-ms-documentdb-populatequotainfo", "True").want(200).
		head("x-ms-documentdb-collection-index-transformation-progress", "100")
	if token := made.header.Get("X-Ms-Session-Token"); token != w.token("0", "0") {
		t.Errorf("session token %q", token)
	}
	w.do("POST", colls, `{"id":"c","partitionKey":{"paths":["/pk"]}}`).fails(409, 0, "already exists")

	byRID := "/dbs/" + url.PathEscape(dbRID) + "/colls/" + url.PathEscape(rid)
	for _, path := range []string{coll, byRID} {
		if got := w.do("GET", path, "").want(200); string(got.body) != string(made.body) {
			t.Errorf("GET %s: %s", path, got.body)
		}
	}
	w.do("GET", byRID[:len(byRID)-6], "").fails(400, 0, "resource id")
	w.do("GET", colls, "").want(200).has("_rid", `"`+dbRID+`"`).has("_count",
		"1").has("DocumentCollections.0", string(made.body))

	w.do("DELETE", coll, "", "If-Match", `"other"`).fails(412, 0,
		"One of the specified pre-condition is not met")
	w.do("DELETE", byRID, "").want(204)
	w.do("GET", coll, "").fails(404, 0, "Resource Not Found")
	w.do("GET", byRID, "").fails(404, 0, "Resource Not Found")
}

func TestReplaceContainer(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	made := w.container(`"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`)
	same := `"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`
	w.do("PUT", coll, `{`+same+`,"defaultTtl":5}`, "If-Match", `"stale"`).fails(412, 0, "pre-condition")

	changed := w.do("PUT", coll,
		`{`+same+`,"defaultTtl":5,"_rid":"x","_self":"y","_etag":"z","_ts":1,"_docs":"docs/"}`,
		"If-Match", made.header.Get("Etag")).want(200).has("defaultTtl", "5").has("_rid", made.at("_rid").Raw)
	if changed.header.Get("Etag") == made.header.Get("Etag") {
		t.Error("a replace kept the etag")
	}
	w.do("PUT", coll, `{`+same+`}`).want(200).has("defaultTtl", "")
	keyless := strings.Replace(same, `"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},`, "", 1)
	w.do("PUT", coll, `{`+keyless+`,"indexingPolicy":{"indexingMode":"none"}}`).want(200).
		has("indexingPolicy.automatic", "false").has("partitionKey.paths", `["/pk"]`)
	for _, refused := range []string{
		`{"id":"other","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`,
		`{"id":"c","partitionKey":{"paths":["/other"],"kind":"Hash","version":2}}`,
		`{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/v"]}]}}`,
		`{"id":"c","partitionKey":"/pk"}`,
		`{"id":"c","defaultTtl":"5"}`,
		`not json`,
	} {
		w.do("PUT", coll, refused).fails(400, 0, "")
	}
	w.do("GET", coll, "").want(200).has("indexingPolicy.indexingMode", `"none"`).has("uniqueKeyPolicy",
		`{"uniqueKeys":[{"paths":["/u"]}]}`)
	w.do("PUT", "/dbs/d/colls/none", `{"id":"none"}`).fails(404, 0, "Resource Not Found")
}

func TestUnknownContainerProperties(t *testing.T) {
	t.Parallel()
	body := `{"id":"c","partitionKey":{"paths":["/pk"]},"novelty":{"a":1}}`
	lenient := newServerUnderTest(t)
	lenient.do("POST", "/dbs", `{"id":"d"}`).want(201)
	lenient.do("POST", colls, body).want(201).has("novelty", "")
	strict := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.server.Strict = true })
	strict.do("POST", "/dbs", `{"id":"d"}`).want(201)
	strict.do("POST", colls, body).fails(400, 0, "novelty")
	strict.do("GET", coll, "").fails(404, 0, "")
}

func TestContainerQuota(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	for i := range 3 {
		w.do("POST", docs, fmt.Sprintf(`{"id":"%d","pk":"a","text":"%s"}`, i,
			strings.Repeat("x", 1000))).want(201)
	}
	a := w.do("GET", coll, "", "x-ms-documentdb-populatequotainfo", "True").want(200)
	if q := a.header.Get("X-Ms-Resource-Quota"); !strings.Contains(q, "collectionSize=10485760;") {
		t.Errorf("quota %q", q)
	}
	if u := a.header.Get("X-Ms-Resource-Usage"); !strings.Contains(u, "documentsCount=3;") ||
		!strings.Contains(u, "collectionSize=3;") && !strings.Contains(u, "collectionSize=4;") {
		t.Errorf("usage %q", u)
	}
	a.head("x-ms-documentdb-collection-lazy-indexing-progress", "")
	w.do("GET", coll, "").want(200).head("x-ms-resource-usage", "")
}

func TestFeedPaging(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	for i := range 7 {
		w.do("POST", "/dbs", fmt.Sprintf(`{"id":"db%d"}`, i)).want(201)
	}
	w.do("GET", "/dbs", "", "x-ms-max-item-count", "-1").want(200).has("_count",
		"7").head("x-ms-continuation", "")
	if got := fmt.Sprint(w.pages("Databases", "GET", "/dbs", "", "x-ms-max-item-count",
		"3")); got != "[db0 db1 db2 db3 db4 db5 db6]" {
		t.Errorf("7 by 3: %s", got)
	}
	if got := len(w.pages("Databases", "GET", "/dbs", "", "x-ms-max-item-count", "7")); got != 1 {
		t.Errorf("7 by 7: %d pages", got)
	}
	// The rows around the seam go while a client is between two pages, and new ones come.
	token := w.do("GET", "/dbs", "", "x-ms-max-item-count", "3").want(200).header.Get("X-Ms-Continuation")
	for _, id := range []string{"db0", "db2", "db3"} {
		w.do("DELETE", "/dbs/"+id, "").want(204)
	}
	w.do("POST", "/dbs", `{"id":"db0"}`).want(201)
	if got := w.do("GET", "/dbs", "", "x-ms-continuation",
		token).want(200).ids("Databases"); got != "db4 db5 db6 db0" {
		t.Errorf("after deletions: %s", got)
	}
	for _, bad := range []string{"x", "Databases", "Databases:xyz", "DocumentCollections:00000001",
		"Databases:0000 0001", "ÿ"} {
		w.do("GET", "/dbs", "", "x-ms-continuation", bad).fails(400, 0, "Invalid Continuation Token")
	}
}

func TestContainerFeedPaging(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	for i := range 300 { // so many that the numbers in their rids need more than one byte
		w.do("POST", colls, fmt.Sprintf(`{"id":"c%d","partitionKey":{"paths":["/pk"]}}`, i)).want(201)
	}
	pages := w.pages("DocumentCollections", "GET", colls, "", "x-ms-max-item-count", "70")
	all := strings.Fields(strings.Join(pages, " "))
	if len(pages) != 5 || len(all) != 300 {
		t.Fatalf("%d pages, %d containers", len(pages), len(all))
	}
	for i, id := range all {
		if id != fmt.Sprintf("c%d", i) {
			t.Fatalf("%s at %d", id, i)
		}
	}
	if got := len(w.pages("DocumentCollections", "GET", colls, "")); got != 3 {
		t.Errorf("%d pages of the default size", got)
	}
	if got := len(w.pages("Offers", "GET", "/offers", "", "x-ms-max-item-count", "60")); got != 5 {
		t.Errorf("%d pages of offers", got)
	}
}

func TestResourceQueries(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	for _, id := range []string{"one", "two", "three"} {
		w.do("POST", "/dbs", `{"id":"`+id+`"}`).want(201)
	}
	for query, want := range map[string]string{
		`{"query":"SELECT * FROM c"}`: "one two three",
		`{"query":"SELECT * FROM root r WHERE r.id = @id","parameters":[{"name":"@id","value":"two"}]}`: "two",
		`{"query":"select * from c where c.id = 'three'","parameters":[]}`:                              "three",
		`{"query":"SELECT * FROM c WHERE c.id = @id","parameters":[{"name":"@id","value":null}]}`:       "",
		`{"query":"SELECT * FROM c WHERE c.id = @id","parameters":[{"name":"@id"}]}`:                    "",
		// not given: undefined
		`{"query":"SELECT * FROM c WHERE c.id = @id"}`:                           "",
		`{"query":"SELECT TOP 2 c.id FROM c WHERE c._ts > 0 AND c.id != 'one'"}`: "two three",
	} {
		if got := w.do("POST", "/dbs", query, queryHeaders()...).want(200).ids("Databases"); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	w.do("POST", "/dbs", "SELECT * FROM c WHERE c.id = 'one'", "Content-Type",
		"application/sql").want(200).has("_count", "1")
	byOne := w.pages("Databases", "POST", "/dbs", `{"query":"SELECT * FROM c"}`,
		queryHeaders("x-ms-max-item-count", "1")...)
	if len(byOne) != 3 {
		t.Errorf("three by one: %q", byOne)
	}
	// A filter that lets nothing more through ends the feed with the page that it filled.
	w.do("POST", "/dbs", `{"query":"SELECT * FROM c WHERE c.id = 'one'"}`,
		queryHeaders("x-ms-max-item-count", "1")...).
		want(200).head("x-ms-continuation", "").head("x-ms-documentdb-query-metrics", "")

	metrics := w.do("POST", "/dbs", `{"query":"SELECT * FROM c WHERE c.id = 'two'"}`,
		queryHeaders("x-ms-documentdb-populatequerymetrics", "True")...).
		want(200).header.Get("X-Ms-Documentdb-Query-Metrics")
	if !strings.Contains(metrics, ";retrievedDocumentCount=3;") ||
		!strings.Contains(metrics, ";outputDocumentCount=1;") {
		t.Errorf("metrics %q", metrics)
	}
	w.do("POST", "/dbs", `{"query":"SELECT * FORM c"}`, queryHeaders()...).
		fails(400, 0, `{"errors":[{"severity":"Error","location":{"start":9,"end":13},"code":"SC1001","message":"Syntax error, incorrect syntax near 'FORM'."}]}`)
	w.do("POST", "/dbs", `{"query":"SELECT * FROM c","parameters":[{"name":"@a","value":1},{"name":"@a","value":2}]}`, queryHeaders()...).
		fails(400, 0, "Invalid query. Specified duplicate parameter name '@a'.")
	for _, bad := range []string{``, `{}`, `[]`, `{"query":1}`, `{"query":"SELECT * FROM c","parameters":{}}`,
		`{"query":"SELECT * FROM c","parameters":[1]}`,
		`{"query":"SELECT * FROM c","parameters":[{"name":"id","value":1}]}`} {
		w.do("POST", "/dbs", bad, queryHeaders()...).fails(400, 0, "")
	}
	w.do("POST", "/dbs", "SELECT * FROM c WHERE c.id = '\xff'", "Content-Type", "application/sql").fails(400,
		0, "UTF-8")
}

func TestRanges(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	one := w.container("")
	path := coll + "/pkranges"
	a := w.do("GET", path, "").want(200).has("_rid", one.at("_rid").Raw).has("_count", "1").
		head("x-ms-continuation", "").
		has("PartitionKeyRanges.0.id", `"0"`).has("PartitionKeyRanges.0.minInclusive",
		`""`).has("PartitionKeyRanges.0.maxExclusive", `"FF"`).
		has("PartitionKeyRanges.0.parents", "[]").has("PartitionKeyRanges.0.status",
		`"online"`).has("PartitionKeyRanges.0.throughputFraction", "1").
		has("PartitionKeyRanges.0.ridPrefix", "0")
	a.has("PartitionKeyRanges.0._self", `"`+one.at("_self").Str+"pkranges/"+
		a.at("PartitionKeyRanges.0._rid").Str+`/"`)
	etag := a.header.Get("Etag")
	byRID := "/" + strings.TrimSuffix(one.at("_self").Str, "/") + "/pkranges/"
	w.do("GET", byRID, "", "A-IM", "Incremental Feed", "x-ms-max-item-count", "-1").want(200).head("etag",
		etag)
	unchanged := w.do("GET", byRID, "", "A-IM", "Incremental feed", "If-None-Match",
		etag).want(304).head("etag", etag)
	if len(unchanged.body) > 0 {
		t.Errorf("304 with the body %s", unchanged.body)
	}
	w.do("GET", byRID, "", "A-IM", "Incremental feed", "If-None-Match", `"other"`).want(200)
	w.do("GET", "/dbs/d/colls/none/pkranges", "").fails(404, 1003, "Resource Not Found")

	w.do("POST", colls, `{"id":"four","partitionKey":{"paths":["/pk"],"version":2}}`, "x-ms-offer-throughput",
		"21000").want(201)
	four := w.do("GET", "/dbs/d/colls/four/pkranges", "").want(200).has("_count",
		"4").head("x-ms-continuation", "")
	last := ""
	for _, r := range four.at("PartitionKeyRanges").Array() {
		if r.Get("minInclusive").Str != last || r.Get("throughputFraction").Num != 0.25 {
			t.Errorf("range %s after %q", r.Raw, last)
		}
		last = r.Get("maxExclusive").Str
	}
	if last != "FF" {
		t.Errorf("the ranges end at %q", last)
	}
	pages := w.pages("PartitionKeyRanges", "GET", "/dbs/d/colls/four/pkranges", "", "x-ms-max-item-count",
		"3")
	if fmt.Sprint(pages) != "[0 1 2 3]" || len(pages) != 2 {
		t.Errorf("four by three: %q", pages)
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	const path = "/_mayfly/clock"
	bearer := []string{"Authorization", "Bearer " + EmulatorKey}
	put := func(body string) *testResponse { t.Helper(); return w.do("PUT", path, body, bearer...) }
	w.do("GET", path, "", bearer...).want(200).has("now", `"2027-03-01T12:00:00Z"`).has("frozen",
		"true").has("rate", "0").has("virtual", "true")
	put(`{"advance":"90s"}`).want(200).has("now", `"2027-03-01T12:01:30Z"`)
	put(`{"set":"2030-01-01T00:00:00Z","advance":"1h","freeze":true}`).want(200).has("now",
		`"2030-01-01T01:00:00Z"`).has("frozen", "true")
	put(`{"set":"2030-01-01T06:00:00+05:00"}`).want(200).has("now", `"2030-01-01T01:00:00Z"`)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201).has("_ts",
		fmt.Sprint(time.Date(2030, 1, 1, 1, 0, 0, 0, time.UTC).Unix()))
	for _, bad := range []string{``, `{}`, `[]`, `{"freeze":1}`, `{"set":5}`, `{"set":"tomorrow"}`,
		`{"advance":true}`, `{"advance":"-1s"}`, `{"advance":-90}`, `{"advance":"90x"}`,
		`{"speed":2}`, `{"advance":"1s","speed":2}`, `{"advance":"1s","advance":"1s"}`, `{"set":"2029-12-31T00:00:00Z"}`, `{"set":"9999-12-31T23:00:00Z","advance":"2h"}`} {
		put(bad).fails(400, 0, "")
	}
	w.do("GET", path, "", bearer...).want(200).has("now", `"2030-01-01T01:00:00Z"`)
	w.do("GET", path, "", "Authorization", "Bearer AAAA").want(401)

	real := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.store.Clock = ttl.SystemClock{} })
	real.do("PUT", path, `{"advance":"1s"}`, bearer...).fails(403, 0, "")
	real.do("GET", path, "", bearer...).want(200).has("frozen", "false").has("rate", "1").has("virtual",
		"false")
}
