package httpapi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// queryText returns a signed request with the given query as HTTP/1.1 text.
func (w *serverUnderTest) queryText(query string) string {
	return w.text("POST", docs, `{"query":"`+query+`"}`, "x-ms-documentdb-isquery", "True",
		"content-type", "application/query+json")
}

// TestFastPathQueries sends queries on one connection, among them an invalid one and one with a large
// response. It checks that each is served on the fast path, without net/http, with the right status, body and
// Content-Length.
func TestFastPathQueries(t *testing.T) {
	w := newServerUnderTest(t)
	w.container("")
	for i := range 300 {
		item := fmt.Sprintf(`{"id":"%d","pk":"a","text":"%0400d"}`, i, i)
		w.do("POST", docs, item, pk(`["a"]`)...).want(201)
	}
	own := counting(w)
	l := w.dialFastPath(t, own)
	before := own.Load()
	for _, c := range []struct {
		query  string
		status int
		bytes  int
		body   string
	}{
		{"SELECT VALUE COUNT(1) FROM c", 200, 0, `[300]`},
		{"SELECT * FROM", 400, 0, "Syntax error"},
		{"SELECT * FROM c ORDER BY c.id", 200, 40_000, `"_count":100`},
		{"SELECT VALUE c.id FROM c WHERE c.id = '7'", 200, 0, `["7"]`},
	} {
		l.write(w.queryText(c.query))
		before++
		status, h, body := l.read()
		if status != c.status || !strings.Contains(body, c.body) || len(body) < c.bytes ||
			own.Load() != before || h.Get("Content-Length") != strconv.Itoa(len(body)) {
			t.Errorf("%s: %d %v %.200s, %d requests", c.query, status, h, body, own.Load())
		}
	}
}

// untilRead waits until the watch has read a byte of the next request or the end of the connection. The only
// sleep is that of the watch's own timer.
func (w *disconnectWatch) untilRead() {
	for {
		w.mu.Lock()
		reading := w.reading
		w.mu.Unlock()
		if reading != nil {
			<-reading
			return
		}
		runtime.Gosched()
	}
}

// TestFastPathDisconnect checks that a query on the fast path is canceled when its client disconnects, and
// that a request which arrives during a query is answered after it.
func TestFastPathDisconnect(t *testing.T) {
	w := newServerUnderTest(t)
	w.container("")
	own, serve := counting(w), w.srv.serveShortcut
	arrived, ended := make(chan struct{}), make(chan error, 1)
	w.srv.serveShortcut = func(s *fastPathConn) {
		if s.query {
			arrived <- struct{}{}
			s.watch.untilRead()
			ended <- s.context.Err()
		}
		serve(s)
	}
	l := w.dialFastPath(t, own)
	l.write(w.queryText("SELECT VALUE 1 FROM c"))
	<-arrived
	l.write(w.text("GET", docs+"/none", ""))
	if err := <-ended; err != nil {
		t.Errorf("a query that the next request follows: %v", err)
	}
	for _, want := range []int{200, 404} {
		if status, _, body := l.read(); status != want {
			t.Errorf("%d %s, want %d", status, body, want)
		}
	}
	for before := own.Load(); own.Load() == before; {
		l.write(w.text("GET", docs+"/none", ""))
		l.read()
	}
	l.write(w.queryText("SELECT VALUE 1 FROM c"))
	<-arrived
	if err := l.c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a query whose client has disconnected: %v", err)
	}
}
