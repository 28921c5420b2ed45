package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// failing are requests that fail, each with its expected status.
var failing = []struct {
	code               int
	method, path, body string
	headers            []string
}{
	{400, "POST", docs, `{"id":`, nil},
	{400, "POST", docs, `{"query":"SELECT * FORM c"}`, queryHeaders()},
	{400, "GET", docs, "", []string{"x-ms-continuation", "nonsense"}},
	{400, "GET", docs, "", []string{"x-ms-max-item-count", "0"}},
	{400, "GET", docs + "/i", "", nil},
	{400, "POST", docs, `[]`, atomicBatch(`["a"]`)},
	{400, "PATCH", docs + "/i", `[]`, pk(`["a"]`)},
	{400, "POST", colls, `{"id":"x","partitionKey":{"paths":["pk"]}}`, nil},
	{400, "PUT", "/offers/x", `{}`, nil},
	{401, "GET", "/dbs", "", []string{"Authorization", "type%3Dmaster%26ver%3D1.0%26sig%3DAAAA"}},
	{404, "GET", docs + "/none", "", pk(`["a"]`)},
	{404, "GET", "/dbs/none", "", nil},
	{404, "GET", "/dbs/d/colls/none/docs", "", nil},
	{404, "GET", "/nothing", "", nil},
	{404, "POST", coll + "/sprocs/none", "[]", pk(`["a"]`)},
	{405, "PUT", "/dbs", `{"id":"d"}`, nil},
	{409, "POST", docs, `{"id":"i","pk":"a"}`, pk(`["a"]`)},
	{409, "POST", "/dbs", `{"id":"d"}`, nil},
	{410, "GET", docs, "", rangeHeader("77")},
	{412, "PUT", docs + "/i", `{"id":"i","pk":"a"}`, append(pk(`["a"]`), "If-Match", `"stale"`)},
	{413, "POST", docs, `{"id":"big","pk":"a","v":"` + strings.Repeat("x", 3<<20) + `"}`, pk(`["a"]`)},
}

func checkErrorBodies(t *testing.T) {
	w := checked(t)
	for _, f := range failing {
		a := w.do(f.method, f.path, f.body, f.headers...).want(f.code)
		var body struct{ Code, Message string }
		if err := json.Unmarshal(a.body, &body); err != nil ||
			body.Code != strings.ReplaceAll(http.StatusText(f.code), " ", "") {
			t.Errorf("%s: %v: %s", a.what, err, a.body)
		}
		inner, _, _ := strings.Cut(strings.TrimPrefix(body.Message, "Message: "),
			"\r\nActivityId: "+a.header.Get("X-Ms-Activity-Id"))
		if !json.Valid([]byte(inner)) {
			t.Errorf("%s: the message holds %q", a.what, inner)
		}
	}
}

// checkErrorLength checks over a real connection that error responses have a Content-Length. net/http
// would otherwise send a long body chunked, such as an error that repeats a long path.
func checkErrorLength(t *testing.T) {
	w := checked(t)
	server := httptest.NewServer(w.h)
	defer server.Close()
	for _, path := range []string{"/dbs", docs + "/" + strings.Repeat("x", 1000),
		"/" + strings.Repeat("y", 9000)} {
		resp, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		var body map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if resp.StatusCode < 400 || resp.ContentLength <= 0 || len(resp.TransferEncoding) > 0 ||
			resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%.20s: %d with length %d, %v, %v", path, resp.StatusCode, resp.ContentLength,
				resp.TransferEncoding, resp.Header)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

func checkAuthSubstatus(t *testing.T) {
	w := checked(t)
	read, item := w.permission("r", "Read", "dbs/d/colls/c", ""), w.permission("k", "All", "dbs/d/colls/c",
		`["a"]`)
	create := `{"id":"x","pk":"key1"}`
	refusals := []*testResponse{
		w.do("GET", "/dbs", "", "Authorization", "Bearer wrong").want(401),
		w.do("GET", "/dbs", "", "Authorization", AuthorizationHeader(Sign(w.key, "PUT", "dbs", "", "x")),
			"x-ms-date", start.Format(http.TimeFormat)).want(401),
		w.as(read, "POST", docs, create, pk(`["key1"]`)...).want(403),
		w.as(read, "POST", colls, `{"id":"x","partitionKey":{"paths":["/pk"]}}`).want(403),
		w.as(read, "POST", coll+"/sprocs/p", "[]", pk(`["key1"]`)...).want(403),
		w.as(item, "POST", docs, create, pk(`["key1"]`)...).want(403),
		w.as(item, "GET", docs, "").want(403),
		w.as(item, "DELETE", coll, "").want(403),
	}
	w.pass(7200)
	refusals = append(refusals, w.as(read, "GET", docs, "").want(403))
	w.wall.Advance(time.Hour)
	r := httptest.NewRequest("GET", "/dbs", nil)
	w.sign(r)
	w.wall.Advance(time.Hour)
	for _, a := range append(refusals, w.send(r).want(403)) {
		if s := a.header.Get("X-Ms-Substatus"); a.code == 403 && s != "" && s != "0" || s == "3" ||
			s == "1008" {
			t.Errorf("%s: %d/%s", a.what, a.code, s)
		}
	}
	w.do("GET", docs+"/x", "", pk(`["key1"]`)...).want(404)
}

func checkSessionSubstatus(t *testing.T) {
	w := checked(t)
	held := w.do("GET", docs+"/i", "", pk(`["a"]`)...).want(200).header.Get("X-Ms-Session-Token")
	for _, token := range []string{held, "", "0:-1#0", "9:-1#99999999," + held} {
		session := append(pk(`["a"]`), "x-ms-session-token", token)
		w.do("GET", docs+"/none", "", session...).fails(404, 0,
			"Resource Not Found. Learn more: https://aka.ms/cosmosdb-tsg-not-found")
		w.do("DELETE", docs+"/none", "", session...).fails(404, 0, "Resource Not Found")
		w.do("PATCH", docs+"/none", `[{"op":"set","path":"/x","value":1}]`, session...).fails(404, 0,
			"Resource Not Found")
		w.do("GET", "/dbs/d/colls/none/docs/i", "", session...).fails(404, 1003, "Resource Not Found")
		w.do("GET", "/dbs/none/colls/c/docs/i", "", session...).fails(404, 1003, "Resource Not Found")
		w.do("GET", "/dbs/d/colls/none", "", session...).fails(404, 0, "Resource Not Found")
		w.do("GET", "/dbs/none", "", session...).fails(404, 0, "Resource Not Found")
	}
	ahead := append(pk(`["a"]`), "x-ms-session-token", "0:-1#99999999")
	w.do("GET", docs+"/i", "", ahead...).fails(404, 1002, "The read session is not available")
	w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders(ahead...)...).fails(404, 1002,
		"The read session is not available")
}

func checkKeySubstatus(t *testing.T) {
	w := checked(t)
	const text = "Partition key provided either doesn't correspond to definition in the collection or doesn't match partition key field values specified in the document."
	w.do("POST", docs, `{"id":"x","pk":"a"}`, pk(`["b"]`)...).fails(400, 1001, text)
	w.do("POST", docs, `{"id":"x","pk":"a"}`, append(pk(`["b"]`), "x-ms-documentdb-is-upsert",
		"true")...).fails(400, 1001, text)
	w.do("PUT", docs+"/i", `{"id":"i","pk":"b"}`, pk(`["a"]`)...).fails(400, 1001, text)
	w.do("GET", docs+"/i", "", pk(`["a","b"]`)...).fails(400, 1001, text)
	w.do("GET", docs+"/i", "", pk(`[]`)...).fails(400, 1001, text)
	for _, f := range failing {
		if f.code == 400 {
			w.do(f.method, f.path, f.body, f.headers...).fails(400, 0, "")
		}
	}
	for _, bad := range []string{`"a"`, `{"a":1}`, `[{"a":1}]`, `[["a"]]`, `[`, `nonsense`} {
		w.do("GET", docs+"/i", "", pk(bad)...).fails(400, 0, "")
	}
	w.do("POST", docs, `{"id":"x","pk":"a","ttl":0}`, pk(`["a"]`)...).fails(400, 0, "")
}

// everyWrite makes a write of each kind, and writes that fail because of the item's state, such as 409 and
// 412. It calls fn with each response.
func (w *serverUnderTest) everyWrite(fn func(*testResponse)) {
	w.t.Helper()
	key := pk(`["w"]`)
	with := func(more ...string) []string { return append(key[:2:2], more...) }
	fn(w.do("POST", docs, `{"id":"w","pk":"w"}`, key...).want(201))
	fn(w.do("POST", docs, `{"id":"w","pk":"w"}`, key...).want(409))
	fn(w.do("POST", docs, `{"id":"w","pk":"w"}`, with("x-ms-documentdb-is-upsert", "True")...).want(200))
	fn(w.do("PUT", docs+"/w", `{"id":"w","pk":"w","n":1}`, with("Prefer", "return=minimal")...).want(200))
	fn(w.do("PUT", docs+"/w", `{"id":"w","pk":"w"}`, with("If-Match", `"stale"`)...).want(412))
	fn(w.do("PATCH", docs+"/w", `{"operations":[{"op":"incr","path":"/n","value":1}]}`, key...).want(200))
	fn(w.do("POST", docs, `[{"operationType":"Read","id":"w"},{"operationType":"Create","resourceBody":{"id":"v","pk":"w"}}]`, atomicBatch(`["w"]`)...).want(200))
	fn(w.do("POST", docs, `[{"operationType":"Create","resourceBody":{"id":"v","pk":"w"}}]`,
		atomicBatch(`["w"]`)...).want(207))
	fn(w.do("DELETE", docs+"/w", "", key...).want(204))
	fn(w.do("DELETE", docs+"/w", "", key...).want(404))
	fn(w.do("POST", coll+"/operations/partitionkeydelete", "", key...).want(200))
}

func checkWriteTokens(t *testing.T) {
	w := checked(t, ranges(4))
	last := map[string]int{}
	w.everyWrite(func(a *testResponse) {
		id, vector, _ := strings.Cut(a.header.Get("X-Ms-Session-Token"), ":")
		_, text, _ := strings.Cut(vector, "#")
		lsn, err := strconv.Atoi(text)
		if err != nil || a.header.Get("Lsn") != text || lsn < last[id] || a.code < 300 && a.code != 207 &&
			lsn == last[id] {
			t.Errorf("%s: %d with the session token %q, lsn %q, after %d", a.what, a.code,
				a.header.Get("X-Ms-Session-Token"), a.header.Get("Lsn"), last[id])
		}
		last[id] = lsn
	})
	if len(last) != 1 {
		t.Errorf("one partition key in the ranges %v", last)
	}
}

func checkTokenForm(t *testing.T) {
	w := checked(t, ranges(4))
	form := regexp.MustCompile(`^[0-3]:[1-9][0-9]{14}#[0-9]+$`)
	check := func(a *testResponse) {
		if token := a.header.Get("X-Ms-Session-Token"); !form.MatchString(token) ||
			!strings.HasPrefix(token, a.header.Get("X-Ms-Documentdb-Partitionkeyrangeid")+":") {
			t.Errorf("%s: session token %q, range %q", a.what, token,
				a.header.Get("X-Ms-Documentdb-Partitionkeyrangeid"))
		}
	}
	w.everyWrite(check)
	check(w.do("GET", docs+"/i", "", pk(`["a"]`)...).want(200))
	check(w.do("GET", docs, "").want(200))
	check(w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders()...).want(200))
	check(w.do("GET", docs, "", incremental()...).want(200))
	check(w.do("GET", coll, "").want(200))
	check(w.do("GET", coll+"/pkranges", "").want(200))
}

func checkNoRegions(t *testing.T) {
	w := checked(t)
	at := w.do("GET", docs+"/i", "", pk(`["a"]`)...).header
	lsn, own := at.Get("Lsn"), at.Get("X-Ms-Session-Token")
	// A client that has seen a service with regions sends their parts: they are understood, and not sent
	// back.
	for _, token := range []string{"0:-1#" + lsn, own + "#1=7#2=-1", "0:-1#1#1=99999",
		"0:-1#" + lsn + ",1:-1#3"} {
		a := w.do("GET", docs+"/i", "", append(pk(`["a"]`), "x-ms-session-token", token)...).want(200)
		a.head("x-ms-session-token", own)
	}
	w.everyWrite(func(a *testResponse) {
		if token := a.header.Get("X-Ms-Session-Token"); strings.Count(token, "#") != 1 ||
			strings.Contains(token, "=") {
			t.Errorf("%s: %q", a.what, token)
		}
	})
}

func checkContentPath(t *testing.T) {
	w := checked(t)
	rid := w.do("GET", coll, "").at("_rid").Str
	raw, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(rid, "-", "/"))
	if err != nil || len(raw) != 8 {
		t.Errorf("rid %q", rid)
	}
	w.everyWrite(func(a *testResponse) {
		want := rid
		if a.code == 404 || a.code == 207 {
			want = "" // not of an item that is not there, nor of a batch that failed
		}
		a.head("x-ms-content-path", want)
	})
	w.do("GET", docs+"/i", "", pk(`["a"]`)...).head("x-ms-content-path", rid)
	w.do("GET", docs, "").head("x-ms-content-path", rid)
	w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders()...).head("x-ms-content-path", rid)
	w.do("GET", coll, "").head("x-ms-content-path", w.do("GET", "/dbs/d", "").at("_rid").Str)
}

func checkAltContentPath(t *testing.T) {
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"my db"}`).want(201).head("x-ms-alt-content-path", "")
	c := w.do("POST", "/dbs/my%20db/colls",
		`{"id":"ç",`+keyedByPK+`}`).want(201).head("x-ms-alt-content-path", "dbs/my%20db")
	path := "dbs/my%20db/colls/" + url.PathEscape("ç")
	for _, upsert := range []string{"false", "true"} {
		a := w.do("POST", "/"+path+"/docs", `{"id":"1`+upsert+`","pk":"a"}`,
			append(pk(`["a"]`), "x-ms-documentdb-is-upsert",
				upsert)...).want(201).head("x-ms-alt-content-path", path)
		self := a.at("_self").Str
		if self != c.at("_self").Str+"docs/"+a.at("_rid").Str+"/" {
			t.Errorf("_self is %q in %s", self, c.at("_self").Str)
		}
		w.do("GET", "/"+self, "", pk(`["a"]`)...).want(200).has("id", `"1`+upsert+`"`)
	}
}

func checkRIDLayout(t *testing.T) {
	w := checked(t)
	w.permission("p", "Read", "dbs/d/colls/c", "")
	w.script("sprocs", "s", "function () {}", "")
	w.script("udfs", "f", "function () {}", "")
	w.script("triggers", "t", "function () {}", `,"triggerType":"Pre","triggerOperation":"All"`)
	bytesOf := func(path string) []byte {
		rid := w.do("GET", path, "", pk(`["a"]`)...).want(200).at("_rid").Str
		b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(rid, "-", "/"))
		if err != nil || strings.Contains(rid, "/") {
			t.Fatalf("%s: rid %q", path, rid)
		}
		return b
	}
	database, container, user := bytesOf("/dbs/d"), bytesOf(coll), bytesOf(users+"/u")
	if len(database) != 4 || len(container) != 8 || container[4] < 0x80 || len(user) != 8 ||
		user[4] >= 0x80 ||
		string(container[:4]) != string(database) || string(user[:4]) != string(database) {
		t.Errorf("database %x, container %x, user %x", database, container, user)
	}
	for path, nibble := range map[string]byte{docs + "/i": 0, coll + "/sprocs/s": 8, coll + "/triggers/t": 7,
		coll + "/udfs/f": 6} {
		if b := bytesOf(path); len(b) != 16 || string(b[:8]) != string(container) || b[15]>>4 != nibble {
			t.Errorf("%s: %x in %x, want the type %x", path, b, container, nibble)
		}
	}
	if b := bytesOf(users + "/u/permissions/p"); len(b) != 16 || string(b[:8]) != string(user) {
		t.Errorf("permission %x of %x", b, user)
	}
	of := w.do("GET", coll+"/pkranges", "").at("PartitionKeyRanges.0._rid").Str
	if b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(of, "-", "/")); err != nil ||
		len(b) != 16 || b[15]>>4 != 5 || string(b[:8]) != string(container) {
		t.Errorf("range %q", of)
	}
}
