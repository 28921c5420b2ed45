package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestBadDocuments checks that every kind of write refuses an invalid document with the protocol's error
// and stores nothing of it.
func TestBadDocuments(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", docs, `{"id":"kept","pk":"a","v":1}`, pk(`["a"]`)...).want(201)
	before := string(w.do("GET", docs, "").want(200).body)
	const MB = 1 << 20
	big := func(n int) string { return `{"id":"x","pk":"a","v":"` + strings.Repeat("x", n) + `"}` }
	for name, bad := range map[string]struct {
		body string
		code int
	}{
		"empty":                   {``, 400},
		"blank":                   {`  `, 400},
		"array":                   {`[{"id":"x"}]`, 400},
		"string":                  {`"x"`, 400},
		"number":                  {`1`, 400},
		"null":                    {`null`, 400},
		"cut":                     {`{"id":"x","pk":"a"`, 400},
		"trailing comma":          {`{"id":"x","pk":"a",}`, 400},
		"trailing text":           {`{"id":"x","pk":"a"} x`, 400},
		"two values":              {`{"id":"x","pk":"a"}{"id":"y","pk":"a"}`, 400},
		"single quotes":           {`{'id':'x'}`, 400},
		"comment":                 {`{"id":"x","pk":"a"/**/}`, 400},
		"not a number":            {`{"id":"x","pk":"a","v":NaN}`, 400},
		"number without a double": {`{"id":"x","pk":"a","v":1e999}`, 400},
		"leading zero":            {`{"id":"x","pk":"a","v":01}`, 400},
		"no UTF-8":                {"{\"id\":\"x\",\"pk\":\"a\",\"v\":\"\xff\"}", 400},
		"byte order mark":         {"\xef\xbb\xbf{\"id\":\"x\",\"pk\":\"a\"}", 400},
		"bad escape":              {`{"id":"x","pk":"a","v":"\q"}`, 400},
		"too deep": {`{"id":"x","pk":"a","v":` + strings.Repeat("[", 128) +
			strings.Repeat("]", 128) + `}`, 400},
		"far too deep": {`{"id":"x","pk":"a","v":` + strings.Repeat("[", 100_000) +
			strings.Repeat("]", 100_000) + `}`, 400},
		"no id":                    {`{"pk":"a"}`, 400},
		"empty id":                 {`{"id":"","pk":"a"}`, 400},
		"null id":                  {`{"id":null,"pk":"a"}`, 400},
		"number id":                {`{"id":1,"pk":"a"}`, 400},
		"object id":                {`{"id":{},"pk":"a"}`, 400},
		"id too long":              {`{"id":"` + strings.Repeat("x", 1024) + `","pk":"a"}`, 400},
		"id too long in bytes":     {`{"id":"` + strings.Repeat("é", 512) + `","pk":"a"}`, 400},
		"id with a zero":           {`{"id":"a\u0000b","pk":"a"}`, 400},
		"partition key too long":   {`{"id":"x","pk":"` + strings.Repeat("k", 2049) + `"}`, 400},
		"over 2 MB":                {big(2 * MB), 413},
		"over 4 MB":                {big(4 * MB), 413},
		"over 2 MB without a body": {big(20 * MB), 413},
	} {
		t.Run(name, func(t *testing.T) {
			outer := *w
			w := &outer
			w.t = t
			w.do("POST", docs, bad.body).fails(bad.code, 0, "")
			w.do("POST", docs, bad.body, "x-ms-documentdb-is-upsert", "true").fails(bad.code, 0, "")
			substatus := 0
			if name == "partition key too long" { // and not the one in the header
				substatus = 1001
			}
			w.do("PUT", docs+"/kept", bad.body, pk(`["a"]`)...).fails(bad.code, substatus, "")
			if bad.code == 413 {
				w.do("POST", docs, bad.body).fails(413, 0, "Request size is too large")
			}
			if after := string(w.do("GET", docs, "").want(200).body); after != before {
				t.Errorf("left behind: %.500s", after)
			}
		})
	}
	// What lies just inside the limits.
	w.do("POST", docs, big(2*MB-len(big(0)))).want(201)
	w.do("POST", docs, `{"id":"deep","pk":"a","v":`+strings.Repeat("[", 127)+strings.Repeat("]", 127)+
		`}`).want(201)
	w.do("POST", docs, `{"id":"`+strings.Repeat("i", 1023)+`","pk":"a"}`).want(201)
	w.do("POST", docs, strings.Repeat(" ", MB)+`{"id":"blank","pk":"a"}`+strings.Repeat("\n", MB)).want(201)
}

func TestBadResourceIDs(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	for _, id := range []string{``, `"a/b"`, `"a\\b"`, `"a#b"`, `"a?b"`, `"a\tb"`, `"a\nb"`, `"a\rb"`,
		`"trailing "`, `""`, `1`, `null`, `{}`, `"` + strings.Repeat("x", 256) + `"`} {
		body := `{"id":` + id + `,"partitionKey":{"paths":["/pk"]}}`
		if id == "" {
			body = `{"partitionKey":{"paths":["/pk"]}}`
		}
		w.do("POST", "/dbs", body).fails(400, 0, "")
		w.do("POST", colls, body).fails(400, 0, "")
	}
	w.do("POST", colls, `{"id":"`+strings.Repeat("x", 255)+`","partitionKey":{"paths":["/pk"]}}`).want(201)
	for _, body := range []string{``, `[]`, `"x"`, `{"id":"x"`, `{"id":"x","id":"y"}`} {
		w.do("POST", "/dbs", body).fails(400, 0, "")
		w.do("POST", colls, body).fails(400, 0, "")
	}
	w.do("GET", "/dbs", "").want(200).has("_count", "1")
	w.do("GET", colls, "").want(200).has("_count", "1")
}

func TestBadContainers(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	for _, settings := range []string{
		`"partitionKey":{"paths":"/pk"}`, `"partitionKey":{"paths":[]}`, `"partitionKey":{"paths":["pk"]}`, `"partitionKey":{"paths":["/a","/b"],"kind":"Hash"}`,
		`"partitionKey":{"paths":["/a","/b","/c","/d"],"kind":"MultiHash","version":2}`, `"partitionKey":{"paths":["/a","/b"],"kind":"MultiHash","version":1}`,
		`"partitionKey":{"paths":["/a"],"kind":"Heap"}`, `"partitionKey":{"paths":["/a/*"]}`, `"partitionKey":{"paths":["/_rid"]}`, `"partitionKey":{"paths":["/a"],"version":3}`,
		`"partitionKey":[]`, `"partitionKey":{"paths":["/pk"]},"indexingPolicy":{"indexingMode":"often"}`,
		`"partitionKey":{"paths":["/pk"]},"indexingPolicy":{"includedPaths":[{"path":"no slash"}]}`,
		`"partitionKey":{"paths":["/pk"]},"indexingPolicy":{"includedPaths":[{"path":"/a/?"}],"excludedPaths":[]}`,
		`"partitionKey":{"paths":["/pk"]},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":[]}]}`, `"partitionKey":{"paths":["/pk"]},"uniqueKeyPolicy":7`,
	} {
		w.do("POST", colls, `{"id":"c",`+settings+`}`).fails(400, 0, "")
	}
	w.do("GET", colls, "").want(200).has("_count", "0")
	w.do("GET", "/offers", "").want(200).has("_count", "0")
}

func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	bearer := []string{"Authorization", "Bearer " + EmulatorKey}
	for _, path := range []string{"/nothing", "/dbs/d/nothing", "/dbs/d/colls/c/nothing/x",
		"/_mayfly/nothing", "/_explorer/nothing", "/dbs/d/colls/c/operations/nothing", "/favicon.ico"} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH"} {
			if a := w.do(method, path, "", bearer...); a.code != 404 && a.code != 405 {
				t.Errorf("%s: %d", a.what, a.code)
			}
		}
	}
	for _, r := range []string{"PUT /dbs", "DELETE /dbs", "PATCH /dbs/d", "POST /dbs/d", "PUT /dbs/d/colls",
		"POST /dbs/d/colls/c", "PUT /dbs/d/colls/c/docs", "DELETE /dbs/d/colls/c/docs",
		"DELETE /dbs/d/colls/c/pkranges", "POST /offers", "DELETE /offers/AAAA", "POST /offers/AAAA", "GET /dbs/d/colls/c/operations/partitionkeydelete", "DELETE /_mayfly/clock", "BREW /dbs"} {
		method, path, _ := strings.Cut(r, " ")
		if a := w.do(method, path, `{"id":"x"}`, bearer...); a.code != 405 && a.code != 400 {
			t.Errorf("%s: %d %s", r, a.code, a.body)
		}
	}
}

func TestUnauthenticated(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", docs, `{"id":"1","pk":"a"}`).want(201)
	bare := func(method, path string) *http.Request {
		return httptest.NewRequest(method, path, strings.NewReader(`{"id":"2","pk":"a"}`))
	}
	for _, r := range []string{"GET /", "GET /dbs", "DELETE /dbs/d", "POST /dbs/d/colls/c/docs",
		"DELETE /dbs/d/colls/c", "PUT /_mayfly/clock", "GET /_mayfly/clock"} {
		method, path, _ := strings.Cut(r, " ")
		w.send(bare(method, path)).want(401)
		for _, value := range []string{"x", "type%3Dmaster%26ver%3D1.0%26sig%3DAAAA", "Bearer wrong",
			"Basic AAAA", strings.Repeat("x", 20_000)} {
			req := bare(method, path)
			req.Header.Set("Authorization", value)
			req.Header.Set("X-Ms-Date", start.Format(http.TimeFormat))
			w.send(req).want(401)
		}
	}
	// A signature is good for its verb, its path and its time.
	signedFor := func(method, path string, at time.Time) string {
		resource, link := signed(path)
		return AuthorizationHeader(Sign(w.key, method, resource, link, at.Format(http.TimeFormat)))
	}
	good := signedFor("GET", docs+"/1", start)
	for _, c := range []struct {
		method, path, auth string
		date               time.Time
		code               int
	}{
		{"GET", docs + "/1", good, start, 400}, // it comes through: all that is missing is the partition key
		{"DELETE", docs + "/1", good, start, 401},
		{"GET", docs + "/2", good, start, 401},
		{"GET", docs, good, start, 401},
		{"GET", docs + "/1", good, start.Add(time.Second), 401},
		{"GET", docs + "/1", signedFor("GET", docs+"/1", start.Add(20*time.Minute)),
			start.Add(20 * time.Minute), 403},
		{"GET", docs + "/1", signedFor("GET", docs+"/1", start.Add(-20*time.Minute)),
			start.Add(-20 * time.Minute), 403},
		{"GET", docs + "/1", signedFor("GET", docs+"/1", start.Add(14*time.Minute)),
			start.Add(14 * time.Minute), 400},
	} {
		r := bare(c.method, c.path)
		r.Header.Set("Authorization", c.auth)
		r.Header.Set("X-Ms-Date", c.date.Format(http.TimeFormat))
		w.send(r).want(c.code)
	}
	w.pass(3600) // the data clock has no part in this
	w.do("GET", docs, "").want(200).has("_count", "1")
}

func TestRefusedHeaders(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	for _, h := range [][2]string{
		{"x-ms-documentdb-is-upsert", "perhaps"}, {"x-ms-consistency-level",
			"Total"}, {"x-ms-consistency-level", "Strong"}, {"x-ms-version", "tomorrow"}, {
			"x-ms-version", "2001-01-01"},
		{"x-ms-max-item-count", "0"}, {"x-ms-documentdb-responsecontinuationtokenlimitinkb",
			"0"}, {"x-ms-documentdb-partitionkey", `{"a":1}`}, {"x-ms-indexing-directive", "Maybe"},
		{"x-ms-session-token", "nonsense"}, {"x-ms-start-epk", "no hex"},
	} {
		w.do("POST", docs, `{"id":"1","pk":"a"}`, h[0], h[1]).fails(400, 0, "")
	}
	w.do("GET", docs, "").want(200).has("_count", "0")
	// The type of the content decides nothing: a create is a create.
	for i, contentType := range []string{"", "text/plain", "application/xml",
		"application/json; charset=utf-8", ";;;"} {
		w.do("POST", docs, fmt.Sprintf(`{"id":"%d","pk":"a"}`, i), "Content-Type", contentType).want(201)
	}
}
