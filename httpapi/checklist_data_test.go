package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/hybridrowtest"
)

func checkETags(t *testing.T) {
	w := checked(t)
	key := pk(`["a"]`)
	a := w.do("GET", docs+"/i", "", key...).want(200)
	etag := a.header.Get("Etag")
	if len(etag) < 3 || etag[0] != '"' || etag[len(etag)-1] != '"' || a.at("_etag").Str != etag {
		t.Fatalf("header %s, body %s", etag, a.at("_etag").Raw)
	}
	// some clients take the quotes off, some proxies put a mark in front
	for _, form := range []string{`%s`, `"%s"`, `W/"%s"`} {
		asked := fmt.Sprintf(form, strings.Trim(etag, `"`))
		w.do("GET", docs+"/i", "", append(key, "If-None-Match", asked)...).want(304).head("etag", etag)
		a = w.do("PUT", docs+"/i", `{"id":"i","pk":"a"}`, append(key, "If-Match", asked)...).want(200)
		a.head("etag", a.at("_etag").Str)
		w.do("PUT", docs+"/i", `{"id":"i","pk":"a"}`, append(key, "If-Match", asked)...).fails(412, 0,
			"pre-condition")
		w.do("GET", docs+"/i", "", append(key, "If-None-Match", asked)...).want(200)
		etag = a.header.Get("Etag")
	}
	one := `[{"operationType":"Replace","id":"i","resourceBody":{"id":"i","pk":"a"},"ifMatch":` +
		jsonString(etag) + `}]`
	b := w.do("POST", docs, one, atomicBatch(`["a"]`)...).results(200, "200")
	b.has("0.eTag", b.at("0.resourceBody._etag").Raw)
	w.do("POST", docs, one, atomicBatch(`["a"]`)...).results(207, "412")
	for _, path := range []string{"/dbs/d", coll, users + "/u"} {
		r := w.do("GET", path, "").want(200)
		r.head("etag", r.at("_etag").Str)
	}
}

func checkRowAnswers(t *testing.T) {
	w := newServerUnderTest(t)
	w.container(`"partitionKey":{"paths":["/id"]}`)
	create := hybridrowtest.Bytes(t, hybridrowtest.Segment+hybridrowtest.CreateHead+hybridrowtest.Create)
	for _, want := range []struct {
		code int
		row  string
	}{{200, "201/0 true true"}, {207, "409/0 false false"}} { // it fails in the same form
		if code, rows := w.rowAnswer(create, atomicBatch(`["1"]`)...); code != want.code || len(rows) != 1 ||
			rows[0] != want.row {
			t.Errorf("%d %q, want %v", code, rows, want)
		}
	}
	// What is wrong with the request as a whole is an error like any other.
	broken := bytes.Clone(create)
	broken[30] ^= 1
	w.do("POST", docs, string(broken), atomicBatch(`["1"]`)...).fails(400, 0, "")
	w.do("POST", docs, `[{"operationType":"Read","id":"1"}]`, atomicBatch(`["1"]`)...).results(200, "200")
}

func checkResultCount(t *testing.T) {
	w := checked(t, ranges(4))
	for n := 1; n <= 100; n += 33 {
		for failed := -1; failed < n; failed += max(1, n/2) {
			ops := make([]string, n)
			for i := range ops {
				ops[i] = fmt.Sprintf(`{"operationType":"Upsert","partitionKey":"[\"a\"]","resourceBody":{"id":"%d","pk":"a"}}`, i)
			}
			if failed >= 0 {
				ops[failed] = `{"operationType":"Delete","partitionKey":"[\"a\"]","id":"none"}`
			}
			body := "[" + strings.Join(ops, ",") + "]"
			for _, headers := range [][]string{atomicBatch(`["a"]`), bulk("0"), bulk("3"),
				append(pk(`["a"]`), "x-ms-cosmos-is-batch-request", "True")} {
				results := w.do("POST", docs, body, headers...).at("@this").Array()
				if len(results) != n {
					t.Fatalf("%d results for %d operations, of which %d fails", len(results), n, failed)
				}
				for i, r := range results {
					if r.Get("statusCode").Int() < 200 {
						t.Errorf("result %d: %s", i, r.Raw)
					}
				}
			}
		}
	}
}

func checkMultiStatus(t *testing.T) {
	w := checked(t)
	good, bad := `{"operationType":"Upsert","partitionKey":"[\"a\"]","resourceBody":{"id":"i","pk":"a","n":1}}`, `{"operationType":"Read","partitionKey":"[\"a\"]","id":"none"}`
	for _, headers := range [][]string{atomicBatch(`["a"]`), bulk("0")} {
		w.do("POST", docs, "["+good+","+good+"]", headers...).results(200, "200 200")
	}
	w.do("POST", docs, "["+good+","+bad+","+good+"]", bulk("0")...).results(207, "200 404 200")
	before := string(w.do("GET", docs, "").want(200).body)
	w.do("POST", docs, "["+good+","+bad+","+good+"]", atomicBatch(`["a"]`)...).results(207, "424 404 424")
	if after := string(w.do("GET", docs, "").want(200).body); after != before {
		t.Errorf("a batch that has failed leaves %s", after)
	}
}

func checkMinimalReturn(t *testing.T) {
	w := checked(t)
	key := pk(`["m"]`)
	for _, c := range []struct {
		code                  int
		method, path, body, h string
	}{
		{201, "POST", docs, `{"id":"m","pk":"m"}`, "false"}, {200, "POST", docs, `{"id":"m","pk":"m"}`,
			"true"},
		{200, "PUT", docs + "/m", `{"id":"m","pk":"m"}`, "false"}, {200, "PATCH", docs + "/m",
			`[{"op":"add","path":"/x","value":1}]`, "false"},
	} {
		for _, prefer := range []string{"return=minimal", "", "return=representation"} {
			if c.code == 201 {
				w.do("DELETE", docs+"/m", "", key...)
			}
			a := w.do(c.method, c.path, c.body, append(key, "x-ms-documentdb-is-upsert", c.h, "Prefer",
				prefer)...).want(c.code)
			if (len(a.body) == 0) != (prefer == "return=minimal") || a.header.Get("Etag") == "" ||
				a.header.Get("X-Ms-Session-Token") == "" {
				t.Errorf("%s with %q: %v %s", a.what, prefer, a.header, a.body)
			}
			if len(a.body) > 0 {
				a.has("_etag", jsonString(a.header.Get("Etag")))
			}
		}
	}
	w.do("GET", docs+"/m", "", append(key, "Prefer", "return=minimal")...).want(200).has("id", `"m"`)
}

func checkIntegers(t *testing.T) {
	w := checked(t)
	const body = `"n":1,"big":9007199254740993,"f":1.0,"e":1E2,"neg":-0`
	w.do("POST", docs, `{"id":"n","pk":"n",`+body+`}`, pk(`["n"]`)...).want(201)
	a := w.do("PATCH", docs+"/n", `[{"op":"incr","path":"/n","value":2}]`, pk(`["n"]`)...).want(200).has("n",
		"3").
		has("big", "9007199254740993").has("f", "1").has("e", "100").has("neg", "-0.0").has("_ts",
		strconv.FormatInt(start.Unix(), 10))
	for text, want := range map[string]string{
		"SELECT VALUE COUNT(1) FROM c": "1", "SELECT VALUE SUM(c.n) FROM c": "3", "SELECT VALUE MAX(c.n) FROM c": "3", "SELECT VALUE c.n + 1 FROM c": "4",
		"SELECT VALUE LENGTH(c.id) FROM c": "1", "SELECT VALUE AVG(c.n) FROM c": "3", "SELECT VALUE c.big FROM c": "9007199254740993",
	} {
		w.do("POST", docs, queryBody(text, ""), queryHeaders(pk(`["n"]`)...)...).want(200).has("Documents",
			"["+want+"]").has("_count", "1")
	}
	var container struct {
		TS         int64 `json:"_ts"`
		DefaultTTL int   `json:"defaultTtl"`
	}
	made := w.do("POST", colls, `{"id":"ttl",`+keyedByPK+`,"defaultTtl":3600}`).want(201)
	if err := json.Unmarshal(made.body, &container); err != nil || container.DefaultTTL != 3600 ||
		container.TS != start.Unix() {
		t.Errorf("%v %+v", err, container)
	}
	var ranges struct {
		Count              int `json:"_count"`
		PartitionKeyRanges []struct {
			RIDPrefix *int `json:"ridPrefix"`
			TS        int  `json:"_ts"`
			LSN       int  `json:"lsn"`
		}
	}
	if err := json.Unmarshal(w.do("GET", coll+"/pkranges", "").body, &ranges); err != nil ||
		ranges.Count != 1 {
		t.Errorf("%v %+v", err, ranges)
	}
	feed := w.do("GET", docs, "", incremental(pk(`["n"]`)...)...).want(200)
	feed.has("Documents.0._lsn", a.header.Get("Lsn"))
}

func checkSlashes(t *testing.T) {
	w := checked(t)
	ask := func(path string, signedPath string, key ...string) *testResponse {
		r := httptest.NewRequest("GET", "http://localhost"+path, nil)
		r.RequestURI = path
		date := start.Format(http.TimeFormat)
		r.Header.Set("X-Ms-Date", date)
		resource, link := signed(signedPath)
		r.Header.Set("Authorization", AuthorizationHeader(Sign(w.key, "GET", resource, link, date)))
		for i := 0; i < len(key); i += 2 {
			r.Header.Set(key[i], key[i+1])
		}
		return w.send(r)
	}
	for _, path := range []string{docs + "/i", docs + "/i/", "//dbs//d///colls/c/docs//i//"} {
		ask(path, docs+"/i", pk(`["a"]`)...).want(200).has("id", `"i"`)
	}
	for _, path := range []string{docs, docs + "/", "/dbs/d/colls//c/docs//"} {
		ask(path, docs).want(200).has("_count", "7")
	}
	ask("/dbs/", "/dbs").want(200)
	ask("//", "/").want(200).has("id", `"mayfly"`)
	ask("/dbs/D/", "/dbs/D").fails(404, 0, "")
}

func checkEscapes(t *testing.T) {
	w := checked(t)
	ids := []string{"a/b", "a+b", "a b", "a%20b", "100%", "a?b", "a#b", "ü😀", ";:@&=$,!*'()", `"q"`, " lead", "trail ", "Abc", "abc", "%2F"}
	for i, id := range ids {
		w.do("POST", docs, fmt.Sprintf(`{"id":%s,"pk":"e","n":%d}`, jsonString(id), i), pk(`["e"]`)...).want(201)
	}
	// encodeURI of JavaScript and .NET, of which the last two characters never come as they are.
	unescaped := strings.NewReplacer("%2F", "/", "%3F", "?", "%2B", "+", "%26", "&", "%3D", "=", "%3B", ";", "%3A", ":", "%40", "@", "%2C", ",", "%24", "$")
	for i, id := range ids {
		for _, escaped := range []string{url.PathEscape(id), unescaped.Replace(url.PathEscape(id)), strings.ReplaceAll(url.QueryEscape(id), "+", "%20")} {
			r := httptest.NewRequest("GET", "http://localhost/", nil)
			r.RequestURI = docs + "/" + escaped
			date := start.Format(http.TimeFormat)
			r.Header.Set("X-Ms-Date", date)
			r.Header.Set("X-Ms-Documentdb-Partitionkey", `["e"]`)
			r.Header.Set("Authorization", AuthorizationHeader(Sign(w.key, "GET", "docs", strings.TrimPrefix(docs, "/")+"/"+id, date)))
			w.send(r).want(200).has("id", jsonString(id)).has("n", strconv.Itoa(i))
		}
	}
}

func checkSkew(t *testing.T) {
	w := checked(t)
	for minutes, code := range map[int]int{-14: 200, 14: 200, 0: 200, -16: 403, 16: 403} {
		date := start.Add(time.Duration(minutes) * time.Minute).Format(http.TimeFormat)
		auth := AuthorizationHeader(Sign(w.key, "GET", "dbs", "", date))
		if a := w.do("GET", "/dbs", "", "x-ms-date", date, "Authorization", auth).want(code); code == 403 {
			a.fails(403, 0, "")
		}
	}
}

// eachContainer calls fn with a container's JSON from create (made), read, replace, list and query.
func (w *serverUnderTest) eachContainer(id string, made *testResponse, fn func(gjson.Result)) {
	w.t.Helper()
	fn(made.at("@this"))
	path := colls + "/" + id
	read := w.do("GET", path, "").want(200)
	fn(read.at("@this"))
	fn(w.do("PUT", path, string(read.body)).want(200).at("@this"))
	fn(w.do("GET", colls, "").want(200).at(`DocumentCollections.#(id="` + id + `")`))
	fn(w.do("POST", colls, queryBody("SELECT * FROM c WHERE c.id = '"+id+"'", ""), queryHeaders()...).want(200).at("DocumentCollections.0"))
}

func checkPartitionKeyShown(t *testing.T) {
	w := checked(t)
	for i, key := range []string{`{"paths":["/pk"],"kind":"Hash","version":2}`, `{"paths":["/a/b","/\"c d\""],"kind":"MultiHash","version":2}`} {
		id := fmt.Sprint("k", i)
		made := w.do("POST", colls, `{"id":"`+id+`","partitionKey":`+key+`}`).want(201)
		w.eachContainer(id, made, func(c gjson.Result) {
			for _, member := range []string{"paths", "kind", "version"} {
				if got := c.Get("partitionKey." + member).Raw; got != gjson.Get(key, member).Raw {
					t.Errorf("%s of %s: %s", member, id, c.Raw)
				}
			}
		})
	}
	// None asked for, and the old form without a version.
	made := w.do("POST", colls, `{"id":"none"}`).want(201)
	w.eachContainer("none", made, func(c gjson.Result) {
		if !c.Get("partitionKey.systemKey").Bool() || len(c.Get("partitionKey.paths").Array()) != 1 {
			t.Errorf("no partition key: %s", c.Raw)
		}
	})
	made = w.do("POST", colls, `{"id":"old","partitionKey":{"paths":["/pk"]}}`).want(201)
	w.eachContainer("old", made, func(c gjson.Result) {
		if v := c.Get("partitionKey.version").Raw; c.Get("partitionKey.kind").Str != "Hash" || v != "" && v != "1" {
			t.Errorf("the old form: %s", c.Raw)
		}
	})
}

func checkIndexingPolicyShown(t *testing.T) {
	w := checked(t)
	for id, policy := range map[string]string{"default": "", "none": `,"indexingPolicy":{"indexingMode":"none","automatic":false}`, "some": `,"indexingPolicy":{"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]}`} {
		made := w.do("POST", colls, `{"id":"`+id+`",`+keyedByPK+policy+`}`).want(201)
		w.eachContainer(id, made, func(c gjson.Result) {
			p := c.Get("indexingPolicy")
			if want := map[bool]string{true: "none", false: "consistent"}[id == "none"]; p.Get("indexingMode").Str != want || !p.Get("automatic").IsBool() ||
				id != "none" && (!p.Get("includedPaths").IsArray() || !p.Get("excludedPaths").IsArray() || len(p.Get("includedPaths").Array()) != 1) {
				t.Errorf("%s: %s", id, c.Raw)
			}
		})
	}
}

func checkOfferLinks(t *testing.T) {
	w := checked(t)
	for _, c := range []*testResponse{w.do("GET", coll, "").want(200), w.do("POST", "/dbs",
		`{"id":"shared"}`, "x-ms-offer-throughput", "800").want(201)} {
		self, rid := c.at("_self").Str, c.at("_rid").Str
		for _, query := range []string{
			queryBody(`SELECT * from root where root.resource = "`+self+`"`, ""),
			queryBody("SELECT * FROM root r WHERE r.resource=@link", `[{"name":"@link","value":`+jsonString(self)+`}]`),
			queryBody("SELECT * FROM c WHERE c.offerResourceId = '"+rid+"'", ""),
		} {
			a := w.do("POST", "/offers", query, queryHeaders()...).want(200).has("_count", "1").has("Offers.0.resource", jsonString(self)).has("Offers.0.offerResourceId", jsonString(rid))
			if !strings.HasSuffix(self, "/") {
				t.Errorf("link %q", self)
			}
			w.do("GET", "/offers/"+a.at("Offers.0.id").Str, "").want(200).has("resource", jsonString(self))
		}
	}
}

func checkIntended(t *testing.T) {
	w := checked(t)
	old := w.do("GET", coll, "").at("_rid").Str
	w.do("DELETE", coll, "").want(204)
	now := w.container(`"partitionKey":{"paths":["/id"],"kind":"Hash","version":2}`).at("_rid").Str
	for _, r := range []struct{ method, path, body string }{{"POST", docs, `{"id":"1","pk":"a"}`}, {"GET", docs + "/1", ""}, {"GET", docs, ""}, {"GET", coll + "/pkranges", ""}, {"GET", coll + "/sprocs", ""}} {
		w.do(r.method, r.path, r.body, append(pk(`["1"]`), "x-ms-cosmos-intended-collection-rid", old)...).fails(400, 1024, "")
	}
	w.do("GET", docs+"/1", "", pk(`["1"]`)...).want(404)
	w.do("POST", docs, `{"id":"1"}`, append(pk(`["1"]`), "x-ms-cosmos-intended-collection-rid", now)...).want(201)
}

func checkRetryAfter(t *testing.T) {
	w := checked(t, func(s *serverUnderTestOptions) { s.server.Throttle = true })
	write := func() *testResponse {
		return w.do("POST", docs, `{"id":"i","pk":"a","v":"`+strings.Repeat("x", 20_000)+`"}`, append(pk(`["a"]`), "x-ms-documentdb-is-upsert", "true")...)
	}
	a := write()
	for n := 0; a.code == 200 && n < 1000; n++ {
		a = write()
	}
	ms, err := strconv.Atoi(a.fails(429, 3200, "Request rate is large").header.Get("X-Ms-Retry-After-Ms"))
	if err != nil || ms < 1 || ms > 10_000 {
		t.Fatalf("retry after %d ms, %v", ms, err)
	}
	w.wall.Advance(time.Duration(ms) * time.Millisecond)
	write().want(200).head("x-ms-retry-after-ms", "")
}

func checkCharges(t *testing.T) {
	w := checked(t, ranges(4))
	positive := func(a *testResponse) {
		if list := a.header.Values("X-Ms-Request-Charge"); len(list) != 1 || a.charge() <= 0 {
			t.Errorf("%s: charge %q", a.what, list)
		}
	}
	w.everyWrite(positive)
	w.eachFeed(func(a *testResponse, _ string, _ int) { positive(a) })
	for _, f := range failing {
		positive(w.do(f.method, f.path, f.body, f.headers...).want(f.code))
	}
	positive(w.do("GET", "/", "").want(200))
	positive(w.askPlan("SELECT * FROM c ORDER BY c.id", allFeatures).want(200))
	_, etag := w.drain(docs, incremental()...)
	positive(w.do("GET", docs, "", incremental("If-None-Match", etag)...).want(304))
	small, large := w.do("GET", docs+"/i", "", pk(`["a"]`)...), w.do("POST", docs, `{"id":"l","pk":"a","v":"`+strings.Repeat("x", 100_000)+`"}`, pk(`["a"]`)...)
	if small.charge() >= large.charge() {
		t.Errorf("a read costs %v, a large write %v", small.charge(), large.charge())
	}
}

func checkItemCounts(t *testing.T) {
	w := checked(t, ranges(1)) // of several each has a page of its own
	w.eachFeed(func(a *testResponse, key string, rows int) {
		if key == "PartitionKeyRanges" {
			rows = 1
		}
		a.head("x-ms-item-count", strconv.Itoa(rows)).has("_count", strconv.Itoa(rows))
		if got := len(a.at(key).Array()); got != rows {
			t.Errorf("%s: %d rows, want %d", a.what, got, rows)
		}
	})
	w.do("GET", docs, "", incremental()...).want(200).head("x-ms-item-count", "7").has("_count", "7")
	w.do("GET", docs, "", pk(`["key1"]`)...).want(200).head("x-ms-item-count", "2").has("_count", "2")
}

func checkHeadAndOptions(t *testing.T) {
	w := checked(t)
	for _, path := range []string{"/", "/dbs", coll, docs, docs + "/i", docs + "/none", "/nothing", "/_mayfly/clock"} {
		r := httptest.NewRequest("OPTIONS", path, nil)
		r.Header.Set("Origin", "http://localhost:3000")
		r.Header.Set("Access-Control-Request-Method", "POST")
		r.Header.Set("Access-Control-Request-Headers", "authorization, x-ms-date")
		a := w.send(r).want(204).head("access-control-allow-origin", "http://localhost:3000").head("access-control-allow-headers", "authorization, x-ms-date")
		if !strings.Contains(a.header.Get("Access-Control-Allow-Methods"), "PATCH") {
			t.Errorf("%s: %v", path, a.header)
		}
		get, head := w.do("GET", path, "", pk(`["a"]`)...), w.do("HEAD", path, "", pk(`["a"]`)...)
		if head.code != get.code || head.code >= 500 || head.header.Get("Etag") != get.header.Get("Etag") {
			t.Errorf("HEAD %s: %d %v, GET %d %v", path, head.code, head.header, get.code, get.header)
		}
	}
	a := w.do("GET", docs+"/i", "", append(pk(`["a"]`), "Origin", "http://localhost:3000")...).want(200).head("access-control-allow-origin", "http://localhost:3000")
	for _, name := range []string{"etag", "x-ms-continuation", "x-ms-session-token", "x-ms-request-charge", "x-ms-substatus"} {
		if !strings.Contains(a.header.Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("%s is hidden: %v", name, a.header)
		}
	}
}
