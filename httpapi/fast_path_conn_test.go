package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// rawHTTPTestClient is a client's HTTP/1.1 connection on which a test sends requests as text.
type rawHTTPTestClient struct {
	t  *testing.T
	c  net.Conn
	in *bufio.Reader
}

func dialPlain(t *testing.T, base string) *rawHTTPTestClient {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline((ttl.SystemClock{}).Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &rawHTTPTestClient{t, c, bufio.NewReader(c)}
}

func (l *rawHTTPTestClient) write(text string) {
	l.t.Helper()
	if _, err := io.WriteString(l.c, text); err != nil {
		l.t.Fatal(err)
	}
}

// read reads the next response.
func (l *rawHTTPTestClient) read() (status int, header http.Header, body string) {
	l.t.Helper()
	a, err := http.ReadResponse(l.in, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	text, err := io.ReadAll(a.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return a.StatusCode, a.Header, string(text)
}

// text returns a signed request as HTTP/1.1 text.
func (w *serverUnderTest) text(method, path, body string, headers ...string) string {
	r := w.request(method, path, body, append(pk(`["a"]`), headers...)...)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\n", method, path)
	if body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	for name, values := range r.Header {
		fmt.Fprintf(&b, "%s: %s\r\n", name, values[0])
	}
	return b.String() + "\r\n" + body
}

// counting returns the number of requests that w serves on its fast path, without net/http, from now on.
func counting(w *serverUnderTest) *atomic.Int64 {
	n, serve := new(atomic.Int64), w.srv.serveShortcut
	w.srv.serveShortcut = func(s *fastPathConn) {
		n.Add(1)
		serve(s)
	}
	return n
}

// TestFastPathResponses sends item reads, other requests, pipelined requests and requests in several pieces
// on one connection. It checks that each gets its own response, whether from the fast path or from net/http.
func TestFastPathResponses(t *testing.T) {
	w := newServerUnderTest(t)
	w.container("")
	own := counting(w)
	l := dialPlain(t, w.serving(t))
	l.write(w.text("POST", docs, `{"id":"1","pk":"a","n":1}`))
	if status, _, body := l.read(); status != 201 {
		t.Fatal(status, body)
	}
	read, missing := w.text("GET", docs+"/1", ""), w.text("GET", docs+"/none", "")
	want := func(id string, status int, what string) {
		t.Helper()
		got, h, body := l.read()
		length := strconv.Itoa(len(body))
		if got != status || !strings.Contains(body, what) || h.Get("Content-Length") != length ||
			len(h["Date"]) != 1 || id != "" && h.Get("X-Ms-Activity-Id") != id {
			t.Fatalf("%d %v %s", got, h, body)
		}
	}
	// net/http watches the connection during a request of its own, and may take the next read's first byte.
	for n := 0; own.Load() < 3; n++ {
		if n == 1000 {
			t.Fatal("the connection serves no reads by itself")
		}
		l.write(read)
		want("", 200, `"n":1`)
	}
	l.write(missing)
	want("", 404, "NotFound")
	l.write(w.text("GET", docs, "")) // not a read of an item
	want("", 200, "Documents")
	l.write(read + missing + read) // pipelined
	want("", 200, `"n":1`)
	want("", 404, "NotFound")
	want("", 200, `"n":1`)
	l.write(read)
	want("", 200, `"n":1`)
	half := len(read) / 2
	l.write(read[:half])
	l.write(read[half:])
	want("", 200, `"n":1`)
	// a body that looks like a read, in a write of its own
	post := w.text("POST", docs, read)
	l.write(strings.TrimSuffix(post, read))
	l.write(read)
	want("", 400, "")
	id := "11111111-2222-4333-8444-555555555555"
	l.write(w.text("GET", docs+"/1", "", "x-ms-activity-id", id))
	want(id, 200, `"n":1`)
}

// TestFastPathWrites sends several writes on one connection that serves them on the fast path, without
// net/http. It checks the responses, and that errors do not close the connection.
func TestFastPathWrites(t *testing.T) {
	w := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.server.Requests = fullLog() })
	w.container("")
	own := counting(w)
	l := w.dialFastPath(t, own)
	before, item := own.Load(), `{"id":"1","pk":"a","n":1}`
	for _, c := range []struct {
		text   string
		status int
		body   string
	}{
		{w.text("POST", docs, item), 201, `"n":1`},
		{w.text("POST", docs, item), 409, "Conflict"},
		{w.text("POST", docs, strings.Replace(item, ":1", ":2", 1), "x-ms-documentdb-is-upsert", "True"), 200,
			`"n":2`},
		{w.text("PUT", docs+"/1", `{"id":"1","pk":"a","n":3}`, "prefer", "return=minimal"), 200, ""},
		{w.text("PUT", docs+"/1", "{", "content-type", "application/json"), 400, "BadRequest"},
		{w.text("PUT", docs+"/1", item, "if-match", `"old"`), 412, "PreconditionFailed"},
		{w.text("GET", docs+"/1", ""), 200, `"n":3`},
		{w.text("PATCH", docs+"/1", `{"operations":[{"op":"incr","path":"/n","value":1}]}`, "content-type",
			"application/json_patch+json"), 200, `"n":4`},
		{w.text("PATCH", docs+"/1", `{"operations":[{"op":"set","path":"/pk","value":1}]}`), 400, "BadRequest"},
		{w.text("DELETE", docs+"/1", ""), 204, ""},
		{w.text("DELETE", docs+"/1", ""), 404, "NotFound"},
	} {
		l.write(c.text)
		before++
		status, h, body := l.read()
		if status != c.status || !strings.Contains(body, c.body) || own.Load() != before ||
			len(h["X-Ms-Activity-Id"]) != 1 || len(h["Date"]) != 1 {
			t.Errorf("%.60q: %d %v %s, %d requests", c.text, status, h, body, own.Load())
		}
	}
}

// dialFastPath returns a connection whose next request is served on the fast path. own counts these requests.
func (w *serverUnderTest) dialFastPath(t *testing.T, own *atomic.Int64) *rawHTTPTestClient {
	t.Helper()
	l := dialPlain(t, w.serving(t))
	for n := 0; own.Load() == 0; n++ { // see TestFastPathResponses
		if n == 1000 {
			t.Fatal("the connection serves no requests by itself")
		}
		l.write(w.text("GET", docs+"/none", ""))
		l.read()
	}
	return l
}

// TestFastPathSelection checks that the fast path serves queries and plain reads and writes of items, and
// nothing else.
func TestFastPathSelection(t *testing.T) {
	const path = "/dbs/d/colls/c/docs/1"
	head := func(target string, lines ...string) string {
		return "GET " + target + " HTTP/1.1\r\n" + strings.Join(append(lines, "", ""), "\r\n")
	}
	send := func(method, target, body string, lines ...string) string {
		return method + strings.TrimPrefix(head(target, append(lines, "Host: a")...), "GET") + body
	}
	const feed, one, two = "/dbs/d/colls/c/docs", "Content-Length: 1", "Content-Length: 2"
	for text, taken := range map[string]bool{
		send("POST", feed, "{}", two):                                           true,
		send("POST", feed, "{}", two, "Content-Type: application/json"):         true,
		send("PUT", path, "{}", two):                                            true,
		send("DELETE", path, ""):                                                true,
		send("DELETE", path, "", "Content-Length: 0"):                           true,
		send("POST", feed, ""):                                                  false, // no length
		send("POST", feed, "", "Content-Length: 0"):                             false,
		send("POST", feed, "{", two):                                            false, // half a body
		send("POST", feed, "{}", one):                                           false, // another request
		send("POST", feed, "{}", two, two):                                      false,
		send("POST", feed, "{}", "Content-Length: +2"):                          false,
		send("POST", feed, "{}", "Content-Length: 2, 2"):                        false,
		send("POST", feed, "{}", "Content-Length: 0x2"):                         false,
		send("POST", feed, "{}", two, "Transfer-Encoding: chunked"):             false,
		send("POST", feed, "{}", two, "Expect: 100-continue"):                   false,
		send("POST", feed, "{}", two, "Content-Type: application/query+json"):   true,
		send("POST", feed, "{}", two, "x-ms-documentdb-isquery: True"):          true,
		send("POST", feed, "{}", two, "x-ms-documentdb-isquery: 1", "a-im: x"):  false,
		send("POST", feed, "{}", two, "Content-Type: application/sql"):          false,
		send("POST", feed, "{}", two, "x-ms-cosmos-is-batch-request: True"):     false,
		send("POST", feed, "{}", two, "x-ms-documentdb-pre-trigger-include: t"): false,
		send("POST", path, "{}", two):                                           false,
		send("PUT", feed, "{}", two):                                            false,
		send("PATCH", path, "{}", two):                                          true,
		send("PATCH", feed, "{}", two):                                          false,
		send("PATCH", path, ""):                                                 false,
		send("BREW", path, "{}", two):                                           false,
		send("DELETE", path, "{}", two):                                         false,
		send("GET", path, "", "Content-Length: 0"):                              false,
		send("POST", feed, strings.Repeat("x", maxShortcutBody+1),
			"Content-Length: "+strconv.Itoa(maxShortcutBody+1)): false,
		head(path, "Host: localhost:8081"):                                         true,
		head(path, "host:localhost", "x-ms-date:  a b ", "Connection: Keep-Alive"): true,
		head("/dbs/d/colls/c/docs/a%2Fb%20c", "Host: [::1]:1"):                     true,
		head("/dbs/d/colls/c/docs/1/attachments/2", "Host: h"):                     true,
		head(path):                                                                         false, // no Host
		head(path, "Host: a", "Host: b"):                                                   false,
		head(path, "Host: a b"):                                                            false,
		head(path, "Host: a", "X-A: 1", "x-a: 2"):                                          false,
		head(path, "Host: a", "Connection: close"):                                         false,
		head(path, "Host: a", "Content-Length: 1"):                                         false,
		head(path, "Host: a", "Transfer-Encoding: x"):                                      false,
		head(path, "Host: a", "Expect: 100-continue"):                                      false,
		head(path, "Host: a", " folded"):                                                   false,
		head(path, "Host: a", "X A: 1"):                                                    false,
		head(path, "Host: a", "X-A: \x7f"):                                                 false,
		head(path, "Host: a", "X-A: \u00e4"):                                               false,
		head(path, "Host: a", "no colon"):                                                  false,
		head(path, "Host: a", "X-A: 1\nX-B: 2"):                                            false,
		head(path+"?a=b", "Host: a"):                                                       false,
		head(path+"%zz", "Host: a"):                                                        false,
		head(path+"\u00e4", "Host: a"):                                                     false,
		head("/dbs/d/colls/c/docs", "Host: a"):                                             false,
		head("/dbs/d/colls/c/docs/", "Host: a"):                                            false,
		head("/dbs//colls/c/docs/1", "Host: a"):                                            false,
		head("/dbs/d/colls/c/sprocs/1", "Host: a"):                                         false,
		"GET " + path + " HTTP/1.0\r\nHost: a\r\n\r\n":                                     false,
		"GET " + path + "\r\nHost: a\r\n\r\n":                                              false,
		head(path, "Host: a", strings.Repeat("X", 4000)+": 1"):                             true,
		head(path, append([]string{"Host: a"}, strings.Split(manyHeaders(60), "|")...)...): false,
		strings.Repeat(head(path, "Host: a"), 2):                                           false,
	} {
		s := &fastPathConn{}
		if got := maybeShortcut([]byte(text)) && s.parse([]byte(text)); got != taken {
			t.Errorf("%.200q: %v", text, got)
		}
	}
}

// manyHeaders returns n header lines.
func manyHeaders(n int) string {
	var list []string
	for i := range n {
		list = append(list, "X-"+strconv.Itoa(i)+": 1")
	}
	return strings.Join(list, "|")
}

// TestFastPathShutdown checks that shutdown waits for a read on the fast path, and that its response is
// complete.
func TestFastPathShutdown(t *testing.T) {
	w := newServerUnderTest(t)
	w.container("")
	begun, may := make(chan struct{}), make(chan struct{})
	w.srv.opt.Observe = func(o ObservedRequest) { // before the answer is sent
		if o.Status == http.StatusOK {
			close(begun)
			<-may
		}
	}
	base := w.serving(t)
	l := dialPlain(t, base)
	l.write(w.text("POST", docs, `{"id":"1","pk":"a"}`))
	l.read()
	for range 3 { // net/http may serve some of them
		l.write(w.text("GET", docs+"/none", ""))
		l.read()
	}
	l.write(w.text("GET", docs+"/1", ""))
	<-begun
	ended := make(chan error)
	go func() { ended <- w.srv.Shutdown(context.Background()) }()
	<-w.srv.draining.Done()
	select {
	case err := <-ended:
		t.Fatalf("the server has ended: %v", err)
	default:
	}
	close(may)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if status, _, body := l.read(); status != 200 || body == "" {
		t.Errorf("%d %s", status, body)
	}
	if _, err := l.in.ReadByte(); err != io.EOF {
		t.Errorf("the connection is open: %v", err)
	}
}

// TestFastPathAborted checks that the connection is closed if a read on the fast path, which serves single
// items without net/http, panics with http.ErrAbortHandler.
func TestFastPathAborted(t *testing.T) {
	w := newServerUnderTest(t)
	w.container("")
	w.srv.serveShortcut = func(*fastPathConn) { panic(http.ErrAbortHandler) }
	l := dialPlain(t, w.serving(t))
	l.write(w.text("POST", docs, `{"id":"1","pk":"a"}`))
	l.read()
	for n := 0; ; n++ { // net/http may serve some of them, with the handler that it was made with
		l.write(w.text("GET", docs+"/1", ""))
		if _, err := l.in.Peek(1); err == io.EOF {
			return
		}
		if status, _, body := l.read(); status != 200 || n == 1000 {
			t.Fatal(status, body)
		}
	}
}
