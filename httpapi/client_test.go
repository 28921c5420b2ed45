package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/jsondoc/jsonbinary"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// start is the time at which the clocks of test servers begin and stand still.
var start = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// serverUnderTest is a server over a store, and a client that signs its requests. Both clocks stand still:
// the data's and the wall's.
type serverUnderTest struct {
	t     testing.TB
	setup serverUnderTestOptions
	db    *store.DB
	srv   *Server
	clock *ttl.VirtualClock
	wall  *ttl.VirtualClock
	h     http.Handler
	key   []byte
	http2 bool // streams go over HTTP/2

	mu   *sync.Mutex     // guards seen
	seen map[string]bool // activity ids
}

// serverUnderTestOptions are the settings of a serverUnderTest that a test can change.
type serverUnderTestOptions struct {
	server Options
	store  store.Options
	disk   *testdisk.EngineStorage
}

func newServerUnderTest(t testing.TB, change ...func(*serverUnderTestOptions)) *serverUnderTest {
	t.Helper()
	w := &serverUnderTest{t: t, clock: ttl.NewManual(start), wall: ttl.NewManual(start), mu: new(sync.Mutex),
		seen: make(map[string]bool)}
	w.setup = serverUnderTestOptions{
		store:  store.Options{Clock: w.clock, Wall: w.wall, ManualReaper: true},
		server: Options{Wall: w.wall, Hosts: []string{"example.com"}, Logger: slog.New(slog.DiscardHandler)},
		disk:   testdisk.New(t),
	}
	for _, f := range change {
		f(&w.setup)
	}
	var err error
	if w.key, err = base64.StdEncoding.DecodeString(EmulatorKey); err != nil {
		t.Fatal(err)
	}
	w.open()
	t.Cleanup(w.close)
	return w
}

// open starts the server over its store.
func (w *serverUnderTest) open() {
	w.t.Helper()
	open := w.setup.disk.Open
	if _, moves := w.setup.store.Clock.(*ttl.VirtualClock); !moves {
		open = func(ctx context.Context) (testdisk.Engine, error) {
			return w.setup.disk.OpenAt(ctx, w.setup.store.Clock)
		}
	}
	e, err := open(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.setup.server.Queues = queue.New(queue.Options{})
	if w.db, err = store.Open(w.t.Context(), e, w.setup.store, w.setup.server.Queues.Tenant()); err != nil {
		w.t.Fatal(err)
	}
	server := w.setup.server
	server.DB = w.db
	if w.srv, err = New(server); err != nil {
		w.t.Fatal(err)
	}
	w.h = w.srv.Handler()
}

// close ends the server, checks that the store is consistent, and closes it.
func (w *serverUnderTest) close() {
	w.t.Helper()
	if err := w.srv.Shutdown(context.Background()); err != nil {
		w.t.Error(err)
	}
	if err := w.db.Check(context.Background(),
		func(err error) bool { w.t.Error(err); return true }); err != nil {
		w.t.Error(err)
	}
	if err := w.db.Close(); err != nil {
		w.t.Error(err)
	}
}

// testResponse is a response of a serverUnderTest, with methods that check parts of it.
type testResponse struct {
	t      testing.TB
	what   string
	code   int
	header http.Header
	body   []byte // JSON text, in whatever form it came
	binary bool   // it came as binary JSON
}

// do sends a signed request and returns the response, after it has checked what must hold for every
// response. headers are pairs of names and values.
func (w *serverUnderTest) do(method, path, body string, headers ...string) *testResponse {
	w.t.Helper()
	return w.send(w.request(method, path, body, headers...))
}

// request returns a request with headers (name, value, ...), signed unless these authorize it.
func (w *serverUnderTest) request(method, path, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if r.Header.Get("Authorization") == "" {
		w.sign(r)
	}
	return r
}

func (w *serverUnderTest) sign(r *http.Request) {
	date := w.wall.Now().UTC().Format(http.TimeFormat)
	r.Header.Set("X-Ms-Date", date)
	resource, link := signed(r.URL.EscapedPath())
	r.Header.Set("Authorization", AuthorizationHeader(Sign(w.key, r.Method, resource, link, date)))
}

// signed returns the resource type and the resource link that a client signs for a path.
func signed(path string) (resource, link string) {
	var parts []string
	for _, p := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' }) {
		plain, err := url.PathUnescape(p)
		if err != nil {
			plain = p
		}
		parts = append(parts, plain)
	}
	if len(parts) == 3 && parts[0] == "offers" {
		parts = parts[1:] // clients sign what the self link names
	}
	switch n := len(parts); {
	case n == 0 || strings.HasPrefix(parts[0], "_"):
		return "", strings.Join(parts, "/")
	case parts[n-1] == "partitionkeydelete":
		return "colls", strings.Join(parts[:n-2], "/")
	case n%2 == 1:
		resource, parts = parts[n-1], parts[:n-1]
	default:
		resource = parts[n-2]
	}
	if len(parts) > 1 && (resource == "offers" || isRID(parts[1])) {
		return resource, strings.ToLower(parts[len(parts)-1])
	}
	return resource, strings.Join(parts, "/")
}

func isRID(id string) bool {
	b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(id, "-", "/"))
	return err == nil && len(id) == 8 && len(b) == 4
}

func (w *serverUnderTest) send(r *http.Request) *testResponse {
	w.t.Helper()
	rec := httptest.NewRecorder()
	w.h.ServeHTTP(rec, r)
	a := &testResponse{t: w.t, what: r.Method + " " + r.RequestURI, code: rec.Code, header: headerOf(w.t,
		rec),
		body: rec.Body.Bytes()}
	a.everyAnswer(r.Method)
	id := a.header.Get("X-Ms-Activity-Id")
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[id] && r.Header.Get("X-Ms-Activity-Id") == "" {
		w.t.Errorf("%s: the activity id %q was used before", a.what, id)
	}
	w.seen[id] = true
	return a
}

// headerOf returns the response headers under Go's canonical names, so that Header.Get finds them. It
// checks that they are sent in lower case, as by Cosmos DB, because clients compare names bytewise.
// Content-Type and Content-Length, which net/http needs in canonical form, are excepted.
func headerOf(t testing.TB, rec *httptest.ResponseRecorder) http.Header {
	t.Helper()
	out := make(http.Header)
	for name, values := range rec.Header() {
		if name != "Content-Type" && name != "Content-Length" && name != strings.ToLower(name) {
			t.Errorf("the header %s is not in lower case", name)
		}
		out[http.CanonicalHeaderKey(name)] = values
	}
	return out
}

// tokenLetters are the characters that continuation tokens may contain, so that clients can put them into
// headers and JSON. The last ones, from '{' on, occur only in the JSON of the gateway's tokens.
const tokenLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=:.{}[],\""

// tokenShape matches a continuation token as JSON: that of one range, or those of a split range's parts.
var tokenShape = regexp.MustCompile(
	`^(\{"token":"[-\w]*","range":\{"min":"[0-9A-F]*","max":"[0-9A-F]+"\}\}|\[(,?\{"token":"[-\w]*","range":\{"min":"[0-9A-F]*","max":"[0-9A-F]+"\}\})+\])$`)

// badToken reports whether clients cannot use a continuation token: it is empty, too long or malformed.
func badToken(token string) bool {
	if token == "" || len(token) > 1024 || strings.Trim(token, tokenLetters) != "" {
		return true
	}
	return strings.ContainsAny(token, "{}[],\"") && !tokenShape.MatchString(token)
}

// everyAnswer checks what must hold for all responses, including errors.
func (a *testResponse) everyAnswer(method string) {
	a.t.Helper()
	if !isGUID(a.header.Get("X-Ms-Activity-Id")) {
		a.t.Errorf("%s: activity id %q", a.what, a.header.Get("X-Ms-Activity-Id"))
	}
	if charge, err := strconv.ParseFloat(a.header.Get("X-Ms-Request-Charge"), 64); err != nil || charge <= 0 {
		a.t.Errorf("%s: request charge %q", a.what, a.header.Get("X-Ms-Request-Charge"))
	}
	if took, err := strconv.ParseFloat(a.header.Get("X-Ms-Request-Duration-Ms"), 64); err != nil ||
		took <= 0 {
		a.t.Errorf("%s: duration %q", a.what, a.header.Get("X-Ms-Request-Duration-Ms"))
	}
	if v, ok := a.header["X-Ms-Continuation"]; ok && badToken(v[0]) {
		a.t.Errorf("%s: continuation %q", a.what, v[0])
	}
	length := strconv.Itoa(len(a.body))
	if a.binary = jsonbinary.Is(a.body); a.binary {
		var err error
		if a.body, err = jsonbinary.AppendText(nil, a.body, jsondoc.Limits{MaxBytes: maxPageSize}); err != nil {
			a.t.Fatalf("%s: %v", a.what, err)
		}
	}
	if len(a.body) > 0 {
		if !json.Valid(a.body) || a.header.Get("Content-Type") != "application/json" ||
			a.header.Get("Content-Length") != length {
			a.t.Errorf("%s: body of %d bytes with headers %v\n%s", a.what, len(a.body), a.header, a.body)
		}
	}
	if a.code >= 400 && method != http.MethodHead && (a.at("code").Str == "" || len(a.inner()) == 0 &&
		!a.lacksFeatures()) {
		a.t.Errorf("%s: %d with the body %s", a.what, a.code, a.body)
	}
}

// inner returns the errors in the JSON that the message of an error response contains: strings, or objects
// for errors that have a position in a query.
func (a *testResponse) inner() []gjson.Result {
	_, text, _ := strings.Cut(a.at("message").Str, "Message: ") // a query plan's has words before it
	text, _, _ = strings.Cut(text, "\r\n")
	if !gjson.Valid(text) {
		return nil
	}
	return append(gjson.Get(text, "Errors").Array(), gjson.Get(text, "errors").Array()...)
}

// lacksFeatures reports whether the response is the error for a client that lacks query features, with plain
// text as its message, not JSON.
func (a *testResponse) lacksFeatures() bool {
	return a.at("code").Str == "BadRequest" &&
		strings.HasPrefix(a.at("message").Str, "Query contains 1 or more unsupported features.")
}

func (a *testResponse) at(path string) gjson.Result { return gjson.GetBytes(a.body, path) }

// want checks the status and returns the response, so that calls can be chained.
func (a *testResponse) want(code int) *testResponse {
	a.t.Helper()
	if a.code != code {
		a.t.Fatalf("%s: %d, want %d\n%s", a.what, a.code, code, a.body)
	}
	return a
}

// fails checks an error response: its status, its substatus (0: none) and a part of its message.
func (a *testResponse) fails(code, substatus int, text string) *testResponse {
	a.t.Helper()
	got, _ := strconv.Atoi(a.header.Get("X-Ms-Substatus"))
	if a.code != code || got != substatus || !strings.Contains(a.at("message").Str, text) {
		a.t.Fatalf("%s: %d/%d %s\nwant %d/%d %q", a.what, a.code, got, a.body, code, substatus, text)
	}
	return a
}

// has checks that the value at a gjson path of the body is want, written as JSON.
func (a *testResponse) has(path, want string) *testResponse {
	a.t.Helper()
	if got := a.at(path).Raw; got != want {
		a.t.Errorf("%s: %s is %s, want %s\n%s", a.what, path, got, want, a.body)
	}
	return a
}

// head checks the value of a response header; "" means that the header must be missing.
func (a *testResponse) head(name, want string) *testResponse {
	a.t.Helper()
	values, ok := a.header[http.CanonicalHeaderKey(name)]
	if got := strings.Join(values, ","); got != want || ok != (want != "") {
		a.t.Errorf("%s: header %s is %q, want %q", a.what, name, got, want)
	}
	return a
}

// ids returns the ids of the elements of the array key in the body, joined by blanks.
func (a *testResponse) ids(key string) string {
	var ids []string
	for _, r := range a.at(key + ".#.id").Array() {
		ids = append(ids, r.Str)
	}
	return strings.Join(ids, " ")
}

// pages reads all pages of a list or query and returns the ids of each. key is the array in the body.
func (w *serverUnderTest) pages(key, method, path, body string, headers ...string) (pages []string) {
	w.t.Helper()
	token := ""
	for {
		h := headers
		if token != "" {
			h = append(h[:len(h):len(h)], "x-ms-continuation", token)
		}
		a := w.do(method, path, body, h...).want(200)
		if n := strconv.Itoa(len(a.at(key).Array())); a.at("_count").Raw != n ||
			a.header.Get("X-Ms-Item-Count") != n {
			w.t.Fatalf("%s: counts of a page: %s, header %q", a.what, a.body, a.header.Get("X-Ms-Item-Count"))
		}
		pages = append(pages, a.ids(key))
		if token = a.header.Get("X-Ms-Continuation"); token == "" {
			return pages
		}
		if len(pages) > 1000 {
			w.t.Fatalf("%s: paging does not end", a.what)
		}
	}
}

// jsonString writes s as JSON, in quotes.
func jsonString(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always can be written
	}
	return string(b)
}

// pk returns the request header for a partition key, given as JSON.
func pk(json string) []string { return []string{"x-ms-documentdb-partitionkey", json} }

// queryHeaders returns the headers that make a POST a query across partition keys, followed by more.
func queryHeaders(more ...string) []string {
	return append([]string{"Content-Type", "application/query+json", "x-ms-documentdb-isquery", "True",
		crossing, "True"}, more...)
}

const crossing = "x-ms-documentdb-query-enablecrosspartition"

// container creates the database d, if it does not exist, and in it the container c. settings is JSON with
// the members of the container's definition other than the id; empty: its partition key is /pk.
func (w *serverUnderTest) container(settings string, headers ...string) *testResponse {
	w.t.Helper()
	w.do("POST", "/dbs", `{"id":"d"}`)
	if settings == "" {
		settings = `"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}`
	}
	return w.do("POST", "/dbs/d/colls", `{"id":"c",`+settings+`}`, headers...).want(201)
}

const (
	colls = "/dbs/d/colls"
	coll  = "/dbs/d/colls/c"
	docs  = "/dbs/d/colls/c/docs"
)
