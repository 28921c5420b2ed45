package httpapi

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
)

// TestHosts checks which Host headers servers with different options accept. The account's endpoints in
// the response then have that host.
func TestHosts(t *testing.T) {
	t.Parallel()
	everywhere := []string{"localhost", "localhost:8081", "LOCALHOST.:1", "app.localhost:8081",
		"127.0.0.1:8081", "127.9.9.9", "[::1]:8081", "[::ffff:127.0.0.1]", ""}
	nowhere := []string{"evil.example", "evil.example:8081", "localhost.evil.example",
		"127.0.0.1.evil.example:8081", "localhost:80@evil.example",
		"[::1", "::1", "[::1]x", "localhost:8081:1", "notlocalhost", "."}
	for _, tc := range []struct {
		name     string
		o        Options
		yes, not []string
	}{
		{"plain", Options{}, nil, []string{"192.0.2.1", "[2001:db8::1]:8081", "mayfly.test"}},
		{"secret key", Options{Key: "c2VjcmV0IGtleQ=="}, nil, []string{"192.0.2.1", "mayfly.test"}},
		{"names", Options{Hosts: []string{"Mayfly.test", "*.dev.test", "192.0.2.1", "2001:db8::1"}},
			[]string{"mayfly.test", "MAYFLY.test:9", "a.dev.test", "192.0.2.1:8081", "[2001:DB8:0::1]:8081",
				"[2001:db8::1%25eth0]"},
			[]string{"a.mayfly.test", "dev.test", "a.b.dev.test", "192.0.2.2", "mayfly.test.evil.example"}},
		{"advertised", Options{Advertise: "https://Proxy.test:443/"}, []string{"proxy.test", "proxy.test:1"},
			[]string{"192.0.2.1"}},
		{"every address", Options{Hosts: []string{"0.0.0.0"}},
			[]string{"192.0.2.1", "10.0.0.7:8081", "[2001:db8::1]"}, []string{"mayfly.test"}},
	} {
		tc.o.NoAuth = tc.o.Key == ""
		s, err := New(withStore(tc.o))
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range append(tc.yes, everywhere...) {
			if status, _, body := askAs(s, "GET", "/_mayfly/livez", host); status != 200 {
				t.Errorf("%s: %q: %d %s", tc.name, host, status, body)
			}
			status, _, body := askAs(s, "GET", "/", host)
			told := gjson.Get(body, "writableLocations.0.databaseAccountEndpoint").Str
			if s.opt.NoAuth && s.opt.Advertise == "" &&
				(status != 200 || host != "" && told != "http://"+host+"/" || host == "" &&
					told != "http://localhost/") {
				t.Errorf("%s: %q: %d, clients are sent to %q", tc.name, host, status, told)
			}
		}
		for _, host := range append(tc.not, nowhere...) {
			for _, what := range []string{"GET /", "OPTIONS /", "POST /dbs", "GET /_mayfly/metrics",
				"GET /_mayfly/livez", "HEAD /dbs/a"} {
				method, path, _ := strings.Cut(what, " ")
				status, header, body := askAs(s, method, path, host, "X-Forwarded-Host", "localhost",
					"Origin", "http://localhost:3000")
				if status != 403 || header("access-control-allow-origin") != "" {
					t.Errorf("%s: %s at %q: %d", tc.name, what, host, status)
				}
				if method != "HEAD" && (gjson.Get(body, "code").Str != "Forbidden" ||
					!strings.Contains(gjson.Get(body, "message").Str, "--san")) {
					t.Errorf("%s: %s at %q: %s", tc.name, what, host, body)
				}
			}
		}
	}
}

// TestForwardedHost checks that X-Forwarded-Host is ignored, since any client can send it.
func TestForwardedHost(t *testing.T) {
	t.Parallel()
	s := bare(t, Options{NoAuth: true})
	_, _, body := askAs(s, "GET", "/", "localhost:8081", "X-Forwarded-Host", "evil.example")
	if got := gjson.Get(body,
		"writableLocations.0.databaseAccountEndpoint").Str; got != "http://localhost:8081/" {
		t.Errorf("clients are sent to %s", got)
	}
}

func withStore(o Options) Options {
	o.DB = new(store.DB)
	return o
}

// askAs sends a request with the given Host header from a loopback address and returns the response.
func askAs(s *Server, method, path, host string, headers ...string) (status int, header func(string) string,
	body string) {
	r := httptest.NewRequest(method, path, nil)
	r.Host, r.RemoteAddr = host, "127.0.0.1:1"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Code, func(name string) string { return strings.Join(w.Header()[name], ",") }, w.Body.String()
}

// TestHostOfHTTP2 checks that over HTTP/2 the pseudo-header :authority is treated like Host.
func TestHostOfHTTP2(t *testing.T) {
	t.Parallel()
	s := serve(t, false, Options{NoAuth: true})
	for authority, want := range map[string]string{"localhost:8081": "200", "evil.example:8081": "403"} {
		r, _ := dial2(t, s.addr)
		fields, decoder, status := []string{":method", "GET", ":scheme", "http", ":authority", authority,
			":path", "/"}, hpack.NewDecoder(4096, nil), ""
		stream, err := r.send(true, append(fields, "host", "localhost")...)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.until(func(f http2.Frame) bool {
			if f, ok := f.(*http2.HeadersFrame); ok && f.StreamID == stream {
				if fields, err := decoder.DecodeFull(f.HeaderBlockFragment()); err == nil {
					status = fields[0].Value
				}
				return true
			}
			return false
		}); err != nil || status != want {
			t.Errorf("%s: %s, %v", authority, status, err)
		}
	}
}

var (
	ownOrigins = []string{"http://localhost", "http://localhost:3000", "https://LOCALHOST:3000",
		"http://app.localhost:1", "http://127.0.0.1:5500", "https://[::1]:1"}
	foreignOrigins = []string{"https://evil.example", "http://evil.example:8081", "null", "file://",
		"http://localhost.evil.example", "http://127.0.0.1.evil.example",
		"http://192.0.2.1", "http://localhost@evil.example", "http://localhost:3000/path", "chrome-extension://localhost", "localhost", "http://", "http://[::1"}
)

// wantOrigin checks whether pages of an origin may send preflight requests, reads and writes: all of them
// if welcome is set, otherwise none. site is their Sec-Fetch-Site header.
func wantOrigin(t *testing.T, s *Server, origin string, welcome bool, site string) {
	t.Helper()
	allowed := map[bool]string{true: origin}[welcome]
	ask := []string{"Origin", origin, "Sec-Fetch-Site", site, "Access-Control-Request-Method", "PUT",
		"Access-Control-Request-Headers", "authorization,x-ms-date"}
	status, header, body := askAs(s, "OPTIONS", "/dbs/a", "localhost:8081", ask...)
	if status != map[bool]int{true: 204, false: 403}[welcome] ||
		header("access-control-allow-origin") != allowed ||
		strings.Contains(header("access-control-allow-methods"), "PUT") != welcome ||
		(header("access-control-allow-headers") == "authorization,x-ms-date") != welcome {
		t.Errorf("%s asks: %d, %q %s", origin, status, header("access-control-allow-origin"), body)
	}
	_, header, _ = askAs(s, "GET", "/", "localhost:8081", "Origin", origin, "Sec-Fetch-Site", site)
	if header("access-control-allow-origin") != allowed ||
		strings.Contains(header("access-control-expose-headers"), "x-ms-session-token") != welcome ||
		(header("vary") == "Origin") != welcome {
		t.Errorf("%s reads: %q", origin, header("access-control-allow-origin"))
	}
	for _, what := range []string{"POST /nothing", "PUT /_mayfly/nothing", "DELETE /nothing",
		"PATCH /nothing", "POST /_mayfly/nothing", "BREW /nothing"} {
		method, path, _ := strings.Cut(what, " ")
		status, header, body := askAs(s, method, path, "localhost:8081", "Origin", origin, "Sec-Fetch-Site",
			site, "Authorization", "Bearer "+s.opt.Key)
		refused := status == 403 && gjson.Get(body, "code").Str == "Forbidden" &&
			strings.Contains(gjson.Get(body, "message").Str, "--cors-origin")
		if refused == welcome || header("access-control-allow-origin") != allowed {
			t.Errorf("%s: %s: %d %s", origin, what, status, body)
		}
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no key": {NoAuth: true}, "the emulators' key": {}, "a secret key": {Key: "c2VjcmV0IGtleQ=="},
	} {
		t.Run(name, func(t *testing.T) {
			s := bare(t, o)
			for _, origin := range ownOrigins {
				wantOrigin(t, s, origin, true, "cross-site")
			}
			wantOrigin(t, s, "http://localhost:8081", true, "same-origin")
			for _, origin := range foreignOrigins {
				wantOrigin(t, s, origin, false, "cross-site")
			}
			o.CORSOrigins = []string{"https://Page.example:443", "http://page.example:8080/"}
			s = bare(t, o)
			for _, origin := range append(slices.Clone(ownOrigins), "https://page.example",
				"http://page.example:8080") {
				wantOrigin(t, s, origin, true, "cross-site")
			}
			for _, origin := range append(slices.Clone(foreignOrigins), "http://page.example",
				"https://page.example:8080", "https://sub.page.example") {
				wantOrigin(t, s, origin, false, "cross-site")
			}
			o.CORSOrigins = []string{"*"}
			s = bare(t, o)
			for _, origin := range foreignOrigins {
				wantOrigin(t, s, origin, true, "cross-site")
			}
		})
	}
	for _, wrong := range []string{"page.example", "https://", "https://page.example/path",
		"https://me@page.example", "", "null", "https://*.page.example"} {
		if _, err := New(withStore(Options{CORSOrigins: []string{wrong}})); err == nil {
			t.Errorf("the origin %q was taken", wrong)
		}
	}
}

// TestOwnOrigin checks that a POST from a web page of the server itself is accepted, under any host name that
// the server has, and that one from a page of another origin is refused with 403.
func TestOwnOrigin(t *testing.T) {
	t.Parallel()
	s := bare(t, Options{NoAuth: true, Hosts: []string{"mayfly.test"}})
	for origin, want := range map[string]int{"http://mayfly.test:8081": 404, "https://mayfly.test:8081": 404,
		"http://mayfly.test": 403, "http://other.test:8081": 403} {
		if status, _, body := askAs(s, "POST", "/nothing", "mayfly.test:8081", "Origin",
			origin); status != want {
			t.Errorf("%s: %d %s", origin, status, body)
		}
	}
}

// TestFetchSite checks that a write without an Origin header is refused if Sec-Fetch-Site says that it
// comes from a page of another site. Clients that are not browsers send neither header and are allowed.
func TestFetchSite(t *testing.T) {
	t.Parallel()
	s := bare(t, Options{NoAuth: true})
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 404,
		"none": 404, "": 404} {
		for method, want := range map[string]int{"POST": want, "DELETE": want, "GET": 404} {
			if status, _, body := askAs(s, method, "/nothing", "localhost", "Sec-Fetch-Site",
				site); status != want {
				t.Errorf("%s %q: %d, want %d: %s", method, site, status, want, body)
			}
		}
	}
	if status, header, _ := askAs(s, "OPTIONS", "/dbs", "localhost"); status != 204 ||
		header("access-control-allow-methods") != "" || header("access-control-allow-origin") != "" {
		t.Errorf("OPTIONS of nobody: %d", status)
	}
}

// TestWritesFromForeignOrigin checks that without authorization (--no-auth) writes from pages of foreign
// origins are refused and change nothing, and that writes from pages of this machine succeed.
func TestWritesFromForeignOrigin(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.server.NoAuth = true })
	before := w.do("GET", "/dbs", "").want(200).head("x-ms-item-count", "0")
	for _, form := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
		"application/json"} {
		w.do("POST", "/dbs", `{"id":"taken"}`, "Origin", "https://evil.example", "Content-Type",
			form).want(403)
		w.do("PUT", "/_mayfly/clock", `{"advance":"1h"}`, "Origin", "https://evil.example", "Content-Type",
			form).want(403)
		w.do("POST", "/_mayfly/snapshots", `{"name":"s"}`, "Sec-Fetch-Site", "cross-site", "Content-Type",
			form).want(403)
	}
	if after := w.do("GET", "/dbs", "").want(200); string(after.body) != string(before.body) {
		t.Errorf("the databases were %s and are %s", before.body, after.body)
	}
	if !testdisk.Postgres(t) { // which keeps no snapshots
		list := w.do("GET", "/_mayfly/snapshots", "").want(200)
		if strings.Contains(string(list.body), `"s"`) {
			t.Errorf("snapshots: %s", list.body)
		}
	}
	w.do("POST", "/dbs", `{"id":"mine"}`, "Origin", "http://localhost:3000", "Sec-Fetch-Site",
		"same-site").want(201).head("access-control-allow-origin", "http://localhost:3000")
}

// TestErrorsForLongPaths checks that errors for a request with a very long path stay short.
func TestErrorsForLongPaths(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.server.NoAuth = true })
	long := strings.Repeat("x", 60_000)
	for _, path := range []string{"/" + long, "/dbs/" + long, "/dbs/d/colls/" + long, "/dbs/d/" + long + "/x",
		"/dbs?" + long, "/_mayfly/" + long, "/_mayfly/snapshots/" + long,
		"/_mayfly/dbs/" + long + "/clock", "/_mayfly/dbs/d/colls/" + long + "/settings", "/offers/" +
			long, "/dbs/d/users/" + long + "/permissions/" + long} {
		for _, method := range []string{"GET", "POST", "DELETE", "PUT", "OPTIONS"} {
			a := w.do(method, path, "{}")
			if size := len(a.body) + len(fmt.Sprint(a.header)); size > 6<<10 && a.code >= 400 {
				t.Errorf("%s %.40s...: %d with %d bytes", method, path, a.code, size)
			}
		}
	}
}
