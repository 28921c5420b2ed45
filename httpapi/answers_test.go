package httpapi

import (
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/rntbdtest"
)

// TestDirectErrorBody checks that the body of an error in direct mode is the bare JSON of a replica,
// such as {"Errors":[...]}, without the code, message and activity id that a gateway puts around it.
func TestDirectErrorBody(t *testing.T) {
	t.Parallel()
	w := newDirectModeTestServer(t)
	w.container()
	l := w.dial()
	l.want(201, 0, "create", "", `{"id":"1","pk":"a"}`, keyA)
	query := `{"query":"SELECT * FORM c"}`
	for _, a := range []*rntbdtest.Response{
		l.want(409, 0, "create", "", `{"id":"1","pk":"a"}`, keyA), l.want(404, 0, "read", "x", "", keyA),
		l.want(400, 1001, "create", "", `{"id":"1","pk":"b"}`, keyA), l.want(400, 0, "create", "",
			`{"pk":"a"}`, keyA),
		l.want(412, 0, "replace", "1", `{"id":"1","pk":"a"}`, keyA, rntbdtest.Text(0x08, `"other"`)),
		l.want(404, 1002, "read", "1", "", keyA, rntbdtest.Text(0x05, "0:-1#40")),
		l.want(410, 1002, "query", "", `{"query":"SELECT * FROM c"}`, rntbdtest.Text(0x2C, "7")),
	} {
		if !strings.HasPrefix(string(a.Body), `{"Errors":["`) || strings.Contains(string(a.Body),
			"ActivityId") {
			t.Errorf("%s", a.Body)
		}
	}
	if a := l.want(400, 0, "query", "", query, rntbdtest.Text(0x2C, "0")); !strings.HasPrefix(
		string(a.Body), `{"errors":[{"severity":"Error"`) {
		t.Errorf("%s", a.Body)
	}
	w.do("GET", docs+"/x", "", pk(`["a"]`)...).fails(404, 0, "Resource Not Found")
}

// TestDirectOptimisticQueryResponse checks that the response to a query with optimistic direct execution
// (a query of one range that runs without a query plan) says in direct mode that the query need not be
// distributed over ranges. If that is missing, the client assumes the opposite.
func TestDirectOptimisticQueryResponse(t *testing.T) {
	t.Parallel()
	w := newDirectModeTestServer(t)
	w.container()
	l := w.dial()
	query := `{"query":"SELECT * FROM c"}`
	at := rntbdtest.Text(0x2C, "0")
	if got := l.want(200, 0, "query", "", query, at, rntbdtest.Flag(0xC8, 1)).Values[0x66]; got != uint64(0) {
		t.Errorf("with optimistic execution: %v", got)
	}
	if got := l.want(200, 0, "query", "", query, at).Values[0x66]; got != nil {
		t.Errorf("without: %v", got)
	}
}

// TestDirectQuorumAcknowledgedLSN checks the LSNs (log sequence numbers) in direct mode: the
// response to a write at LSN 2 reports 2 as the LSN but 1 as the LSN that a quorum has acknowledged. A
// later read reports 2 for both.
func TestDirectQuorumAcknowledgedLSN(t *testing.T) {
	t.Parallel()
	w := newDirectModeTestServer(t)
	w.container()
	l := w.dial()
	l.want(201, 0, "create", "", `{"id":"1","pk":"a"}`, keyA)
	second := l.want(201, 0, "create", "", `{"id":"2","pk":"a"}`, keyA)
	read := l.want(200, 0, "read", "2", "", keyA)
	for id, want := range map[uint16]int64{0x13: 2, 0x3A: 2, 0x1A: 1, 0x3B: 1} {
		if got := second.Values[id]; got != want {
			t.Errorf("a write at LSN 2: token %x is %v", id, got)
		}
		if got := read.Values[id]; got != int64(2) {
			t.Errorf("a read at LSN 2: token %x is %v", id, got)
		}
	}
}

// TestChangeFeedQueries checks that each page of a change feed that is filtered by a query has the header
// x-ms-item-count, and that direct mode accepts this request as a ReadFeed operation with a body.
func TestChangeFeedQueries(t *testing.T) {
	t.Parallel()
	w := newDirectModeTestServer(t)
	w.container()
	w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
	query := `{"query":"SELECT * FROM c WHERE c.id = '1'"}`
	first := w.do("POST", docs, query, queryHeaders(incremental()...)...).want(200).head("x-ms-item-count",
		"1")
	w.do("POST", docs, query, queryHeaders(incremental("If-None-Match", first.header.Get("Etag"))...)...).
		want(304).
		head("x-ms-item-count", "0")
	l := w.dial()
	feed, at := rntbdtest.Text(0x3F, "Incremental Feed"), rntbdtest.Text(0x2C, "0")
	page := l.want(200, 0, "readfeed", "", query, feed, at)
	if page.Values[0x14] != uint64(1) {
		t.Errorf("%v %s", page.Values, page.Body)
	}
	last := l.want(304, 0, "readfeed", "", query, feed, at, rntbdtest.Text(0x08, page.Values[0x04].(string)))
	if last.Values[0x14] != uint64(0) {
		t.Errorf("%v", last.Values)
	}
}

// TestChangeFeedPositionBeforeTime checks that If-None-Match, a position in the change feed, has
// precedence over If-Modified-Since, a time, if a request has both.
func TestChangeFeedPositionBeforeTime(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	lsn := w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201).header.Get("Lsn")
	w.clock.Advance(1e9)
	w.do("POST", docs, `{"id":"2","pk":"a"}`, pk(`["a"]`)...).want(201)
	late := w.clock.Now().UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
	a := w.do("GET", docs, "", incremental("If-None-Match", `"`+lsn+`"`, "If-Modified-Since", late)...).
		want(200)
	if got := a.at("Documents.#.id").Raw; got != `["2"]` {
		t.Errorf("behind the first: %s", got)
	}
	w.do("GET", docs, "", incremental("If-Modified-Since", late)...).want(304)
}

// TestPutOfAbsentItem checks that PUT of an item that does not exist fails with 404, even if the document
// is invalid.
func TestPutOfAbsentItem(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", docs, `{"id":"there","pk":"a"}`, pk(`["a"]`)...).want(201)
	for _, body := range []string{``, `{}`, `{"id":"x","pk":"b"}`, `{"id":"y","pk":"a"}`,
		`{"id":"x","pk":"a"}`, `[`} {
		w.do("PUT", docs+"/x", body, pk(`["a"]`)...).fails(404, 0, "Resource Not Found")
	}
	w.do("PUT", docs+"/there", `{"id":"there","pk":"b"}`, pk(`["a"]`)...).fails(400, 1001, "")
	w.do("PUT", docs+"/there", `{}`, pk(`["a"]`)...).fails(400, 0, "")
}

// TestAbsentByRID checks that a request that addresses an item by its rid (resource id) but names another
// partition key fails with the same 404, LSN and session token as a request that addresses it by its id.
func TestAbsentByRID(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	made := w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
	self := "/" + strings.Trim(made.at("_self").Str, "/")
	by := w.do("GET", docs+"/1", "", pk(`["b"]`)...).fails(404, 0, "")
	for _, method := range []string{"GET", "DELETE"} {
		a := w.do(method, self, "", pk(`["b"]`)...).fails(404, 0, "")
		if a.header.Get("Lsn") != by.header.Get("Lsn") ||
			a.header.Get("X-Ms-Session-Token") != by.header.Get("X-Ms-Session-Token") {
			t.Errorf("%s: %v, want as %v", method, a.header, by.header)
		}
	}
	w.do("GET", self, "", append(pk(`["b"]`), "x-ms-session-token", w.token("0", "1000"))...).fails(404,
		1002, "")
}

// TestProcedureArgumentsWithoutArray checks that a JSON value that is not an array is converted to the
// arguments of a stored procedure as Function.prototype.apply does: an object with a length is like an array.
func TestProcedureArgumentsWithoutArray(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", coll+"/sprocs", `{"id":"n","body":"function () { `+
		`getContext().getResponse().setBody(arguments.length + ':' + arguments[0]); }"}`).want(201)
	for body, want := range map[string]string{
		`null`: `"0:undefined"`, `{}`: `"0:undefined"`, `{"a":1}`: `"0:undefined"`, `[1]`: `"1:1"`,
		`{"0":"x","length":1}`: `"1:x"`, `{"0":"x","length":"1"}`: `"1:x"`, `{"0":"x","length":1.5}`: `"1:x"`,
		`{"1":"x","length":2}`: `"2:undefined"`, `{"0":"x","length":-1}`: `"0:undefined"`,
	} {
		if a := w.do("POST", coll+"/sprocs/n", body, pk(`["a"]`)...).want(200); string(a.body) != want {
			t.Errorf("%s: %s, want %s", body, a.body, want)
		}
	}
	w.do("POST", coll+"/sprocs/n", `"x"`, pk(`["a"]`)...).fails(400, 0, "must be a JSON array")
	w.do("POST", coll+"/sprocs/n", `{"length":1e9}`, pk(`["a"]`)...).fails(400, 0, "")
}

// TestLogOfAFailure checks that the error response of a stored procedure that throws contains what it has
// logged with console.log before.
func TestLogOfAFailure(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", coll+"/sprocs",
		`{"id":"t","body":"function () { console.log('before'); throw new Error('no'); }"}`).
		want(201)
	w.do("POST", coll+"/sprocs/t", `[]`, append(pk(`["a"]`), "x-ms-documentdb-script-enable-logging",
		"true")...).
		fails(400, 0, "no").head("x-ms-documentdb-script-log-results", "before")
}

// TestPreTriggerOfADelete checks that getBody() of the request returns the item to be deleted in a
// pre-trigger of a delete.
func TestPreTriggerOfADelete(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", coll+"/triggers",
		`{"id":"keep","triggerType":"Pre","triggerOperation":"Delete","body":"function () {`+
			` if (getContext().getRequest().getBody().keep) throw new Error('kept'); }"}`).want(201)
	w.do("POST", docs, `{"id":"1","pk":"a","keep":true}`, pk(`["a"]`)...).want(201)
	w.do("POST", docs, `{"id":"2","pk":"a"}`, pk(`["a"]`)...).want(201)
	with := append(pk(`["a"]`), "x-ms-documentdb-pre-trigger-include", "keep")
	w.do("DELETE", docs+"/1", "", with...).fails(400, 0, "kept")
	w.do("DELETE", docs+"/2", "", with...).want(204)
}

// TestReadFeedIsJSONText checks that the response to a read feed (a list of items) is JSON text even if the
// client requests binary JSON. The response to a query is then binary.
func TestReadFeedIsJSONText(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
	binary := []string{"x-ms-documentdb-content-serialization-format", "CosmosBinary"}
	if a := w.do("GET", docs, "", binary...).want(200); a.binary {
		t.Error("a feed is binary")
	}
	if a := w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders(binary...)...).
		want(200); !a.binary {
		t.Error("a query's answer is text")
	}
}

// TestBatchResponseHeaders checks the headers of the response to a batch: the number of operations, the
// substatus 1001 if an operation has another partition key, and no x-ms-content-path (the rid of the
// container) if the batch failed.
func TestBatchResponseHeaders(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	a := w.do("POST", docs, `[{"operationType":"Create","resourceBody":{"id":"1","pk":"a"}},`+
		`{"operationType":"Create","resourceBody":{"id":"2","pk":"b"}}]`, atomicBatch(`["a"]`)...).want(207)
	a.head("x-ms-item-count", "2").head("x-ms-substatus", "1001").head("x-ms-content-path", "")
	w.do("POST", docs, `[{"operationType":"Create","resourceBody":{"id":"1","pk":"a"}}]`,
		atomicBatch(`["a"]`)...).
		want(200).head("x-ms-item-count", "1").head("x-ms-substatus", "")
}

// TestOrderByOfResources checks that ORDER BY is refused in queries over resources other than items, such
// as databases, containers, scripts and offers.
func TestOrderByOfResources(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	for _, path := range []string{"/dbs", colls, coll + "/sprocs", "/offers"} {
		w.do("POST", path, `{"query":"SELECT * FROM c ORDER BY c.id"}`, queryHeaders()...).fails(400, 0,
			"Order-by is not supported for the target resource type.")
		w.do("POST", path, `{"query":"SELECT * FROM c"}`, queryHeaders()...).want(200)
	}
}

// TestRefusedDefinitions checks that container definitions that Cosmos DB refuses are refused with its
// error messages.
func TestRefusedDefinitions(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	const key = `,"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}`
	vectors := `"vectorEmbeddingPolicy":{"vectorEmbeddings":[` +
		strings.Repeat(`{"path":"/v1","dataType":"float32",`+
			`"dimensions":2,"distanceFunction":"cosine"},`, 2)
	const conflicts = `"conflictResolutionPolicy":{"mode":`
	for definition, text := range map[string]string{
		conflicts + `"LastWriterWins","conflictResolutionPath":"/a/b"}`: `Invalid path '\\/a\\/b' ` +
			`for last writer wins conflict resolution`,
		conflicts + `"LastWriterWins","conflictResolutionProcedure":"x"}`: "LastWriterWins " +
			"conflict resolution mode should not have conflict resolution procedure set.",
		conflicts + `"Custom","conflictResolutionPath":"/a"}`: "Custom conflict resolution mode " +
			"should not have conflict resolution path set.",
		strings.TrimSuffix(vectors, ",") +
			`]}`: "Duplicate Path :/v1 found in Vector Embedding Policy.",
		`"materializedViewDefinition":{"sourceId":"c"}`:                    "materializedViewDefinition",
		`"globalSecondaryIndexDefinition":{"sourceId":"c"}`:                "globalSecondaryIndexDefinition",
		`"fullTextPolicy":{"defaultLanguage":""}`:                          "language",
		`"fullTextPolicy":{"fullTextPaths":[{"path":"/t","language":""}]}`: "language",
		`"computedProperties":[{"name":"spatial","query":"SELECT VALUE c.p FROM c"}],` +
			`"indexingPolicy":{"spatialIndexes":` +
			`[{"path":"/spatial/*","types":["Point"]}]}`: "Computed property 'spatial' at index (0) " +
			"has a spatial index. " +
			"Remove the spatial index on this path.",
	} {
		w.do("POST", colls, `{"id":"no",`+definition+key+`}`).fails(400, 0, text)
	}
	w.do("POST", colls, `{"id":"no","partitionKey":{"paths":["/a","/b","/c","/d"],"kind":"MultiHash",`+
		`"version":2}}`).
		fails(400, 0, "Too many partition key paths (4) specified. A maximum of 3 is allowed.")
	same := `{"id":"c"` + key +
		`,"conflictResolutionPolicy":{"mode":"lastWriterWins","conflictResolutionPath":"`
	w.do("PUT", coll, same+`/_ts"}}`).want(200)
	w.do("PUT", coll, same+`/other"}}`).fails(400, 0,
		"Updating conflict resolution policy is currently not supported")
	w.do("POST", colls, `{"id":"h","partitionKey":{"paths":["/a","/b"],"kind":"MultiHash","version":2}}`).
		want(201)
	w.do("POST", colls+"/h/docs", `{"id":"1","a":"x"}`, pk(`["x","y"]`)...).fails(400, 1001,
		"PartitionKey extracted from document doesn't match the one specified in the header.")
	w.do("POST", docs, `{"id":"s","pk":"a","s":{}}`, pk(`["a"]`)...).want(201)
	patch := func(name string) *testResponse {
		return w.do("PATCH", docs+"/s", `[{"op":"set","path":"/s/`+name+`","value":1}]`, pk(`["a"]`)...)
	}
	patch("12345678901234567890").fails(400, 0,
		"Token('12345678901234567890') has length longer than expected")
	patch("1234567890123456789").want(200)
	patch("a12345678901234567890").want(200)
}

// TestAutoscaleOfAnUnusedDatabase checks that the autoscale maximum that the containers of a database
// share can be raised above 10,000 RU/s, the maximum of one partition range, only if the database has a
// container that uses it.
func TestAutoscaleOfAnUnusedDatabase(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"s"}`, "x-ms-cosmos-offer-autopilot-settings", `{"maxThroughput":4000}`).
		want(201)
	offer := w.do("GET", "/offers", "").want(200).at("Offers.0")
	raise := func(ru string) *testResponse {
		return w.do("PUT", "/offers/"+offer.Get("id").Str, `{"id":"`+offer.Get("id").Str+
			`","content":{"offerAutopilotSettings":{"maxThroughput":`+ru+`}}}`)
	}
	raise("12000").fails(400, 0, "There are no collections using the shared database offer.")
	raise("10000").want(200)
	w.do("POST", "/dbs/s/colls", `{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"}}`).want(201)
	raise("12000").want(200)
}

// TestContinuousBackup checks that with the store's option ContinuousBackup every container has the change
// feed of all versions and deletes, without a change feed policy of its own.
func TestContinuousBackup(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.store.ContinuousBackup = true })
	w.container("")
	full := []string{"A-IM", "Full-Fidelity Feed", "x-ms-cosmos-changefeed-wire-format-version", "2021-09-15"}
	now := w.do("GET", docs, "", append(full, "If-None-Match", "*")...).want(304).header.Get("Etag")
	w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
	w.do("DELETE", docs+"/1", "", pk(`["a"]`)...).want(204).head("content-type", "application/json")
	a := w.do("GET", docs, "", append(full, "If-None-Match", now)...).want(200)
	if got := a.at("Documents.#.metadata.operationType").Raw; got != `["create","delete"]` {
		t.Errorf("%s", a.body)
	}
	if got := w.do("GET", coll, "").want(200).at("changeFeedPolicy").Raw; got != "" {
		t.Errorf("the container has %s", got)
	}
	w.do("GET", "/", "").want(200).has("continuousBackupEnabled", "true")
	w.db.SetContinuousBackup(false)
	w.do("GET", "/", "").want(200).has("continuousBackupEnabled", "false")
}

// TestIndexKinds checks that the kinds of indexes (Hash, Range) in an indexing policy are returned only to
// clients whose x-ms-version is old enough to know them.
func TestIndexKinds(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	const kinds = `[{"kind":"Hash","dataType":"String"},{"kind":"Range","dataType":"Number"}]`
	body := `{"id":"c",` + keyedByPK + `,"indexingPolicy":{"includedPaths":[{"path":"/*","indexes":` +
		kinds + `}]}}`
	version := func(v string) []string { return []string{"x-ms-version", v} }
	of := func(a *testResponse, path string) string {
		return a.at(path + "indexingPolicy.includedPaths.0.indexes").Raw
	}
	for v, want := range map[string]string{"2018-08-31": kinds, "2015-08-06": kinds, "2018-09-17": "",
		"2020-07-15": ""} {
		made := w.do("POST", "/dbs/d/colls", body, version(v)...).want(201)
		read := w.do("GET", coll, "", version(v)...).want(200)
		listed := w.do("GET", "/dbs/d/colls", "", version(v)...).want(200)
		for _, got := range []string{of(made, ""), of(read, ""), of(listed, "DocumentCollections.0.")} {
			if got != want {
				t.Errorf("%s: %s, want %s", v, got, want)
			}
		}
		w.do("DELETE", coll, "").want(204)
	}
}
