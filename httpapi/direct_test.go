package httpapi

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/rntbdtest"
)

// directModeTestServer is a serverUnderTest on a real port, with what a direct-mode client needs to connect
// to it.
type directModeTestServer struct {
	*serverUnderTest
	addr string
	conf *tls.Config
}

func newDirectModeTestServer(t *testing.T, change ...func(*serverUnderTestOptions)) *directModeTestServer {
	t.Helper()
	cert, text, _, err := Certificate("", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	direct := func(s *serverUnderTestOptions) { s.server.Direct = true }
	w := &directModeTestServer{serverUnderTest: newServerUnderTest(t, append(change, direct)...)}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	w.addr, w.conf = ln.Addr().String(), &tls.Config{RootCAs: pool, ServerName: "localhost"}
	done := make(chan error)
	go func() { done <- w.srv.Serve(ln, &tls.Config{Certificates: []tls.Certificate{cert}}) }()
	t.Cleanup(func() {
		if err := w.srv.Shutdown(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w
}

// rawDirectConn is a client's direct-mode connection on which a test sends single RNTBD frames.
type rawDirectConn struct {
	*directModeTestServer
	c net.Conn
}

func (w *directModeTestServer) dial() *rawDirectConn {
	w.t.Helper()
	c, err := tls.Dial("tcp", w.addr, w.conf)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Write(rntbdtest.Context()); err != nil {
		w.t.Fatal(err)
	}
	if a, err := rntbdtest.ReadContext(c); err != nil || a.Status != 200 {
		w.t.Fatalf("%+v %v", a, err)
	}
	return &rawDirectConn{w, c}
}

// itemFrames are the RNTBD operation numbers of item operations by name, with the HTTP methods that are
// signed.
var itemFrames = map[string]struct {
	operation uint16
	verb      string
	feed      bool
}{
	"create": {1, "POST", true}, "read": {3, "GET", false}, "list": {4, "GET", true},
	"delete": {5, "DELETE", false}, "query": {0x0F, "POST", true}, "head": {0x11, "HEAD",
		false}, "readfeed": {0x04, "POST", true},
	"replace": {6, "PUT", false},
}

// frame returns the RNTBD frame of a signed request for the item id in the container c of the database d.
// what is the operation: "create", "read", "query" and so on.
func (w *directModeTestServer) frame(what, id, body string, more ...rntbdtest.Token) []byte {
	op, link := itemFrames[what], "dbs/d/colls/c"
	if !op.feed {
		link += "/docs/" + id
	}
	signature := Sign(w.key, op.verb, "docs", link, w.wall.Now().UTC().Format(http.TimeFormat))
	return w.frameAs(AuthorizationHeader(signature), what, id, body, more...)
}

// frameAs returns the RNTBD frame of a request for the item id with the given authorization header. what is
// the name of the operation, a key of itemFrames. more are further tokens of the frame.
func (w *directModeTestServer) frameAs(authorization, what, id, body string, more ...rntbdtest.Token) []byte {
	op := itemFrames[what]
	tokens := append([]rntbdtest.Token{rntbdtest.Text(0x15, "d"), rntbdtest.Text(0x16, "c"),
		rntbdtest.Text(0x13, "/replicas/1p"), rntbdtest.Number(0x4D, 7)}, more...)
	if !op.feed {
		tokens = append(tokens, rntbdtest.Text(0x17, id))
	}
	date := w.wall.Now().UTC().Format(http.TimeFormat)
	tokens = append(tokens, rntbdtest.Token{ID: 0x03, Type: rntbdtest.SmallString, Value: []byte(date)},
		rntbdtest.Text(0x01, authorization))
	var payload []byte
	if body != "" {
		payload, tokens = []byte(body), append(tokens, rntbdtest.Flag(0x02, 1))
	}
	return rntbdtest.Frame(3, op.operation, [16]byte{5}, payload, tokens...)
}

func (l *rawDirectConn) do(what, id, body string, more ...rntbdtest.Token) *rntbdtest.Response {
	l.t.Helper()
	if _, err := l.c.Write(l.frame(what, id, body, more...)); err != nil {
		l.t.Fatal(err)
	}
	a, err := rntbdtest.Read(l.c)
	if err != nil {
		l.t.Fatal(err)
	}
	// what each answer must have, for clients to believe it
	if a.Values[0x3E] == nil || a.Values[0x13].(int64) < 1 || a.Values[0x13] != a.Values[0x3A] ||
		a.Values[0x1F] != uint64(1) || a.Values[0x15].(float64) <= 0 || a.Values[0x35] != uint64(7) {
		l.t.Errorf("%s: %v", what, a.Values)
	}
	return a
}

func (l *rawDirectConn) want(
	status, substatus int,
	what, id, body string,
	more ...rntbdtest.Token,
) *rntbdtest.Response {
	l.t.Helper()
	a := l.do(what, id, body, more...)
	if sub, _ := a.Values[0x1C].(uint64); a.Status != status || int(sub) != substatus {
		l.t.Fatalf("%s: %d/%d: %s", what, a.Status, sub, a.Body)
	}
	return a
}

var keyA = rntbdtest.Text(0x2B, `["a"]`)

func (w *directModeTestServer) container() (rid string) {
	w.t.Helper()
	w.do("POST", "/dbs", `{"id":"d"}`)
	return w.containerAnew()
}

func (w *directModeTestServer) containerAnew() (rid string) {
	w.t.Helper()
	a := w.do("POST", "/dbs/d/colls", `{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`)
	return gjson.GetBytes(a.body, "_rid").Str
}

func TestDirectItems(t *testing.T) {
	t.Parallel()
	w := newDirectModeTestServer(t)
	rid := w.container()
	known := rntbdtest.Text(0x35, rid)
	l := w.dial()
	made := l.want(201, 0, "create", "", `{"id":"1","pk":"a"}`, keyA, known)
	if made.Values[0x21] != "0" || made.Values[0x3E] != w.token("", "1")[1:] ||
		!strings.Contains(string(made.Body), `"_etag"`) {
		t.Errorf("%v %s", made.Values, made.Body)
	}
	l.want(409, 0, "create", "", `{"id":"1","pk":"a"}`, keyA, known)
	read := l.want(200, 0, "read", "1", "", keyA, known)
	if read.Values[0x04] != made.Values[0x04] || read.Values[0x32] != int64(1) {
		t.Errorf("%v", read.Values)
	}
	same := l.want(304, 0, "read", "1", "", keyA, rntbdtest.Text(0x08, made.Values[0x04].(string)))
	if same.Body != nil || same.Values[0x04] != made.Values[0x04] {
		t.Errorf("%+v", same)
	}
	if a := l.want(200, 0, "head", "1", "", keyA); a.Body != nil {
		t.Errorf("%s", a.Body)
	}
	page := l.want(200, 0, "query", "", `{"query":"SELECT VALUE c.id FROM c"}`, rntbdtest.Text(0x2C, "0"))
	if page.Values[0x14] != uint64(1) || gjson.GetBytes(page.Body, "Documents.0").Str != "1" {
		t.Errorf("%v %s", page.Values, page.Body)
	}
	ahead := l.want(404, 1002, "read", "1", "", keyA, rntbdtest.Text(0x05, "0:-1#40"))
	if ahead.Values[0x3E] != w.token("", "1")[1:] { // so far it is
		t.Errorf("%v", ahead.Values)
	}
	l.want(204, 0, "delete", "1", "", keyA)
	l.want(404, 0, "read", "1", "", keyA)
	forged := w.frame("read", "1", "", keyA)
	forged[len(forged)-5] ^= 1
	if _, err := l.c.Write(forged); err != nil {
		t.Fatal(err)
	}
	if a, err := rntbdtest.Read(l.c); err != nil || a.Status != 401 {
		t.Errorf("%+v %v", a, err)
	}
}

// TestDirectStale checks that a direct-mode client with outdated cached data gets an error (410) that
// makes it refresh its cache: after the container was recreated under the same name, or a range was split.
// An HTTP client, which has no such cache, gets no error.
func TestDirectStale(t *testing.T) {
	t.Parallel()
	w := newDirectModeTestServer(t)
	known := rntbdtest.Text(0x35, w.container())
	l := w.dial()
	l.want(201, 0, "create", "", `{"id":"1","pk":"a"}`, keyA, known)
	w.do("DELETE", "/dbs/d/colls/c", "")
	l.want(410, 1000, "read", "1", "", keyA, known)
	renewed := rntbdtest.Text(0x35, w.containerAnew())
	l.want(410, 1000, "create", "", `{"id":"1","pk":"a"}`, keyA, known)
	l.want(201, 0, "create", "", `{"id":"1","pk":"a"}`, keyA, renewed)
	w.do("POST", "/dbs/d/colls/c/docs", `{"id":"2","pk":"a"}`, "x-ms-documentdb-partitionkey", `["a"]`,
		"x-ms-documentdb-collection-rid", "AQAAAIAAAAI=").want(201)
	w.do("POST", "/_mayfly/dbs/d/colls/c/split", `{"range":"0"}`).want(200)
	l.want(410, 1002, "query", "", `{"query":"SELECT * FROM c"}`, rntbdtest.Text(0x2C, "0"), renewed)
	l.want(200, 0, "read", "1", "", keyA, renewed)
}

func TestDirectAddresses(t *testing.T) {
	t.Parallel()
	w := newDirectModeTestServer(t, ranges(3))
	rid := w.container()
	database := gjson.GetBytes(w.do("GET", "/dbs/d", "").body, "_rid").Str
	ask := func(kind, link, query string) *testResponse {
		r := w.request("GET", "/", "")
		r.RequestURI, r.Host = "//addresses/?"+query+"&$filter=protocol%20eq%20rntbd", w.addr
		date := r.Header.Get("X-Ms-Date")
		r.Header.Set("Authorization", AuthorizationHeader(Sign(w.key, "get", kind, link, date)))
		return w.send(r)
	}
	feed := "$resolveFor=" + url.QueryEscape("dbs/"+database+"/colls/"+rid+"/docs")
	some := ask("docs", strings.ToLower(rid), feed+"&$partitionKeyRangeIds=2,0").want(200)
	list := gjson.GetBytes(some.body, "Addresss").Array()
	primaries := map[string]int{}
	uris := map[string]bool{}
	for _, a := range list {
		if a.Get("isPrimary").Bool() {
			primaries[a.Get("partitionKeyRangeId").Str]++
		}
		uri := a.Get("physcialUri").Str
		uris[uri] = true
		if a.Get("protocol").Str != "rntbd" || !strings.HasPrefix(uri, "rntbd://"+w.addr+"/apps/") {
			t.Errorf("%s", a.Raw)
		}
	}
	if len(list) != 8 || len(uris) != 8 || len(primaries) != 2 || primaries["0"] != 1 || primaries["2"] != 1 {
		t.Errorf("%s", some.body)
	}
	gone := ask("docs", strings.ToLower(rid), feed+"&$partitionKeyRangeIds=9").want(200)
	if gjson.GetBytes(gone.body, "Addresss.#").Int() != 0 {
		t.Errorf("%s", gone.body)
	}
	master := ask("dbs", "", "$resolveFor=dbs").want(200)
	if gjson.GetBytes(master.body, "Addresss.0.partitionKeyRangeId").Str != "M" {
		t.Errorf("%s", master.body)
	}
	ask("docs", "another", feed).want(401)
	ask("dbs", "", "$resolveFor=users").want(400)
	absent := "AQAAAIAAAAk="
	feed = "$resolveFor=" + url.QueryEscape("dbs/"+database+"/colls/"+absent+"/docs")
	ask("docs", strings.ToLower(absent), feed).want(404)
}

// TestDirectTokens checks that a client with the resource token of a permission can resolve the addresses
// of that container's replicas only, and that the token grants the same rights in direct mode.
func TestDirectTokens(t *testing.T) {
	t.Parallel()
	w := newDirectModeTestServer(t)
	rid := w.container()
	database := gjson.GetBytes(w.do("GET", "/dbs/d", "").body, "_rid").Str
	other := w.do("POST", "/dbs/d/colls", `{"id":"o","partitionKey":{"paths":["/pk"]}}`).
		want(201).
		at("_rid").
		Str
	w.do("POST", "/dbs/d/users", `{"id":"u"}`).want(201)
	token := w.permission("p", "Read", "dbs/d/colls/c", "")
	for rid, status := range map[string]int{rid: 200, other: 403} {
		feed := url.QueryEscape("dbs/" + database + "/colls/" + rid + "/docs")
		w.as(token, "GET", "/addresses/?$resolveFor="+feed, "").
			want(status)
	}
	l := w.dial()
	for what, status := range map[string]int{"read": 404, "create": 403} {
		frame := w.frameAs(url.QueryEscape(token), what, "1", `{"id":"1","pk":"a"}`, keyA)
		if _, err := l.c.Write(frame); err != nil {
			t.Fatal(err)
		}
		if a, err := rntbdtest.Read(l.c); err != nil || a.Status != status {
			t.Errorf("%s: %+v %v", what, a, err)
		}
	}
}

// TestDirectOff checks a server without direct mode: GET /addresses fails with an error that recommends
// gateway mode, and an RNTBD connection gets an HTTP error.
func TestDirectOff(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	r := w.request("GET", "/addresses/", "", "Authorization", "none")
	if a := w.send(r).want(400); !strings.Contains(string(a.body), "gateway") {
		t.Errorf("%s", a.body)
	}
	s := serve(t, true, Options{})
	c, err := tls.Dial("tcp", s.addr, s.conf)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(append(rntbdtest.Context(), "\r\n\r\n"...)); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 400") {
		t.Errorf("%q %v", text, err)
	}
}

// TestDirectBesideHTTP checks that HTTP, HTTPS and direct-mode clients can share a port, even if the first
// bytes arrive slowly, and that shutdown closes direct-mode connections.
func TestDirectBesideHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t, true, Options{Direct: true, NoAuth: true})
	client := s.client()
	for range 2 {
		for _, scheme := range []string{"http", "https"} {
			if status, body := get(t, client, scheme+"://"+s.addr+"/"); status != 200 {
				t.Errorf("%s: %d %s", scheme, status, body)
			}
		}
		client.CloseIdleConnections()
		plain := tls.Dialer{Config: s.conf} // without ALPN
		bare := &http.Client{Transport: &http.Transport{DialTLSContext: plain.DialContext}}
		if status, _ := get(t, bare, "https://"+s.addr+"/"); status != 200 {
			t.Error(status)
		}
		bare.CloseIdleConnections()
	}
	c, err := tls.Dial("tcp", s.addr, s.conf)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, b := range rntbdtest.Context() {
		if _, err := c.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if a, err := rntbdtest.ReadContext(c); err != nil || a.Status != 200 {
		t.Fatalf("%+v %v", a, err)
	}
	s.stop()
	if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
		t.Errorf("%x %v", rest, err)
	}
}

// TestDirectIdleConnectionEviction checks that at the limit of connections, an idle direct-mode connection is
// closed for a new one.
func TestDirectIdleConnectionEviction(t *testing.T) {
	t.Parallel()
	w := newDirectModeTestServer(t, func(s *serverUnderTestOptions) { s.server.MaxConnections = 1 })
	w.container()
	first := w.dial()
	first.want(404, 0, "read", "1", "", keyA)
	w.dial().want(404, 0, "read", "1", "", keyA)
	if rest, err := io.ReadAll(first.c); len(rest) > 0 {
		t.Errorf("%x %v", rest, err)
	}
}

// TestDirectFaults checks that fault injection rules also apply to requests in direct mode.
func TestDirectFaults(t *testing.T) {
	t.Parallel()
	w := newDirectModeTestServer(t)
	w.container()
	l := w.dial()
	w.do("POST", "/_mayfly/faults", `{"fault":"429","count":1,"retryAfterMs":7}`).want(201)
	if a := l.want(429, 3200, "read", "1", "", keyA); a.Values[0x0C] != uint64(7) {
		t.Errorf("%v", a.Values)
	}
	w.do("POST", "/_mayfly/faults", `{"fault":"drop","count":1}`).want(201)
	if _, err := l.c.Write(w.frame("read", "1", "", keyA)); err != nil {
		t.Fatal(err)
	}
	if a, err := rntbdtest.Read(l.c); err == nil {
		t.Errorf("%+v", a)
	}
	w.dial().want(404, 0, "read", "1", "", keyA)
}
