package httpapi

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/internal/rntbdtest"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/ttl"
)

// BenchmarkPointRead sends the same signed request for an item of 1 KB, or a query for it, over a connection
// to Mayfly, and the request to an echo handler that answers every request with the same head and body.
func BenchmarkPointRead(b *testing.B) {
	w := newServerUnderTest(b, realClocks)
	w.wall.Advance(ttl.SystemClock{}.Now().Sub(w.wall.Now())) // by which requests are signed
	w.container("")
	w.do("POST", docs, `{"id":"1","pk":"a","text":"`+strings.Repeat("x", 1000)+`"}`, pk(`["a"]`)...).want(201)
	date := w.wall.Now().UTC().Format(http.TimeFormat)
	request := fmt.Appendf(nil,
		"GET %s/1 HTTP/1.1\r\nHost: localhost:8081\r\nAccept: application/json\r\nAuthorization: %s\r\nX-Ms-Date: %s\r\n"+
			"X-Ms-Version: 2020-11-05\r\nX-Ms-Documentdb-Partitionkey: [\"a\"]\r\nX-Ms-Session-Token: 0:-1#1\r\nCache-Control: no-cache\r\n\r\n",
		docs, AuthorizationHeader(Sign(w.key, "GET", "docs", strings.TrimPrefix(docs, "/")+"/1", date)), date)

	same := w.do("GET", docs+"/1", "", pk(`["a"]`)...).want(200)
	e := echo.New()
	e.GET("/*", func(c echo.Context) error {
		for name, values := range same.header {
			c.Response().Header()[name] = values
		}
		return c.JSONBlob(http.StatusOK, same.body)
	})
	query := []byte(w.queryText("SELECT * FROM c WHERE c.id = '1'"))
	mayfly := w.serving(b)
	b.Run("mayfly", func(b *testing.B) { roundTrips(b, mayfly, request, same.body) })
	b.Run("query", func(b *testing.B) { roundTrips(b, mayfly, query, []byte(`"_count":1}`)) })
	b.Run("echo", func(b *testing.B) { roundTrips(b, servingHandler(b, e), request, same.body) })
	// With the log of requests, and without it but with as much memory: a larger heap alone changes what
	// allocations cost.
	for name, memory := range map[string]bool{"recorded": false, "ballast": true} {
		b.Run(name, func(b *testing.B) {
			log, before := fullLog(), w.srv.opt.Requests
			defer func() { w.srv.opt.Requests = before }()
			if !memory {
				w.srv.opt.Requests = log
			}
			roundTrips(b, mayfly, request, same.body)
			runtime.KeepAlive(log)
		})
	}
}

// realClocks configures a test server to use the system clock, as a server in production does, and not to
// check the dates of signatures.
func realClocks(s *serverUnderTestOptions) {
	s.store.Clock, s.store.Wall, s.server.Wall = ttl.SystemClock{}, ttl.SystemClock{}, ttl.SystemClock{}
	s.server.NoClockCheck = true
}

// fullLog returns a log of requests that is full, so that each new entry replaces old ones.
func fullLog() *requestlog.Log {
	log := requestlog.New(16 << 20)
	for range 1000 {
		log.Add(&requestlog.Entry{RequestBody: make([]byte, requestlog.MaxBody)})
	}
	return log
}

// BenchmarkRecord measures a point read with and without the log of requests. It calls the handler
// directly, without a connection.
func BenchmarkRecord(b *testing.B) {
	w := newServerUnderTest(b, realClocks)
	w.wall.Advance(ttl.SystemClock{}.Now().Sub(w.wall.Now()))
	w.container("")
	w.do("POST", docs, `{"id":"1","pk":"a","text":"`+strings.Repeat("x", 1000)+`"}`, pk(`["a"]`)...).want(201)
	r := w.request("GET", docs+"/1", "", append(pk(`["a"]`), "User-Agent", "azsdk-net-cosmos/3.1",
		"X-Ms-Session-Token", "0:-1#1", "Cache-Control", "no-cache")...)
	for name, log := range map[string]*requestlog.Log{"without": nil, "with": fullLog()} {
		b.Run(name, func(b *testing.B) {
			w.srv.opt.Requests = log
			b.ReportAllocs()
			for b.Loop() {
				answer := httptest.NewRecorder()
				if w.h.ServeHTTP(answer, r); answer.Code != http.StatusOK {
					b.Fatal(answer.Code)
				}
			}
		})
	}
}

// TestPointReadAllocations checks that the number of heap allocations of a point read, with the log of
// requests, does not exceed a fixed maximum over HTTP and in direct mode. The test's client allocates
// nothing.
func TestPointReadAllocations(t *testing.T) {
	testdisk.Pebble(t, "a statement to a database takes more")
	race := debug.BuildSetting{Key: "-race", Value: "true"}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, race) {
		t.Skip("the race detector has allocations of its own")
	}
	w := newDirectModeTestServer(t, func(s *serverUnderTestOptions) { s.server.Requests = fullLog() })
	w.container()
	w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
	key := rntbdtest.Text(0x2B, `["a"]`)
	for name, c := range map[string]struct {
		conn    net.Conn
		request []byte
		most    float64
	}{
		"HTTP":   {dialPlain(t, "http://"+w.addr).c, []byte(w.text("GET", docs+"/1", "")), 18},
		"direct": {w.dial().c, w.frame("read", "1", "", key), 17},
	} {
		in, end := make([]byte, 16<<10), []byte("}")
		got := testing.AllocsPerRun(100, func() {
			_, err := c.conn.Write(c.request)
			for n, read := 0, 0; err == nil && !bytes.HasSuffix(in[:n], end); n += read {
				read, err = c.conn.Read(in[n:])
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		if got > c.most {
			t.Errorf("%s: %.0f allocations, want at most %.0f", name, got, c.most)
		}
	}
}

// roundTrips benchmarks a request that is sent repeatedly to the server at a URL. body is the expected end of
// the response.
func roundTrips(b *testing.B, server string, request, body []byte) {
	conn := newBenchConn(b, server)
	b.ReportAllocs()
	for b.Loop() {
		conn.roundTrip(b, request, body)
	}
}

// benchClientConn is a client's connection to a server.
type benchClientConn struct {
	net.Conn
	in []byte
}

// newBenchConn connects to the server at a URL until the test ends.
func newBenchConn(tb testing.TB, server string) *benchClientConn {
	tb.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(server, "http://"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return &benchClientConn{conn, make([]byte, 16<<10)}
}

// servingHandler serves h on a port until the test ends, and returns its URL.
func servingHandler(tb testing.TB, h http.Handler) string {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	server, done := &http.Server{Handler: h}, make(chan struct{})
	go func() { _ = server.Serve(ln); close(done) }()
	tb.Cleanup(func() { _ = server.Close(); <-done })
	return "http://" + ln.Addr().String()
}

// roundTrip sends a request and reads its response up to body, the expected end.
func (c *benchClientConn) roundTrip(tb testing.TB, request, body []byte) {
	if _, err := c.Write(request); err != nil {
		tb.Fatal(err)
	}
	for used := 0; !bytes.HasSuffix(c.in[:used], body); {
		n, err := c.Read(c.in[used:])
		if err != nil {
			tb.Fatal(err)
		}
		used += n
		if !bytes.HasPrefix(c.in, []byte("HTTP/1.1 200 ")) {
			tb.Fatalf("%s", c.in[:used])
		}
	}
}
