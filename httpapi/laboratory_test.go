package httpapi

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

const own = "/_mayfly/dbs/d/colls/c/"

// docID returns the JSON body by which a request to Mayfly's own API names the item id of the partition
// key p.
func docID(id string) string { return `{"id":"` + id + `","partitionKey":["p"]}` }

func (w *serverUnderTest) upsertTTL(id, more string, headers ...string) *testResponse {
	w.t.Helper()
	return w.do("POST", docs, `{"id":"`+id+`","pk":"p"`+more+`}`,
		append(headers, "x-ms-documentdb-partitionkey", `["p"]`, "x-ms-documentdb-is-upsert", "true")...)
}

const hashed = `"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}`

func TestExplainItemOverHTTP(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container(hashed + `,"defaultTtl":60`)
	w.upsertTTL("a", "").want(201).head("x-mayfly-expires-at", "").head("x-mayfly-ttl-source", "")
	w.upsertTTL("b", `,"ttl":-1`, "x-mayfly-explain-ttl", "true").want(201).head("x-mayfly-expires-at",
		"").head("x-mayfly-ttl-source", "item")
	w.upsertTTL("a", "", "x-mayfly-explain-ttl", "True").want(200).head("x-mayfly-expires-at",
		"2027-03-01T12:01:00Z").head("x-mayfly-ttl-source", "container")
	w.do("GET", docs+"/a", "", "x-mayfly-explain-ttl", "true", "x-ms-documentdb-partitionkey",
		`["p"]`).want(200).
		head("x-mayfly-expires-at", "2027-03-01T12:01:00Z").head("x-mayfly-ttl-source", "container")
	w.do("GET", docs+"/a", "", "x-mayfly-explain-ttl", "perhaps", "x-ms-documentdb-partitionkey",
		`["p"]`).fails(400, 0, "x-mayfly-explain-ttl")

	w.do("POST", own+"explain-item", docID("a")).want(200).has("state", `"live"`).has("source",
		`"container"`).has("ttl", "60").
		has("expiresAt", `"2027-03-01T12:01:00Z"`).has("expiresAtSeconds", "1803902460").has("expiresIn",
		"60").has("policy.defaultTtl", "60").has("now", `"2027-03-01T12:00:00Z"`)
	w.do("POST", own+"explain-item", docID("b")).want(200).has("state", `"live"`).has("source",
		`"item"`).has("ttl", "-1").has("expiresAt", "").
		has("explain", `"It does not expire: its own ttl is -1."`)
	w.clock.Advance(time.Minute)
	w.do("POST", own+"explain-item", docID("a")).want(200).has("state", `"ghost"`).has("expiresIn", "")
	w.do("POST", own+"explain-item", docID("c")).fails(404, 0, "There is no such item")

	for body, text := range map[string]string{
		`{}`:                             "must have an 'id'",
		`{"id":"a"}`:                     "artition", // the partition key is missing
		`{"id":7,"partitionKey":["p"]}`:  "'id' must be a string",
		`{"id":"a","partitionKey":"p"}`:  "artition",
		`{"id":"a","ID":"b"}`:            "'ID' is not known",
		`[]`:                             "must be a JSON object",
		``:                               "invalid",
		`{"id":"","partitionKey":["p"]}`: "must not be empty",
	} {
		w.do("POST", own+"explain-item", body).fails(400, 0, text)
	}
	w.do("POST", "/_mayfly/dbs/d/colls/x/explain-item", docID("a")).fails(404, 1003, "")
}

func TestDryRunOverHTTP(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container(hashed + `,"defaultTtl":60`)
	w.upsertTTL("a", "").want(201)
	w.upsertTTL("b", `,"ttl":-1`).want(201)
	w.upsertTTL("c", `,"ttl":7200`).want(201)
	w.clock.Advance(20 * time.Second)
	w.do("POST", own+"ttl-dry-run", `{"defaultTtl":20}`).want(200).has("from", "60").has("to",
		"20").has("method", `"exact"`).has("complete", "true").
		has("effects.diesAtOnce",
			`{"count":1,"examples":[{"id":"a","partitionKey":["p"],"expiredAtBefore":"2027-03-01T12:01:00Z","expiresAtAfter":"2027-03-01T12:00:20Z"}]}`).
		has("effects.unchanged.count", "2").has("expiredAlready", "0").
		has("deadlines.#.count", "[1,0,0,1,0,0,0,1]").has("deadlines.#.within",
		`["atOnce","minute","hour","day","week","month","later","never"]`)
	w.do("POST", own+"ttl-dry-run", `{"defaultTtl":null,"examples":0}`).want(200).has("to",
		"null").has("effects.becomesImmortal", `{"count":2}`)
	w.do("GET", docs+"/a", "", pk(`["p"]`)...).want(200) // nothing has been changed

	for body, text := range map[string]string{
		`{}`:                                 "must have a 'defaultTtl'",
		`{"defaultTtl":0}`:                   "The input defaultTtl '0' is invalid",
		`{"defaultTtl":"60"}`:                "is invalid",
		`{"defaultTtl":60,"examples":-1}`:    "'examples' must be a whole number between 0 and 1000",
		`{"defaultTtl":60,"examples":1.5}`:   "whole number",
		`{"defaultTtl":60,"partitionKey":1}`: "'partitionKey' is not known",
	} {
		w.do("POST", own+"ttl-dry-run", body).fails(400, 0, text)
	}
}

func TestForecastOverHTTP(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container(hashed + `,"defaultTtl":60`)
	w.upsertTTL("a", "").want(201)
	w.upsertTTL("b", `,"ttl":5`).want(201)
	w.upsertTTL("c", `,"ttl":90`).want(201)
	w.clock.Advance(10 * time.Second)
	for _, path := range []string{own + "forecast", "/_mayfly/forecast"} {
		w.do("GET", path, "").want(200).has("overdue", "1").has("lagSeconds", "5").has("coming",
			"2").has("nextIn", "50").
			has("nextAt", `"2027-03-01T12:01:00Z"`).has("method", `"exact"`).has("complete", "true").
			has("by.second", `[{"from":49,"to":50,"count":1}]`).
			has("by.minute", `[{"from":0,"to":60,"count":1},{"from":60,"to":120,"count":1}]`).
			has("by.month", `[{"from":0,"to":2592000,"count":2}]`)
	}
}

func TestLintOverHTTP(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container(hashed).head("x-mayfly-lint", "")
	w.upsertTTL("a", `,"ttl":60`).want(201).head("x-mayfly-lint", "ttl-off")
	w.upsertTTL("b", "").want(201).head("x-mayfly-lint", "")
	w.do("PUT", coll, `{"id":"c",`+hashed+`,"defaultTtl":86400000}`).want(200).head("x-mayfly-lint",
		"ttl-milliseconds")
	w.upsertTTL("a", `,"ttl":604800000`).want(200).head("x-mayfly-lint",
		"ttl-milliseconds,ttl-over-ten-years")
	w.upsertTTL("a", `,"ttl":604800`).want(200).head("x-mayfly-lint", "")
	w.do("GET", own+"lint", "").want(200).has("container.#.rule", `["ttl-milliseconds"]`).
		has("items.#.rule", `["ttl-off","ttl-milliseconds","ttl-over-ten-years"]`).has("items.0.count", "1").
		has("items.0.last", `{"id":"a","partitionKey":["p"],"ttl":60,"at":"2027-03-01T12:00:00Z"}`)
}

// timerReportingClock is a clock that sends the duration of each timer that is started to the channel
// armed.
type timerReportingClock struct {
	ttl.Clock
	armed chan<- time.Duration
}

func (c timerReportingClock) After(d time.Duration) (<-chan time.Time, func()) {
	fires, stop := c.Clock.After(d)
	c.armed <- d
	return fires, stop
}

func TestWaitOverHTTP(t *testing.T) {
	t.Parallel()
	armed := make(chan time.Duration, 1)
	w := newServerUnderTest(t,
		func(s *serverUnderTestOptions) { s.server.Wall = timerReportingClock{s.server.Wall, armed} })
	w.container(hashed + `,"defaultTtl":60`)
	w.upsertTTL("a", "").want(201)
	lsn := w.do("GET", docs+"/a", "", pk(`["p"]`)...).want(200).header.Get("Lsn")
	wait := func(body string) func() *testResponse {
		answers := make(chan *httptest.ResponseRecorder)
		r := httptest.NewRequest("POST", own+"wait", strings.NewReader(body))
		w.sign(r)
		go func() {
			rec := httptest.NewRecorder()
			w.h.ServeHTTP(rec, r)
			answers <- rec
		}()
		<-armed
		return func() *testResponse {
			rec := <-answers
			return &testResponse{t: t, what: "wait " + body, code: rec.Code, header: headerOf(t, rec),
				body: rec.Body.Bytes()}
		}
	}
	of := func(until, more string) string {
		return `{"until":"` + until + `",` + docID("a")[1:len(docID("a"))-1] + more + `}`
	}
	wait(`{"until":"quiet"}`)().want(200).has("until", `"quiet"`).has("item", "")
	wait(of("feed", ""))().want(200).has("lsn", lsn).has("item.state", `"live"`).has("operationType", "")

	fed, expired := wait(of("feed", `,"after":`+lsn)), wait(of("expired", ""))
	w.upsertTTL("a", "").want(200)
	fed().want(200).has("item.state", `"live"`)
	w.clock.Advance(time.Minute)
	expired().want(200).has("item.state", `"ghost"`).has("now", `"2027-03-01T12:01:00Z"`)
	purged := wait(of("purged", ""))
	if _, err := w.db.SweepNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	purged().want(200).has("item.state", `"unknown"`)

	// Patience is real time, not the data's.
	w.upsertTTL("a", "").want(201)
	late := wait(of("expired", `,"timeout":1`))
	w.wall.Advance(time.Second)
	late().fails(408, 0, "The condition was not met within 1s. It expires in 1m")

	for body, text := range map[string]string{
		`{}`:                              "'until' must be",
		`{"until":"dead"}`:                "'until' must be",
		`{"until":"expired"}`:             "must have an 'id'",
		of("feed", `,"after":-1`):         "'after' must be",
		of("expired", `,"timeout":0`):     "'timeout' must be a whole number between 1 and 600",
		of("expired", `,"timeout":601`):   "'timeout' must be",
		of("expired", `,"patience":"10"`): "'patience' is not known",
	} {
		w.do("POST", own+"wait", body).fails(400, 0, text)
	}
	// A server that shuts down does not wait with those who wait.
	forever := wait(of("expired", `,"timeout":600`))
	w.srv.drain()
	forever().fails(503, 0, "shutting down")
}

// raw sends a signed GET whose response need not be JSON.
func (w *serverUnderTest) raw(path string) *testResponse {
	r := httptest.NewRequest("GET", path, nil)
	w.sign(r)
	rec := httptest.NewRecorder()
	w.h.ServeHTTP(rec, r)
	return &testResponse{t: w.t, what: "GET " + path, code: rec.Code, header: headerOf(w.t, rec),
		body: rec.Body.Bytes()}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container(hashed + `,"defaultTtl":60`)
	w.upsertTTL("a", "").want(201)
	w.upsertTTL("b", `,"ttl":5`).want(201)
	w.clock.Advance(10 * time.Second)
	check := func(a *testResponse, lines ...string) {
		t.Helper()
		for _, line := range lines {
			if !strings.Contains("\n"+string(a.body), "\n"+line+"\n") {
				t.Errorf("no %q in\n%s", line, a.body)
			}
		}
	}
	a := w.raw("/_mayfly/metrics").want(200)
	check(a, "mayfly_expired_items_total 1", "mayfly_purged_items_total 0", "mayfly_expiry_backlog_items 1",
		"mayfly_expiry_lag_seconds 5",
		"mayfly_next_expiry_seconds 50", "mayfly_databases 1", "mayfly_containers 1",
		"mayfly_stuck_scripts 0",
		`mayfly_container_expiry_backlog_items{container="c",database="d"} 1`,
		`mayfly_container_expiry_lag_seconds{container="c",database="d"} 5`,
		`mayfly_container_next_expiry_timestamp_seconds{container="c",database="d"} 1.80390246e+09`)
	if kind := a.header.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain") {
		t.Errorf("content type %q", kind)
	}
	if _, err := w.db.SweepNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Minute)
	check(w.raw("/_mayfly/metrics"), "mayfly_expired_items_total 2", "mayfly_purged_items_total 1",
		`mayfly_container_expired_items_total{container="c",database="d"} 2`,
		`mayfly_container_purged_items_total{container="c",database="d"} 1`)

	// Without the key there is no name of anybody's container in it.
	r := httptest.NewRequest("GET", "/_mayfly/metrics", nil)
	rec := httptest.NewRecorder()
	w.h.ServeHTTP(rec, r)
	if text := rec.Body.String(); rec.Code != 200 ||
		!strings.Contains(text, "mayfly_purged_items_total 1\n") ||
		!regexp.MustCompile(`(?m)^mayfly_goroutines [1-9]\d*$`).MatchString(text) ||
		strings.Contains(text, "database=") {
		t.Errorf("%d\n%s", rec.Code, text)
	}
}

// TestBrowserRedirectToExplorer checks that a GET / from a browser is redirected to the explorer, and that a
// client with authorization, or that accepts JSON, gets the response of the API.
func TestBrowserRedirectToExplorer(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	const page = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, c := range []struct {
		method, path, accept, key string
		status                    int
	}{
		{"GET", "/", page, "", 303},
		{"HEAD", "/", page, "", 303},
		{"GET", "/", page, "Bearer " + EmulatorKey, 200},
		{"GET", "/", "application/json", "", 401},
		{"GET", "/", "*/*", "", 401},
		{"GET", "/", "", "", 401},
		{"GET", "/dbs", page, "", 401},
		{"POST", "/", page, "", 401},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		for name, value := range map[string]string{"Accept": c.accept, "Authorization": c.key} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		rec := httptest.NewRecorder()
		w.h.ServeHTTP(rec, r)
		want := ""
		if c.status == 303 {
			want = "/_explorer/"
		}
		if got := headerOf(t, rec).Get("Location"); rec.Code != c.status || got != want {
			t.Errorf("%+v: %d, to %q", c, rec.Code, got)
		}
	}
}

// TestRandInMessageQueries checks that RAND() returns random numbers in queries over the messages of a queue.
func TestRandInMessageQueries(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/_mayfly/entities", `{"path":"q"}`).want(201)
	w.do("POST", "/_mayfly/entities/q/send", `{"text":"{}"}`).want(201)
	r := w.do("POST", "/_mayfly/entities/q/query",
		`{"query":"SELECT VALUE [RAND(), RAND()] FROM c"}`).want(200)
	if text := string(r.body); strings.Contains(text, "[0,0]") || !strings.Contains(text, "0.") {
		t.Errorf("by chance: %s", text)
	}
}
