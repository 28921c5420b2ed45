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

// plainLink is a client's connection that sends requests as text.
type plainLink struct {
	t  *testing.T
	c  net.Conn
	in *bufio.Reader
}

func dialPlain(t *testing.T, base string) *plainLink {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline((ttl.Real{}).Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &plainLink{t, c, bufio.NewReader(c)}
}

func (l *plainLink) write(text string) {
	l.t.Helper()
	if _, err := io.WriteString(l.c, text); err != nil {
		l.t.Fatal(err)
	}
}

// read reads an answer.
func (l *plainLink) read() (status int, header http.Header, body string) {
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

// text is a signed request as text.
func (w *world) text(method, path, body string, headers ...string) string {
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

// counting counts the requests that connections serve by themselves.
func counting(w *world) *atomic.Int64 {
	n, h := new(atomic.Int64), w.srv.handler
	w.srv.handler = http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
		if _, own := a.(*shortcut); own {
			n.Add(1)
		}
		h.ServeHTTP(a, r)
	})
	return n
}

// TestShortcuts: reads, other requests, pipelined requests and heads that come in pieces follow each other on
// one connection, and each has its own answer.
func TestShortcuts(t *testing.T) {
	w := newWorld(t)
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
		if got != status || !strings.Contains(body, what) || h.Get("Content-Length") != strconv.Itoa(len(body)) ||
			len(h["Date"]) != 1 || id != "" && h.Get("X-Ms-Activity-Id") != id {
			t.Fatalf("%d %v %s", got, h, body)
		}
	}
	// net/http watches the connection during a request of its own, and may take the next read's first byte.
	for n := 0; own.Load() < 3; n++ {
		if n == 50 {
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

// TestShortcutForms: net/http serves everything but plain reads of items.
func TestShortcutForms(t *testing.T) {
	const path = "/dbs/d/colls/c/docs/1"
	head := func(target string, lines ...string) string {
		return "GET " + target + " HTTP/1.1\r\n" + strings.Join(append(lines, "", ""), "\r\n")
	}
	for text, taken := range map[string]bool{
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
		head(path, "Host: a") + head(path, "Host: a"):                                      false, // two requests
		head(path, "Host: a", strings.Repeat("X", 4000)+": 1"):                             true,
		head(path, append([]string{"Host: a"}, strings.Split(manyHeaders(60), "|")...)...): false,
	} {
		s := &shortcut{req: &http.Request{}, fields: http.Header{}}
		if got := maybeShortcut([]byte(text)) && s.parse(text); got != taken {
			t.Errorf("%.200q: %v", text, got)
		}
	}
}

// manyHeaders is n headers.
func manyHeaders(n int) string {
	var list []string
	for i := range n {
		list = append(list, "X-"+strconv.Itoa(i)+": 1")
	}
	return strings.Join(list, "|")
}

// TestShortcutShutdown: the server waits for a read that a connection serves by itself, and its answer is
// whole.
func TestShortcutShutdown(t *testing.T) {
	w := newWorld(t)
	w.container("")
	begun, may := make(chan struct{}), make(chan struct{})
	w.srv.opt.Observe = func(o Observation) { // before the answer is sent
		if o.Status == http.StatusOK {
			close(begun)
			<-may
		}
	}
	base := w.serving(t)
	l := dialPlain(t, base)
	l.write(w.text("POST", docs, `{"id":"1","pk":"a"}`))
	l.read()
	for range 3 { // see TestShortcuts
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

// TestShortcutAborted: a read whose handler gives up ends its connection.
func TestShortcutAborted(t *testing.T) {
	w := newWorld(t)
	w.container("")
	h := w.srv.handler
	w.srv.handler = http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.RequestURI, "/1") {
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(a, r)
	})
	l := dialPlain(t, w.serving(t))
	l.write(w.text("POST", docs, `{"id":"1","pk":"a"}`))
	l.read()
	for range 3 { // see TestShortcuts
		l.write(w.text("GET", docs+"/none", ""))
		l.read()
	}
	l.write(w.text("GET", docs+"/1", ""))
	if text, err := io.ReadAll(l.in); err != nil || len(text) > 0 {
		t.Errorf("%q %v", text, err)
	}
}
