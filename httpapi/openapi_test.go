package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/datatest"
	"github.com/mayflydb/mayfly/internal/testdisk"
)

// openAPIValidator checks requests and responses against the server's OpenAPI document, and records the
// operations that it has seen.
type openAPIValidator struct {
	t    *testing.T
	doc  *openapi3.T
	seen map[string]bool // operations that have succeeded, with the kind of their answers
}

// contract reads the server's OpenAPI document, checks that it is valid, and returns a validator for it.
// In it objects with members that their schemas do not have are invalid.
func (w *serverUnderTest) contract(t *testing.T) *openAPIValidator {
	t.Helper()
	text := w.do("GET", "/_mayfly/openapi.json", "").want(200).body
	d, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	open := false
	for _, s := range d.Components.Schemas {
		if v := s.Value; v.Type.Includes("object") && len(v.Properties) > 0 &&
			v.AdditionalProperties.Has == nil {
			v.AdditionalProperties.Has = &open
		}
	}
	return &openAPIValidator{t, d, make(map[string]bool)}
}

// parameter matches a parameter such as {db} in a path of the OpenAPI document that has been quoted for
// use as a regular expression.
var parameter = regexp.MustCompile(`\\\{\w+\\\}`)

// operation returns the operation of the OpenAPI document that matches a method and a path, and its name
// such as "GET /_mayfly/clock". It returns nil if there is none.
func (c *openAPIValidator) operation(method, path string) (*openapi3.Operation, string) {
	path, _, _ = strings.Cut(path, "?")
	for template, item := range c.doc.Paths.Map() {
		one := parameter.ReplaceAllString(regexp.QuoteMeta(template), `[^/]+`)
		is := regexp.MustCompile("^" + one + "$")
		if op := item.GetOperation(method); op != nil && is.MatchString(path) {
			return op, method + " " + template
		}
	}
	return nil, ""
}

// check checks a request and its response against the OpenAPI document: the document must list the status,
// and the response must match its schema. If the request succeeded, its body must match too.
func (c *openAPIValidator) check(r *http.Request, body string, rec *httptest.ResponseRecorder) {
	c.t.Helper()
	if r.Method == http.MethodHead {
		return // its answer is GET's
	}
	op, name := c.operation(r.Method, r.RequestURI)
	if op == nil {
		return
	}
	answer := op.Responses.Status(rec.Code)
	if answer == nil {
		c.t.Errorf("%s: the document does not name the status %d: %s", name, rec.Code, rec.Body)
		return
	}
	if rec.Code == http.StatusNoContent {
		c.seen[name] = true
		return
	}
	kind, _, err := mime.ParseMediaType(headerOf(c.t, rec).Get("Content-Type"))
	media := answer.Value.Content[kind]
	if err != nil || media == nil {
		c.t.Errorf("%s: the document does not name the kind %q of the answer %d", name, kind, rec.Code)
		return
	}
	var v any = rec.Body.String()
	if kind == "application/json" {
		v = anyJSON(c.t, rec.Body.Bytes())
	}
	if err := media.Schema.Value.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
		c.t.Errorf("%s: the answer %d does not fit its schema: %v\n%s", name, rec.Code, err, rec.Body)
	}
	if rec.Code >= 300 {
		return
	}
	c.seen[name] = true
	if rec.Code == http.StatusMultiStatus { // parts of the request were refused
		return
	}
	if asks := op.RequestBody; asks != nil && (body != "" || asks.Value.Required) {
		schema := asks.Value.Content["application/json"].Schema.Value
		if err := schema.VisitJSON(anyJSON(c.t, []byte(body)), openapi3.EnableJSONSchema2020()); err != nil {
			c.t.Errorf("%s takes %s, which its schema does not: %v", name, body, err)
		}
	}
}

func anyJSON(t *testing.T, text []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&v); err != nil {
		t.Errorf("%v: %s", err, text)
	}
	return v
}

// TestResponsesMatchOpenAPI calls every route of Mayfly's own API at least once and checks all responses,
// including errors, against the OpenAPI document.
func TestResponsesMatchOpenAPI(t *testing.T) {
	t.Parallel()
	testdisk.Pebble(t, "requests for snapshots are among them")
	w := newServerUnderTest(t)
	w.container(hashed + `,"defaultTtl":60`)
	c := w.contract(t)
	datatest.Run(t, "testdata/laboratory.txt", func(_ *testing.T, one *datatest.TestFileCommand) string {
		if one.Cmd == "pass" {
			return w.golden(one)
		}
		r, rec := w.goldenCase(one)
		c.check(r, strings.TrimSuffix(one.Input, "\n"), rec)
		return goldenText(one, rec)
	})

	w = newServerUnderTest(t, recorded, func(s *serverUnderTestOptions) { s.server.CertPEM = []byte("PEM") })
	w.container(hashed + `,"defaultTtl":60`)
	w.do("PATCH", own+"settings", `{"expiryEvents":{}}`).want(200)
	w.upsertTTL("a", "").want(201)
	w.upsertTTL("b", `,"ttl":-1`).want(201)
	w.clock.Advance(time.Minute)
	for _, ask := range []struct{ method, path, body string }{
		{"GET", "/_mayfly/cert.pem", ""},
		{"GET", "/_explorer/emulator.pem", ""},
		{"GET", "/_mayfly", ""},
		{"GET", "/_mayfly/metrics", ""},
		{"GET", "/_mayfly/openapi.json", ""},
		{"GET", "/_mayfly/connection", ""},
		{"GET", "/_mayfly/servers", ""},
		{"POST", own + "explain-item", docID("a")},
		{"POST", own + "explain-item", docID("b")},
		{"POST", own + "reaper/run", ""},
		{"POST", own + "explain-item", docID("a")},
		{"GET", own + "events", ""},
		{"GET", "/_mayfly/requests", ""},
		{"GET", "/_mayfly/requests/3", ""},
		{"GET", "/_mayfly/requests/1000", ""},
		{"GET", "/_mayfly/requests?status=900", ""},
		{"GET", "/_mayfly/requests.har", ""},
		{"DELETE", "/_mayfly/requests", ""},
	} {
		r := w.request(ask.method, ask.path, ask.body)
		rec := httptest.NewRecorder()
		w.h.ServeHTTP(rec, r)
		c.check(r, ask.body, rec)
	}
	c.receivers(w)
	for path, item := range c.doc.Paths.Map() {
		for method := range item.Operations() {
			if name := method + " " + path; !c.seen[name] {
				t.Errorf("%s has not succeeded", name)
			}
		}
	}
}

// receivers checks the routes of message receivers against the OpenAPI document. They need an open stream
// of server-sent events.
func (c *openAPIValidator) receivers(w *serverUnderTest) {
	c.t.Helper()
	base, _ := w.listen()
	w.do("POST", "/_mayfly/entities", `{"path":"q"}`).want(201)
	w.do("POST", "/_mayfly/entities", `{"path":"s","requiresSession":true}`).want(201)
	w.do("POST", queueQ+"send", `{"text":"x","repeat":2}`).want(201)
	ctx, leave := context.WithCancel(c.t.Context())
	lines := w.changes(ctx, base, "")
	leave()
	for range lines {
	}
	c.seen["GET /_mayfly/changes"] = true
	_, opened, end := w.openReceiver(base, "q", "")
	defer end()
	c.seen["POST /_mayfly/entities/{entity}/receivers"] = true
	receiver := "/_mayfly/receivers/" + gjson.Get(opened, "receiver").Str
	got := w.do("POST", receiver+"/receive", "").want(200).body
	token := `"lockTokens":["` + gjson.GetBytes(got, "messages.0.lockToken").Str + `"]`
	for _, ask := range []struct{ method, path, body string }{
		{"POST", receiver + "/receive", `{"count":2}`},
		{"POST", receiver + "/renew", `{` + token + `}`},
		{"POST", receiver + "/settle", `{` + token + `,"outcome":"complete"}`},
		{"POST", receiver + "/settle", `{` + token + `,"outcome":"complete"}`},
		{"POST", receiver + "/renew", `{` + token + `}`},
		{"POST", queueQ + "delete", `{"sequenceNumbers":[1]}`},
		{"PUT", "/_mayfly/entities/s/session-state", `{"session":"a","state":"x"}`},
		{"POST", "/_mayfly/entities/s/sessions", ""},
	} {
		r := w.request(ask.method, ask.path, ask.body)
		rec := httptest.NewRecorder()
		w.h.ServeHTTP(rec, r)
		c.check(r, ask.body, rec)
	}
}

// TestOpenAPI checks that the OpenAPI document and the HTML page of Mayfly's own API are well formed, and
// that both describe every route.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	c := w.contract(t)
	page := w.raw("/_mayfly/").want(200)
	kind := page.header.Get("Content-Type")
	if kind != "text/html; charset=utf-8" || strings.Contains(string(page.body), "://") {
		t.Errorf("a page of type %q\n%s", kind, page.body)
	}
	if c.doc.OpenAPI != "3.1.0" || c.doc.Info.Title == "" || c.doc.Info.Version == "" {
		t.Errorf("OpenAPI %q: %+v", c.doc.OpenAPI, c.doc.Info)
	}
	ids, rows := make(map[string]bool), 0
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			rows++
			what := method + " " + path
			if len(op.Summary) < 5 || strings.HasSuffix(op.Summary, ".") ||
				strings.Contains(op.Summary, "\n") {
				t.Errorf("%s: the summary %q is not a line without its full stop", what, op.Summary)
			}
			if ids[op.OperationID] || !regexp.MustCompile(`^[a-z_0-9]+$`).MatchString(op.OperationID) {
				t.Errorf("%s: the operation id %q is not its own", what, op.OperationID)
			}
			ids[op.OperationID] = true
			if !strings.Contains(string(page.body), "<code>"+what+"</code>") {
				t.Errorf("%s is not on the page", what)
			}
			in := map[string]int{}
			for _, p := range op.Parameters {
				in[p.Value.In]++
				if p.Value.Description == "" {
					t.Errorf("%s: nothing is said about the parameter %s", what, p.Value.Name)
				}
			}
			if n := strings.Count(path, "{"); n != in["path"] {
				t.Errorf("%s: %d parameters in the path, %d named", what, n, in["path"])
			}
			if asks := op.RequestBody; asks != nil {
				s := asks.Value.Content["application/json"].Schema.Value
				if closed := s.AdditionalProperties.Has; len(s.Properties) == 0 || closed == nil || *closed {
					t.Errorf("%s: the schema of its body is %v", what, s)
				}
			} else if method == http.MethodPut || method == http.MethodPatch {
				t.Errorf("%s has no body", what)
			}
			w.isOpen(t, what, path, method, op.Security == nil || len(*op.Security) == 0)
		}
	}
	if n := strings.Count(string(page.body), "<tr><td>"); n != rows || rows < 30 {
		t.Errorf("%d routes, %d on the page", rows, n)
	}
}

// isOpen checks that a route responds without authorization if open is set, and with 401 otherwise.
func (w *serverUnderTest) isOpen(t *testing.T, what, path, method string, open bool) {
	t.Helper()
	r := httptest.NewRequest(method, strings.NewReplacer("{", "", "}", "").Replace(path), nil)
	rec := httptest.NewRecorder()
	w.h.ServeHTTP(rec, r)
	if (rec.Code != http.StatusUnauthorized) != open {
		t.Errorf("%s: %d without a key, and the document says open: %t", what, rec.Code, open)
	}
}

// TestSchemaOfOperations checks the schema from which the explorer's page of faults reads the names of
// operations.
func TestSchemaOfOperations(t *testing.T) {
	t.Parallel()
	d := newServerUnderTest(t).do("GET", "/_mayfly/openapi.json", "").want(200)
	names := gjson.GetBytes(d.body, "components.schemas.OperationNames.items.enum").String()
	if !strings.Contains(names, `"createItem"`) {
		t.Errorf("the names of operations are %q", names)
	}
}

// TestOwnPathsEscaped checks that paths of Mayfly's own API are split before they are unescaped, so that
// ids may contain escaped slashes, braces and the names of routes.
func TestOwnPathsEscaped(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	for _, id := range []string{"täg lich", "a+b &c", "{db}", ":db", "%41", "clock"} {
		w.do("POST", "/dbs", `{"id":`+jsonString(id)+`}`).want(201)
	}
	for path, status := range map[string]int{
		"/_mayfly/dbs/t%C3%A4g%20lich/clock": 200, "/_mayfly/dbs/a+b%20&c/clock": 200,
		"/_mayfly/dbs/a%2Bb%20%26c/clock": 200,
		"/_mayfly/dbs/%7Bdb%7D/clock":     200, "/_mayfly/dbs/:db/clock": 200, "/_mayfly/dbs/%3Adb/clock": 200,
		"/_mayfly/dbs/%2541/clock": 200, "/_mayfly/dbs/A/clock": 404, "/_mayfly/dbs/clock/clock": 200,
		"//_mayfly/DBS/clock/clock//": 200, "/_mayfly/dbs/clock": 404, "/_mayfly/dbs/x%2Fclock": 404,
		"/_mayfly/dbs/x%2Fy/clock": 404,
		"/_mayfly/dbs/clock/{db}":  404, "/_mayfly/%64bs/clock/clock": 404, "/_mayfly/dbs/{db}/{coll}": 404,
		"/_mayfly/dbs%2Fclock/clock": 404, "/_mayfly/%63lock": 200,
		"/_mayfly/snapshots/restore/{name}": 404, "/_mayfly/snapshots/{name}/{db}": 404,
	} {
		w.do("GET", path, "").want(status)
	}
	w.do("GET", "/_mayfly/dbs/x%2Fy/clock", "").fails(404, 0, "the database 'x/y' does not exist")
}
