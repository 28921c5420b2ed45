package httpapi

import (
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// serving serves w on a port until the test ends, and returns its URL.
func (w *serverUnderTest) serving(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- w.srv.Serve(ln, nil) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		_ = w.srv.Shutdown(t.Context())
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + ln.Addr().String()
}

// TestHeadersOverConnection checks that a response over a real connection has the same headers as one through
// http.Handler, each of them once.
func TestHeadersOverConnection(t *testing.T) {
	w := newServerUnderTest(t)
	w.container("")
	base := w.serving(t)
	large := `{"id":"large","pk":"a","text":"` + strings.Repeat("x", 300_000) + `"}`
	remove := func(id string) func() {
		return func() { w.do("DELETE", docs+"/"+id, "", pk(`["a"]`)...).want(204) }
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		more               []string
		undo               func()
	}{
		{"POST", docs, `{"id":"1","pk":"a"}`, 201, pk(`["a"]`), remove("1")},
		{"POST", docs, large, 201, pk(`["a"]`), remove("large")},
		{"GET", docs + "/1", "", 200, pk(`["a"]`), nil},
		{"HEAD", docs + "/1", "", 200, pk(`["a"]`), nil},
		{"GET", docs + "/large", "", 200, pk(`["a"]`), nil},
		{"GET", docs + "/1", "", 200, append(pk(`["a"]`), "Origin", "http://localhost:1234"), nil},
		{"GET", docs + "/none", "", 404, pk(`["a"]`), nil},
		{"GET", docs + "/1", "", 304, append(pk(`["a"]`), "If-None-Match", "*"), nil},
		{"GET", docs, "", 200, nil, nil},
		{"GET", "/", "", 200, nil, nil},
		{"GET", "/_mayfly/clock", "", 200, nil, nil},
		{"GET", "/_mayfly/requests", "", 404, nil, nil}, // this server has no log
		{"DELETE", docs + "/1", "", 204, pk(`["a"]`), func() {
			w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
		}},
	} {
		r := w.request(c.method, c.path, c.body, c.more...)
		r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", strings.TrimPrefix(base, "http://")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, answer.StatusCode, body)
		}
		if c.undo != nil { // the write is repeated below
			c.undo()
		}
		same := w.do(c.method, c.path, c.body, c.more...)
		want := http.Header{}
		for name, values := range same.header {
			want[http.CanonicalHeaderKey(name)] = values
		}
		delete(answer.Header, "Date")
		got, wanted := slices.Sorted(maps.Keys(answer.Header)), slices.Sorted(maps.Keys(want))
		if !slices.Equal(got, wanted) {
			t.Errorf("%s %s: headers\n%v, want\n%v", c.method, c.path, got, wanted)
		}
		for name, values := range answer.Header {
			if len(values) != 1 {
				t.Errorf("%s %s: %s: %q", c.method, c.path, name, values)
			}
		}
		for _, name := range []string{"X-Ms-Content-Path", "Content-Type", "X-Ms-Alt-Content-Path",
			"X-Ms-Gatewayversion", "X-Ms-Item-Count"} {
			if answer.Header.Get(name) != want.Get(name) {
				t.Errorf("%s %s: %s: %q, want %q", c.method, c.path, name, answer.Header.Get(name),
					want.Get(name))
			}
		}
	}
}

// TestHeaderLine checks that a line break in a header's value does not begin another header line.
func TestHeaderLine(t *testing.T) {
	if got := string(appendHeader([]byte("x"), "name", "a\r\nb\nc")); got != "xname: a  b c\r\n" {
		t.Errorf("%q", got)
	}
}
