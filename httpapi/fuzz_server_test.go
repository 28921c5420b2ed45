package httpapi

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/hybridrowtest"
)

// fuzzedRequest is a request as text, so that any part of it can be changed. headers consists of lines
// "name: value".
type fuzzedRequest struct{ method, path, body, headers string }

// sendable reports whether an HTTP server would let the request through to the handler.
func (f fuzzedRequest) sendable() bool {
	_, err := url.ParseRequestURI(f.path)
	return err == nil && f.method != "" &&
		strings.IndexFunc(f.method, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// set replaces a header, or adds it.
func (f *fuzzedRequest) set(name, value string) {
	var lines []string
	for line := range strings.SplitSeq(f.headers, "\n") {
		if had, _, _ := strings.Cut(line, ":"); !strings.EqualFold(had, name) && line != "" {
			lines = append(lines, line)
		}
	}
	f.headers = strings.Join(append(lines, name+": "+value), "\n")
}

func (f fuzzedRequest) header(name string) string {
	for line := range strings.SplitSeq(f.headers, "\n") {
		if had, value, _ := strings.Cut(line, ":"); strings.EqualFold(had, name) {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// fuzzContainers are the containers of a fuzzWorld: one with one range and a feed of all versions, one
// with four ranges, one with a hierarchical partition key, and one with unique keys.
var fuzzContainers = []struct{ id, key, settings, ranges string }{
	{"c", `{"paths":["/pk"],"kind":"Hash","version":2}`,
		`,"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":10}`, "1"},
	{"four", `{"paths":["/pk"],"kind":"Hash","version":2}`,
		`,"indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/v/*"}],"compositeIndexes":[[{"path":"/n"},{"path":"/id"}]]}`, "4"},
	{"tree", `{"paths":["/pk","/n","/s"],"kind":"MultiHash","version":2}`, `,"defaultTtl":1000`, "3"},
	{"unique", `{"paths":["/pk"],"kind":"Hash","version":1}`,
		`,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/n"]}]},"computedProperties":[{"name":"low","query":"SELECT VALUE LOWER(c.id) FROM c"}]`, "2"},
}

// fuzzScripts are scripts without loops, so that they end even if any character of them is changed.
var fuzzScripts = []struct{ path, id, body, more string }{
	{"sprocs", "write", `function (id) { __.createDocument(__.getSelfLink(), {id: id || "made", pk: "k0", n: 1}, function (e, d) { if (e) throw e; __.response.setBody(d.id); }); }`, ""},
	{"sprocs", "read", `function () { __.queryDocuments(__.getSelfLink(), "SELECT * FROM c ORDER BY c.id", function (e, d) { if (e) throw e; __.response.setBody(d.length); console.log("read"); }); }`, ""},
	{"sprocs", "fail", `function (id) { __.createDocument(__.getSelfLink(), {id: "half", pk: "k0"}, function (e) { throw new Error("after " + id); }); }`, ""},
	{"triggers", "pre", `function () { var r = getContext().getRequest(), b = r.getBody(); b.seen = true; r.setBody(b); }`, `,"triggerType":"Pre","triggerOperation":"All"`},
	{"triggers", "post", `function () { var d = getContext().getResponse().getBody(); if (d && d.n === 13) throw new Error("thirteen"); }`, `,"triggerType":"Post","triggerOperation":"Create"`},
	{"udfs", "twice", `function (x) { return x + x; }`, ""},
}

// fuzzDocument returns the i-th document of a container of a fuzzWorld.
func fuzzDocument(i int) string {
	digit := string(rune('0' + i))
	return `{"id":"i` + digit + `","pk":"k` + string(rune('0'+i%3)) + `","n":` + digit + `,"s":"s` +
		string(rune('0'+i%2)) + `","v":[` + digit + `,{"a":null}]}`
}

// fuzzWorld returns a server whose store contains at least one resource of every kind.
func fuzzWorld(t testing.TB, change ...func(*serverUnderTestOptions)) *serverUnderTest {
	t.Helper()
	w := newServerUnderTest(t, change...)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	for _, c := range fuzzContainers {
		w.do("POST", colls, `{"id":"`+c.id+`","partitionKey":`+c.key+c.settings+`}`, "x-mayfly-ranges",
			c.ranges).want(201)
		for i := range 6 {
			w.do("POST", colls+"/"+c.id+"/docs", fuzzDocument(i)).want(201)
		}
	}
	for _, s := range fuzzScripts {
		w.script(s.path, s.id, s.body, s.more)
	}
	w.do("POST", users, `{"id":"u"}`).want(201)
	w.permission("all", "All", "dbs/d/colls/c", "")
	w.permission("key", "Read", "dbs/d/colls/four", `["k1"]`)
	w.do("POST", keys, `{"id":"key",`+aKey+`}`).want(201)
	w.do("DELETE", docs+"/i5", "", pk(`["k2"]`)...).want(204)
	w.do("PUT", docs+"/i4", `{"id":"i4","pk":"k1","ttl":5}`, pk(`["k1"]`)...).want(200)
	return w
}

// exchange sends a request that may be invalid, with the master key unless it has an Authorization header.
// It checks that the response has the protocol's form and is not an internal error. It returns nil if an
// HTTP server would not pass the request to its handler.
func (w *serverUnderTest) exchange(f fuzzedRequest) *testResponse {
	w.t.Helper()
	if !f.sendable() {
		return nil
	}
	r := &http.Request{Method: f.method, RequestURI: f.path, Header: http.Header{}, Body: http.NoBody,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: "localhost:8081"}
	r.URL, _ = url.ParseRequestURI(f.path)
	for line := range strings.SplitSeq(f.headers, "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && name != "" {
			r.Header.Add(name, strings.TrimSpace(value))
		}
	}
	if _, given := r.Header["Authorization"]; !given {
		r.Header.Set("Authorization", "Bearer "+EmulatorKey)
	}
	if f.body != "" {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(f.body)), int64(len(f.body))
		if f.header("Transfer-Encoding") != "" {
			r.ContentLength = -1
		}
	}
	rec := httptest.NewRecorder()
	w.h.ServeHTTP(rec, r.WithContext(w.t.Context()))
	a := &testResponse{t: w.t, what: f.method + " " + f.path, code: rec.Code, header: headerOf(w.t, rec),
		body: rec.Body.Bytes()}
	switch kind := a.header.Get("Content-Type"); {
	case kind == "application/octet-stream" && strings.HasPrefix(f.body, "\x81"):
		if a.code != 200 && a.code != 207 || !bytes.HasPrefix(a.body,
			hybridrowtest.Bytes(w.t, hybridrowtest.Segment)) {
			w.t.Errorf("%q: %d with the rows %x", f, a.code, a.body)
		}
	case strings.HasPrefix(kind, "text/"): // a page for people, or figures for Prometheus
		if a.code != 200 || !strings.Contains(f.path, "_mayfly") {
			w.t.Errorf("%q: %d with %s", f, a.code, kind)
		}
	default:
		a.everyAnswer(f.method)
	}
	if a.code >= 500 || a.code < 200 {
		w.t.Fatalf("%q: %d %s", f, a.code, a.body)
	}
	return a
}

// reads reports whether a request cannot change any data.
func (f fuzzedRequest) reads() bool {
	return f.method == "GET" || f.method == "HEAD" || f.method == "OPTIONS" ||
		f.method == "POST" && (strings.HasSuffix(f.header("Content-Type"), "/query+json") ||
			strings.HasPrefix(f.path, "/_mayfly/explain"))
}

// try sends a request and checks that the data is unchanged if it is a read or fails. before is the dump
// of the data before the request, after the one after it.
func (w *serverUnderTest) try(f fuzzedRequest, before string) (a *testResponse, after string) {
	w.t.Helper()
	if a = w.exchange(f); a == nil {
		return nil, before
	}
	// what an offer has asked for does not come amid later requests
	if err := w.db.FinishSplits(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	if after = w.dump(); after != before && !f.applied(a) {
		w.t.Fatalf("%q: %d %s\n%s", f, a.code, a.body,
			cmp.Diff(strings.Split(before, "\n"), strings.Split(after, "\n")))
	}
	w.readBack(f, a)
	return a, after
}

// readBack reads the resource in the response to a write, and checks that it equals the response.
func (w *serverUnderTest) readBack(f fuzzedRequest, a *testResponse) {
	w.t.Helper()
	self := a.at("_self").Str
	if f.reads() || a.code != 200 && a.code != 201 || self == "" || a.body[0] != '{' {
		return
	}
	request := with("GET", "/"+self, "")
	if owner, _, ok := strings.Cut(self, "/docs/"); ok {
		paths := w.exchange(with("GET", "/"+owner, "")).at("partitionKey.paths").Array()
		request.set("x-ms-documentdb-partitionkey", keyAt(a.body, paths))
	}
	b := w.exchange(request)
	if b.at("_token").Exists() {
		return // it is a new one each time
	}
	wrote := strings.Replace(string(a.body), `,"isOfferReplacePending":true`, "", 1)
	if string(b.body) != wrote || b.header.Get("Etag") != a.header.Get("Etag") {
		w.t.Fatalf("%q: %d %s\nread back: %d %s", f, a.code, a.body, b.code, b.body)
	}
}

// keyAt returns the partition key of a document in the form of the request header. paths are the partition
// key paths of its container.
func keyAt(body []byte, paths []gjson.Result) string {
	var components []string
	for _, p := range paths {
		path := strings.ReplaceAll(strings.NewReplacer(`"`, "", ".", `\.`).Replace(p.Str[1:]), "/", ".")
		component := gjson.GetBytes(body, path)
		if !component.Exists() || component.IsArray() || component.IsObject() {
			component.Raw = "{}"
		}
		components = append(components, component.Raw)
	}
	return "[" + strings.Join(components, ",") + "]"
}

// sweep runs the reaper, and checks that the purge of expired data does not change what clients see.
// before is the dump of the data before.
func (w *serverUnderTest) sweep(before string) {
	w.t.Helper()
	if _, err := w.db.SweepNow(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	if after := w.dump(); after != before {
		w.t.Fatalf("a sweep shows:\n%s", cmp.Diff(strings.Split(before, "\n"), strings.Split(after, "\n")))
	}
}

// applied reports whether a request may have changed something: a write that has succeeded, at least in part.
func (f fuzzedRequest) applied(a *testResponse) bool {
	switch {
	case f.reads() || a.code >= 400:
		return false
	case a.code == http.StatusMultiStatus && strings.EqualFold(f.header("x-ms-cosmos-batch-atomic"), "true"):
		// 424 in a row
		return !a.at("#(statusCode=424)").Exists() && !bytes.Contains(a.body, []byte{0xA8, 0x01, 0, 0})
	}
	return true
}

// dump returns as text everything that clients can see in the store: every resource, and every item with
// its position in the change feed.
func (w *serverUnderTest) dump() string {
	w.t.Helper()
	var b strings.Builder
	list := func(path, key string, headers ...string) []gjson.Result {
		token := ""
		var rows []gjson.Result
		for page := 0; page == 0 || token != ""; page++ {
			a := w.do("GET", path, "", append(headers, "x-ms-max-item-count", "-1", "x-ms-continuation",
				token,
				"Authorization", "Bearer "+EmulatorKey)...)
			if a.code == http.StatusNotModified {
				return nil
			}
			rows = append(rows, a.want(200).at(key).Array()...)
			token = a.header.Get("X-Ms-Continuation")
		}
		for _, r := range rows {
			raw := r.Raw
			// a new token each time; a purge takes an LSN of its range
			for _, name := range []string{"_token", "lsn"} {
				if value := r.Get(name).Raw; value != "" {
					raw = strings.Replace(raw, `"`+name+`":`+value, "", 1)
				}
			}
			b.WriteString("\n" + path + " " + raw)
		}
		return rows
	}
	list("/offers", "Offers")
	for _, d := range list("/dbs", "Databases") {
		db := "/dbs/" + url.PathEscape(d.Get("id").Str)
		list(db+"/clientencryptionkeys", "ClientEncryptionKeys")
		for _, u := range list(db+"/users", "Users") {
			list(db+"/users/"+url.PathEscape(u.Get("id").Str)+"/permissions", "Permissions")
		}
		for _, c := range list(db+"/colls", "DocumentCollections") {
			in := db + "/colls/" + url.PathEscape(c.Get("id").Str)
			list(in+"/pkranges", "PartitionKeyRanges")
			list(in+"/docs", "Documents")
			list(in+"/docs", "Documents", incremental()...)
			list(in+"/sprocs", "StoredProcedures")
			list(in+"/triggers", "Triggers")
			list(in+"/udfs", "UserDefinedFunctions")
		}
	}
	return b.String()
}

// rowBatch returns a batch in the binary HybridRow encoding of the .NET SDK. rows are in hexadecimal.
func rowBatch(rows ...string) string {
	stream, err := hex.DecodeString(strings.ReplaceAll(hybridrowtest.Segment, " ", ""))
	if err != nil {
		panic(err) // it is a constant
	}
	for _, r := range rows {
		row, err := hex.DecodeString(strings.ReplaceAll(r, " ", ""))
		if err != nil {
			panic(err)
		}
		stream = append(stream, hybridrowtest.Record(row)...)
	}
	return string(stream)
}
