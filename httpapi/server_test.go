package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// bare returns a server for requests that do not need its store.
func bare(t testing.TB, o Options) *Server {
	t.Helper()
	o.DB, o.Hosts = new(store.DB), append(o.Hosts, "*.example", "example.com") // the last is httptest's
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func answerOf(s *Server, method, path string, headers ...string) (int, *httptest.ResponseRecorder) {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Code, w
}

func TestAccount(t *testing.T) {
	t.Parallel()
	s := bare(t, Options{NoAuth: true})
	r := httptest.NewRequest("GET", "http://db.example:8081/", nil)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	body := w.Body.Bytes()
	if w.Code != 200 || !json.Valid(body) {
		t.Fatalf("%d %s", w.Code, body)
	}
	for path, want := range map[string]string{
		"id": "mayfly", "_rid": "mayfly", "_dbs": "//dbs/", "userConsistencyPolicy.defaultConsistencyLevel": "Session",
		"writableLocations.0.databaseAccountEndpoint": "http://db.example:8081/", "readableLocations.0.databaseAccountEndpoint": "http://db.example:8081/",
		"writableLocations.0.name": "South Central US", "readableLocations.0.name": "South Central US", "writableLocations.#": "1", "readableLocations.#": "1",
		"enableMultipleWriteLocations": "false", "systemReplicationPolicy.maxReplicasetSize": "1", "readPolicy.primaryReadCoefficient": "1",
	} {
		if got := gjson.GetBytes(body, path).String(); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if engine := gjson.GetBytes(body, "queryEngineConfiguration"); engine.Type != gjson.String ||
		!gjson.Valid(engine.Str) {
		t.Errorf("queryEngineConfiguration is not JSON text: %s", engine)
	}
	configured := bare(t, Options{NoAuth: true, Advertise: "https://elsewhere:1", AccountID: `local"host`,
		Consistency: "bounded"})
	_, w = answerOf(configured, "GET", "//")
	for path, want := range map[string]string{"id": `local"host`,
		"writableLocations.0.databaseAccountEndpoint": "https://elsewhere:1/", "userConsistencyPolicy.defaultConsistencyLevel": "BoundedStaleness"} {
		if got := gjson.GetBytes(w.Body.Bytes(), path).String(); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

// TestForwardedProto checks that X-Forwarded-Proto is accepted only from a proxy on the same machine.
func TestForwardedProto(t *testing.T) {
	t.Parallel()
	s := bare(t, Options{NoAuth: true})
	for _, tc := range []struct{ from, said, want string }{
		{"127.0.0.1:1", "https", "https"}, {"[::1]:1", "HTTPS, http", "https"}, {"[::ffff:127.0.0.1]:1",
			"https", "https"},
		{"127.0.0.1:1", "http", "http"}, {"127.0.0.1:1", "ftp", "http"}, {"127.0.0.1:1", "", "http"},
		{"192.0.2.1:1", "https", "http"}, {"somewhere", "https", "http"},
	} {
		r := httptest.NewRequest("GET", "http://db.example:8081/", nil)
		r.RemoteAddr = tc.from
		if tc.said != "" {
			r.Header.Set("X-Forwarded-Proto", tc.said)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		want := tc.want + "://db.example:8081/"
		if got := gjson.GetBytes(w.Body.Bytes(),
			"writableLocations.0.databaseAccountEndpoint").Str; got != want {
			t.Errorf("%s says %q: the account sends clients to %s, want %s", tc.from, tc.said, got, want)
		}
	}
}

func TestInvalidServerOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no store":         {},
		"key":              {DB: new(store.DB), Key: "not base64"},
		"consistency":      {DB: new(store.DB), Consistency: "Perfect"},
		"advertise scheme": {DB: new(store.DB), Advertise: "ftp://x/"},
		"advertise host":   {DB: new(store.DB), Advertise: "localhost:8081"},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestWithoutAuthorization(t *testing.T) {
	t.Parallel()
	failing := errors.New("no disk")
	s := bare(t, Options{CertPEM: []byte("PEM"), Ready: func(context.Context) error { return failing }})
	for _, tc := range []struct {
		method, path string
		status       int
		text         string
	}{
		{"GET", "/", 401, "Required Header authorization is missing"},
		{"GET", "/dbs", 401, "Required Header"},
		{"POST", "/dbs/a/colls/b/docs", 401, "Required Header"},
		{"PUT", "/_mayfly/clock", 401, "Required Header"},
		{"DELETE", "/_mayfly/clock", 405, "DELETE"},
		{"GET", "/_mayfly/elsewhere", 404, "/_mayfly/elsewhere"},
		{"GET", "/nothing", 404, "Resource Not Found"},
		{"GET", "/_mayfly/livez", 200, "ok"},
		{"GET", "/_mayfly/readyz", 503, "no disk"},
		{"GET", "/_mayfly/cert.pem", 200, "PEM"},
		{"GET", "/_explorer/emulator.pem", 200, "PEM"},
		{"HEAD", "/_explorer/emulator.pem", 200, ""},
		{"GET", "//addresses/?$resolveFor=x", 400, "gateway"},
		{"OPTIONS", "/dbs", 204, ""},
	} {
		status, w := answerOf(s, tc.method, tc.path)
		if status != tc.status || !strings.Contains(w.Body.String(), tc.text) ||
			headerOf(t, w).Get("x-ms-activity-id") == "" {
			t.Errorf("%s %s: %d %s", tc.method, tc.path, status, w.Body)
		}
	}
	if status, w := answerOf(bare(t, Options{}), "GET", "/_mayfly/readyz"); status != 200 {
		t.Errorf("readyz: %d %s", status, w.Body)
	}
	if status, _ := answerOf(bare(t, Options{}), "GET", "/_mayfly/cert.pem"); status != 404 {
		t.Errorf("cert.pem without TLS: %d", status)
	}
}

func TestRefusedUnsupportedOperations(t *testing.T) {
	t.Parallel()
	s := bare(t, Options{NoAuth: true})
	const coll = "/dbs/a/colls/b"
	for _, tc := range []struct {
		method, path string
		headers      []string
		status       int
		text         string
	}{
		{"POST", coll + "/docs/x/attachments", nil, 400, "Attachments are not"},
		{"PUT", "/dbs/a", nil, 405, "PUT"},
		{"PATCH", "/dbs/a", nil, 405, "PATCH"},
		{"POST", "/", nil, 405, "POST"},
		{"BREW", coll + "/docs/x", nil, 405, "BREW"},
		{"POST", "/dbs", []string{"x-ms-documentdb-is-upsert", "true"}, 405, "POST"},
		{"POST", coll + "/docs/x", nil, 405, "POST"},
		{"GET", coll + "/pkranges/0", nil, 405, "GET"},
		{"GET", coll + "/operations/partitionkeydelete", nil, 405, "GET"},
		{"DELETE", "/offers/abcd", nil, 405, "DELETE"},
		{"GET", "/dbs", []string{"x-ms-max-item-count", "0"}, 400, "x-ms-max-item-count"},
	} {
		status, w := answerOf(s, tc.method, tc.path, tc.headers...)
		if status != tc.status || !strings.Contains(gjson.GetBytes(w.Body.Bytes(), "message").Str, tc.text) {
			t.Errorf("%s %s %v: %d %s", tc.method, tc.path, tc.headers, status, w.Body)
		}
	}
}

func TestAuthorizationComesFirst(t *testing.T) {
	t.Parallel()
	s := bare(t, Options{})
	if status, w := answerOf(s, "GET", "/dbs", "x-ms-max-item-count", "0"); status != 401 {
		t.Errorf("bad header: %d %s", status, w.Body)
	}
	r := httptest.NewRequest("POST", "/dbs", io.MultiReader(bytes.NewReader(make([]byte, 5<<20))))
	r.ContentLength = 5 << 20
	w := httptest.NewRecorder()
	if s.Handler().ServeHTTP(w, r); w.Code != 401 {
		t.Errorf("large body: %d %s", w.Code, w.Body)
	}
}

func TestClockRequiresMasterKey(t *testing.T) {
	t.Parallel()
	s := bare(t, Options{Wall: ttl.NewManual(signedAt)})
	token := "type=aad&ver=1.0&sig=e30.eyJleHAiOjk5OTk5OTk5OTk5fQ.eA"
	if status, w := answerOf(s, "GET", "/", "authorization", token); status != 200 {
		t.Fatalf("account: %d %s", status, w.Body)
	}
	if status, w := answerOf(s, "PUT", "/_mayfly/clock", "authorization", token); status != 403 ||
		headerOf(t, w).Get("x-ms-substatus") != "" {
		t.Errorf("clock: %d %s", status, w.Body)
	}
}

func TestSignedRequest(t *testing.T) {
	t.Parallel()
	s := bare(t, Options{Wall: ttl.NewManual(signedAt)})
	signature := AuthorizationHeader(Sign(decodeKey(t, EmulatorKey), "GET", "", "", signedDate))
	if status, w := answerOf(s, "GET", "/", "authorization", signature, "x-ms-date",
		signedDate); status != 200 {
		t.Errorf("%d %s", status, w.Body)
	}
}

func TestCommonHeaders(t *testing.T) {
	t.Parallel()
	s := bare(t, Options{NoAuth: true})
	_, w := answerOf(s, "GET", "/nothing", "x-ms-activity-id", testActivity,
		"x-ms-cosmos-correlated-activityid", testActivity)
	h := headerOf(t, w)
	for name, want := range map[string]string{
		"x-ms-activity-id": testActivity, "x-ms-cosmos-correlated-activityid": testActivity, "x-ms-request-charge": "1", "content-type": "application/json",
		"content-length": fmt.Sprint(
			w.Body.Len()), "cache-control": "no-store, no-cache", "pragma": "no-cache", "x-ms-schemaversion": "1.19",
	} {
		if h.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, h.Get(name), want)
		}
	}
	_, first := answerOf(s, "GET", "/nothing")
	_, second := answerOf(s, "GET", "/nothing")
	if a, b := headerOf(t, first).Get("x-ms-activity-id"), headerOf(t,
		second).Get("x-ms-activity-id"); a == b || !isGUID(a) {
		t.Errorf("activity ids %q and %q", a, b)
	}
}

func TestAccessLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := bare(t, Options{NoAuth: true,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	answerOf(s, "GET", "/dbs/a%2Fb/nothing")
	if line := log.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, "status=404") ||
		!strings.Contains(line, "uri=/dbs/a%2Fb/nothing") {
		t.Errorf("log %q", line)
	}
	log.Reset()
	answerOf(s, "GET", "/"+strings.Repeat("x", 60000)+"/nothing")
	if line := log.String(); len(line) > 2*cosmos.MaxExcerpt || !strings.Contains(line, "xxx...") {
		t.Errorf("a long address makes a line of %d bytes", len(line))
	}
}

func TestEmptyPath(t *testing.T) {
	t.Parallel()
	// An absolute target without a path is the account.
	s := bare(t, Options{NoAuth: true})
	r := httptest.NewRequest("GET", "/", nil)
	r.RequestURI, r.URL.Path = "http://host", ""
	w := httptest.NewRecorder()
	if s.Handler().ServeHTTP(w, r); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestEmptyConflictsAndAttachments(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	rid := w.container("").at("_rid").Raw
	for path, key := range map[string]string{coll + "/conflicts": "Conflicts",
		docs + "/x/attachments/": "Attachments"} {
		w.do("GET", path, "").want(200).has(key, "[]").has("_count", "0").has("_rid",
			rid).head("x-ms-item-count", "0")
		w.do("GET", strings.TrimSuffix(path, "/")+"/y", "").fails(404, 0, "Resource Not Found")
	}
	w.do("POST", coll+"/conflicts", `{"query":"SELECT * FROM c"}`,
		queryHeaders()...).want(200).has("Conflicts", "[]")
	w.do("GET", "/dbs/d/colls/other/conflicts", "").fails(404, 1003, "Resource Not Found")
}

func TestQuestionMarkInAnID(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", docs, `{"id":"why? not","pk":"a"}`).want(201)
	w.do("POST", docs, `{"id":"why","pk":"a"}`).want(201)
	date := w.wall.Now().UTC().Format(http.TimeFormat)
	for path, id := range map[string]string{"/why?%20not": "why? not", "/why%3F%20not": "why? not",
		"/why": "why"} {
		link := strings.TrimPrefix(docs, "/") + "/" + id
		for _, authorization := range []string{AuthorizationHeader(Sign(w.key, "GET", "docs", link, date)),
			"Bearer " + EmulatorKey} {
			w.do("GET", docs+path, "", append(pk(`["a"]`), "Authorization", authorization, "x-ms-date",
				date)...).want(200).has("id", jsonString(id))
		}
	}
	// Who signs the path alone means it alone.
	signature := AuthorizationHeader(Sign(w.key, "GET", "docs", strings.TrimPrefix(docs, "/")+"/why", date))
	w.do("GET", docs+"/why?%20not", "", append(pk(`["a"]`), "Authorization", signature, "x-ms-date",
		date)...).want(200).has("id", `"why"`)
}
