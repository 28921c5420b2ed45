package httpapi

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/hybridrowtest"
)

// atomicBatch returns the headers of a transactional batch for a partition key, given as JSON.
func atomicBatch(key string) []string {
	return append(pk(key), "x-ms-cosmos-is-batch-request", "True", "x-ms-cosmos-batch-atomic", "true",
		"x-ms-cosmos-batch-ordered", "True")
}

func bulk(rangeID string) []string {
	return []string{"x-ms-cosmos-is-batch-request", "true", "x-ms-cosmos-batch-atomic", "false",
		"x-ms-cosmos-batch-continue-on-error", "True",
		"x-ms-documentdb-partitionkeyrangeid", rangeID}
}

// statuses returns the statuses of the results of a batch, joined by blanks; a substatus follows after a
// slash.
func (a *testResponse) statuses() string {
	var list []string
	for _, r := range a.at("@this").Array() {
		s := r.Get("statusCode").Raw
		if sub := r.Get("subStatusCode"); sub.Exists() {
			s += "/" + sub.Raw
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

func (a *testResponse) results(code int, want string) *testResponse {
	a.t.Helper()
	if a.want(code); a.statuses() != want {
		a.t.Errorf("%s: %s, want %s\n%s", a.what, a.statuses(), want, a.body)
	}
	return a
}

func TestAtomicBatchRequest(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(3))
	c := w.container("")
	first := w.do("POST", docs, `{"id":"0","pk":"a"}`, pk(`["a"]`)...).want(201)
	a := w.do("POST", docs, `[
		{"operationType":"Create","resourceBody":{"id":"1","pk":"a","n":1}},
		{"operationType":"Upsert","resourceBody":{"id":"2","pk":"a"}},
		{"operationType":"Upsert","resourceBody":{"id":"1","pk":"a","n":2}},
		{"operationType":"Read","id":"1"},
		{"operationType":"Patch","id":"1","resourceBody":{"condition":"from c where c.n = 2","operations":[{"op":"incr","path":"/n","value":1}]}},
		{"operationType":"Replace","id":"2","resourceBody":{"id":"2","pk":"a","v":true},"ifMatch":"*"},
		{"operationType":"Delete","id":"0","ifMatch":`+first.at("_etag").Raw+`,"resourceType":"Document"}]`, atomicBatch(`["a"]`)...).
		results(200, "201 201 200 200 200 200 204")
	a.has("3.resourceBody.n", "2").has("4.resourceBody.n", "3").has("5.resourceBody.v",
		"true").has("6.resourceBody", "").has("6.eTag", "").has("0.message", "").
		head("x-ms-content-path", c.at("_rid").Str)
	for i, r := range a.at("@this").Array() {
		if r.Get("requestCharge").Num <= 0 || i < 6 && r.Get("eTag").Str != r.Get("resourceBody._etag").Str {
			t.Errorf("result %d: %s", i, r.Raw)
		}
	}
	w.do("GET", docs+"/1", "", append(pk(`["a"]`), "x-ms-session-token",
		a.header.Get("X-Ms-Session-Token"))...).want(200).has("n", "3").head("etag", a.at("4.eTag").Str)

	a = w.do("POST", docs, `[{"operationType":"Upsert","resourceBody":{"id":"1","pk":"a","n":9}},{"operationType":"Create","resourceBody":{"id":"2","pk":"a"}},{"operationType":"Delete","id":"2"}]`,
		atomicBatch(`["a"]`)...).results(207, "424 409 424").has("1.resourceBody", "")
	if !strings.Contains(a.at("1.message").Str, "already exists") ||
		a.header.Get("X-Ms-Session-Token") == "" {
		t.Errorf("%v %s", a.header, a.body)
	}
	w.do("GET", docs+"/1", "", pk(`["a"]`)...).want(200).has("n", "3")

	a = w.do("POST", docs, `[{"operationType":"Read","id":"1","ifNoneMatch":"*"},{"operationType":"Delete","id":"2"}]`, atomicBatch(`["a"]`)...).
		results(207, "304 204").has("0.resourceBody", "")
	if a.at("0.eTag").Str == "" {
		t.Errorf("%s", a.body)
	}
	w.do("GET", docs+"/2", "", pk(`["a"]`)...).want(404)

	w.do("POST", docs, `[{"operationType":"Create","resourceBody":{"id":"3","pk":"b"}}]`,
		atomicBatch(`["a"]`)...).results(207, "400/1001")
	w.do("POST", docs, `[{"operationType":"Read","id":"1","partitionKey":"[\"b\"]"}]`,
		atomicBatch(`["a"]`)...).results(207, "400/1001")
	w.do("POST", docs, `[{"operationType":"Patch","id":"1","resourceBody":{"condition":"from c where c.n = 4","operations":[{"op":"incr","path":"/n","value":1}]}}]`, atomicBatch(`["a"]`)...).results(207, "412")
	w.do("POST", docs, `[{"operationType":"Read","id":"1"},{"operationType":"Patch","id":"1","resourceBody":[{"op":"incr","path":"n"}]}]`, atomicBatch(`["a"]`)...).results(207, "424 400")
}

// TestBatchDetails checks less common parts of a batch: conditions by etag, reads of items that do not
// exist, session tokens, and the headers of the response.
func TestBatchDetails(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	c := w.do("POST", colls, `{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`).want(
		201)
	w.do("POST", colls, `{"id":"h","partitionKey":{"paths":["/pk","/b"],"kind":"MultiHash","version":2}}`).want(201)
	made := w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
	read := func(more string) string { return `{"operationType":"Read","id":"1"` + more + `}` }

	etag := made.at("_etag").Raw
	w.do("POST", docs, "["+read(`,"ifMatch":`+etag)+"]", atomicBatch(`["a"]`)...).results(207,
		"304").head("x-ms-content-path", c.at("_rid").Str)
	w.do("POST", docs, "["+read(`,"ifMatch":"\"other\""`)+"]", atomicBatch(`["a"]`)...).results(200, "200")
	absent := w.do("POST", docs, "["+read("")+"]", atomicBatch(`["b"]`)...).results(207, "404")
	absent.head("x-ms-content-path", "")
	w.do("POST", docs, "["+read("")+","+read("")+"]", atomicBatch(`["b"]`)...).results(207,
		"404 424").head("x-ms-content-path", "")

	future := append(atomicBatch(`["a"]`), "x-ms-session-token", "0:-1#1000000")
	w.do("POST", docs, "["+read("")+"]", future...).fails(404, 1002, "")
	w.do("POST", docs, `[{"operationType":"Upsert","resourceBody":{"id":"1","pk":"a"}},`+read("")+"]",
		future...).fails(404, 1002, "")
	w.do("POST", docs, `[{"operationType":"Upsert","resourceBody":{"id":"1","pk":"a"}}]`,
		future...).results(200, "200")

	w.do("POST", colls+"/h/docs", `[{"operationType":"Create","resourceBody":{"id":"1","pk":"a","b":"b"}}]`,
		atomicBatch(`["a"]`)...).fails(400, 1001, "Partition key provided")
	w.do("POST", docs, "[]", atomicBatch(`["a"]`)...).fails(400, 0, "Batch request has no operations.")
	many := "[" + strings.Repeat(read("")+",", 100) + read("") + "]"
	w.do("POST", docs, many, atomicBatch(`["a"]`)...).fails(400, 0,
		"Batch request has more operations than what is supported.")

	w.do("DELETE", coll, "").want(204).head("x-ms-content-path", c.at("_rid").Str)
}

// TestBatchRaisesTheLSNByOne checks that all operations of a batch have one LSN (log sequence number): in
// the response headers, in the session token and in the change feed. A page of the feed contains the whole
// batch even if it is longer than the page size, and has the LSN as its etag.
func TestBatchRaisesTheLSNByOne(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.feedContainer("")
	before, err := strconv.Atoi(w.do("POST", docs, `{"id":"0","pk":"p"}`,
		pk(`["p"]`)...).want(201).header.Get("lsn"))
	if err != nil {
		t.Fatal(err)
	}
	at := strconv.Itoa(before + 1)
	w.do("POST", docs, `[{"operationType":"Create","resourceBody":{"id":"1","pk":"p"}},{"operationType":"Upsert","resourceBody":{"id":"2","pk":"p"}},`+
		`{"operationType":"Upsert","resourceBody":{"id":"1","pk":"p","n":1}},{"operationType":"Create","resourceBody":{"id":"3","pk":"p"}},`+
		`{"operationType":"Delete","id":"0"}]`, atomicBatch(`["p"]`)...).results(200, "201 201 200 201 204").
		head("lsn", at).head("x-ms-cosmos-llsn", at).head("x-ms-session-token", w.token("0", at))
	for _, id := range []string{"1", "2", "3"} {
		w.do("GET", docs+"/"+id, "", append(pk(`["p"]`), "x-ms-session-token", "0:-1#"+at)...).want(200).head(
			"lsn", at).head("x-ms-item-lsn", at)
	}
	w.do("GET", docs+"/1", "",
		append(pk(`["p"]`), "x-ms-session-token", "0:-1#"+strconv.Itoa(before+2))...).fails(404, 1002, "")

	feed := []string{"A-IM", "Incremental feed", "x-ms-max-item-count", "1"}
	page := w.do("GET", docs, "",
		append(feed, "If-None-Match", `"`+strconv.Itoa(before)+`"`)...).want(200).head("etag", `"`+at+`"`)
	if got := page.at("Documents.#._lsn").Raw; page.ids("Documents") != "2 1 3" || got != "["+at+","+at+","+
		at+"]" {
		t.Errorf("the feed shows %s with the LSNs %s", page.ids("Documents"), got)
	}
	w.do("GET", docs, "", append(feed, "If-None-Match", `"`+at+`"`)...).want(304)
}

func TestMinimalBatch(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	a := w.do("POST", docs, `[{"operationType":"Create","resourceBody":{"id":"1","pk":"a"}},{"operationType":"Read","id":"1"}]`, append(atomicBatch(`["a"]`), "Prefer", "return=minimal")...).
		results(200, "201 200").has("0.resourceBody", "").has("1.resourceBody.id", `"1"`)
	if a.at("0.eTag").Str != a.at("1.eTag").Str || a.at("0.eTag").Str == "" {
		t.Errorf("%s", a.body)
	}
	w.do("POST", docs, `[{"operationType":"Upsert","resourceBody":{"id":"1","pk":"a"},"minimalReturnPreference":true},{"operationType":"Upsert","resourceBody":{"id":"1","pk":"a"},"minimalReturnPreference":false}]`,
		atomicBatch(`["a"]`)...).results(200, "200 200").has("0.resourceBody", "").has(
		"1.resourceBody.id", `"1"`)
}

func TestBulkRequest(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(3))
	w.container("")
	var ops []string
	for i := range 20 {
		ops = append(ops, fmt.Sprintf(
			`{"operationType":"Create","partitionKey":"[\"k%d\"]","resourceBody":{"id":"%d","pk":"k%d","ttl":%d}}`, i, i, i, []int{7, -10}[i%4/3]))
	}
	all := "[" + strings.Join(ops, ",") + "]"
	created, invalid, elsewhere := 0, 0, 0
	for _, id := range []string{"0", "1", "2"} {
		a := w.do("POST", docs, all, bulk(id)...).want(207).head("x-ms-documentdb-partitionkeyrangeid", id)
		created += strings.Count(a.statuses(), "201")
		elsewhere += strings.Count(a.statuses(), "410/1002")
		for _, r := range a.at("@this").Array() {
			if r.Get("statusCode").Num == 400 &&
				strings.Contains(r.Get("message").Str, "The input ttl '-10' is invalid") {
				invalid++
			}
		}
	}
	if created != 15 || elsewhere != 30 || invalid != 15 {
		t.Errorf("%d created, %d sent elsewhere, %d invalid", created, elsewhere, invalid)
	}
	w.do("POST", docs, all, bulk("9")...).fails(410, 1002, "")

	h := bulk("0")[:6] // any range
	w.do("POST", docs, `[{"operationType":"Read","id":"0","partitionKey":["k0"]},{"operationType":"Delete","id":"1","partitionKey":"[\"k1\"]"},
		{"operationType":"Read","id":"1","partitionKey":["k1"]},{"operationType":"Read","id":"0"},{"operationType":"Upsert","resourceBody":{"id":"0","pk":"k0"},"partitionKey":"[\"k9\"]"},
		{"operationType":"Patch","id":"2","partitionKey":["k2"],"resourceBody":[{"op":"set","path":"/v","value":1}]},{"operationType":"Read","id":"2","partitionKey":"["},
		{"operationType":"Read","id":"2","partitionKey":[[]]},{"operationType":"Create","resourceBody":{"pk":"x"}},{"operationType":"Create"},{"operationType":"Delete","partitionKey":["k2"]}]`, h...).
		results(207, "200 204 404 400 400/1001 200 400 400 400 400 400")
	w.do("POST", docs, `[{"operationType":"Create","resourceBody":{"id":"x","pk":"x"}},{"operationType":"Create","resourceBody":{"id":"x","pk":"x"}},{"operationType":"Create","resourceBody":{"id":"y","pk":"y"}}]`,
		// neither atomic nor to be continued
		"x-ms-cosmos-is-batch-request", "true").results(207, "201 409 424")
}

// TestBadBatches checks that malformed batches are refused and change nothing.
func TestBadBatches(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", docs, `{"id":"1","pk":"a","n":1}`, pk(`["a"]`)...).want(201)
	before := string(w.do("GET", docs, "").want(200).body)
	create := `{"operationType":"Create","resourceBody":{"id":"2","pk":"a"}}`
	for _, body := range []string{
		``, ` `, `null`, `{}`, `"x"`, `1`, `[]`, `[`, `[` + create, `[` + create + `,]`, `[` + create +
			`,1]`, `[` + create + `,null]`, `[` + create + `,[]]`, `[` + create + `,{}]`,
		`[` + create + `,{"operationType":1}]`, `[` + create + `,{"operationType":"create"}]`, `[` + create +
			`,{"operationType":"Query"}]`, `[` + create + `,{"operationType":"Read","id":1}]`,
		`[` + create + `,{"operationType":"Read","id":"1","ifMatch":1}]`, `[` + create +
			`,{"operationType":"Read","id":"1","ifNoneMatch":[]}]`, `[` + create +
			`,{"operationType":"Read","id":"1","partitionKey":{}}]`,
		`[` + create + `,{"operationType":"Read","id":"1","partitionKey":5}]`, `[` + create +
			`,{"operationType":"Read","id":"1","minimalReturnPreference":"x"}]`,
		"\x81", "\x81\xf0\xd8\xff\x7f\x01\x0a\x00\x00\x00", "\x81\xf0\xd8\xff\x7f\x01\x0a\x00\x00\x00\x81",
	} {
		w.do("POST", docs, body, atomicBatch(`["a"]`)...).fails(400, 0, "")
	}
	for _, one := range []string{`null`, `1`, `"x"`, `[]`, `true`, `{}`, `{"id":1,"pk":"a"}`,
		`{"id":"2","pk":"a","ttl":0}`} {
		w.do("POST", docs, `[`+create+`,{"operationType":"Upsert","resourceBody":`+one+`}]`,
			atomicBatch(`["a"]`)...).results(207, "424 400")
		w.do("POST", docs, `[`+create+`,{"operationType":"Patch","id":"1","resourceBody":`+one+`}]`,
			atomicBatch(`["a"]`)...).results(207, "424 400")
	}
	big := `{"operationType":"Create","resourceBody":{"id":"2","pk":"a","s":"` +
		strings.Repeat("x", 1100<<10) + `"}}`
	w.do("POST", docs, `[`+big+`,`+big+`]`, atomicBatch(`["a"]`)...).fails(413, 0, "too large")
	w.do("POST", docs, `[`+create+`]`, "x-ms-cosmos-is-batch-request", "True", "x-ms-cosmos-batch-atomic",
		"True").fails(400, 0, "PartitionKey value must be supplied")
	w.do("POST", docs, `[`+create+`]`, append(pk(`["a"]`), "x-ms-cosmos-is-batch-request", "True",
		"x-ms-cosmos-batch-atomic", "perhaps")...).fails(400, 0, "x-ms-cosmos-batch-atomic")
	w.do("POST", docs, `[{"operationType":"Read","id":"0"}]`,
		append(atomicBatch(`["a"]`), "x-ms-session-token", "0:-1#1000000")...).fails(404, 1002, "")
	if after := string(w.do("GET", docs, "").want(200).body); after != before {
		t.Errorf("before %s\nafter  %s", before, after)
	}
}

// rowAnswer sends a batch in the binary HybridRow encoding of the .NET SDK. It returns the status of the
// response and, for each operation, the status, substatus, etag and body.
func (w *serverUnderTest) rowAnswer(body []byte, headers ...string) (code int, rows []string) {
	w.t.Helper()
	r := httptest.NewRequest("POST", docs, bytes.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w.sign(r)
	rec := httptest.NewRecorder()
	w.h.ServeHTTP(rec, r)
	if headerOf(w.t, rec).Get("Content-Type") != "application/octet-stream" ||
		headerOf(w.t, rec).Get("X-Ms-Session-Token") == "" {
		w.t.Errorf("headers %v", headerOf(w.t, rec))
	}
	for _, r := range hybridrowtest.Results(w.t, rec.Body.Bytes()) {
		if r.Charge < 0 || (r.Charge == 0) != (r.Status == 424) {
			w.t.Fatalf("result %+v", r)
		}
		rows = append(rows, fmt.Sprintf("%d/%d %t %t", r.Status, r.Substatus, r.ETag != "",
			strings.Contains(r.Body, strings.Trim(r.ETag, `"`)) && r.Body != ""))
	}
	return rec.Code, rows
}

func TestRowBatch(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	w.do("POST", colls, `{"id":"c","partitionKey":{"paths":["/id"]}}`).want(201)
	check := func(body []byte, headers []string, code int, want string) {
		t.Helper()
		if got, rows := w.rowAnswer(body, headers...); got != code || strings.Join(rows, ", ") != want {
			t.Errorf("%d %s\nwant %d %s", got, strings.Join(rows, ", "), code, want)
		}
	}
	read := hybridrowtest.Record(hybridrowtest.Bytes(t, "81 70 54 e1 7f 13 02 00 00 00 02 00 00 00 01 31"))
	upsertMinimal := hybridrowtest.Record(hybridrowtest.Bytes(t,
		"81 70 54 e1 7f 43 14 00 00 00 02 00 00 00 0a 7b 22 69 64 22 3a 22 31 22 7d 03 0c"))
	create := hybridrowtest.Bytes(t, hybridrowtest.Segment+hybridrowtest.CreateHead+hybridrowtest.Create)
	check(bytes.Join([][]byte{create, read, upsertMinimal}, nil), atomicBatch(`["1"]`), 200,
		"201/0 true true, 200/0 true true, 200/0 true false")
	check(append(read, create...), atomicBatch(`["1"]`), 207, "424/0 false false, 409/0 false false")
	check(append(create, hybridrowtest.Record(hybridrowtest.Bytes(t, hybridrowtest.Delete))...), bulk("0"),
		207,
		"409/0 false false, 412/0 false false")
	check(append(read, hybridrowtest.Record(hybridrowtest.Bytes(t,
		"81 70 54 e1 7f 13 04 00 00 00 02 00 00 00 01 31"))...), bulk(
		"0"), 200, "200/0 true true, 204/0 false false")
}
