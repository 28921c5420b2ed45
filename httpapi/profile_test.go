package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestProfiles checks that the profiles of Go's runtime are served only with Options.Profiles and the
// master key.
func TestProfiles(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.server.Profiles = true })
	ask := func(path, authorization string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Authorization", authorization)
		rec := httptest.NewRecorder()
		w.h.ServeHTTP(rec, r)
		return rec
	}
	const key = "Bearer " + EmulatorKey
	for path, holds := range map[string]string{"/debug/pprof/": "goroutine?debug=1",
		"/debug/pprof": "heap?debug=1", "/debug/pprof/goroutine?debug=1": "goroutine profile: total",
		"/debug/pprof/cmdline": "test", "/debug/pprof/symbol": "num_symbols"} {
		if rec := ask(path, key); rec.Code != 200 || !strings.Contains(rec.Body.String(), holds) {
			t.Errorf("%s: %d %.200s", path, rec.Code, rec.Body)
		}
		if rec := ask(path, ""); rec.Code != 401 {
			t.Errorf("%s without a key: %d", path, rec.Code)
		}
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(ask("/debug/pprof/heap", key).Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, unzipped); n == 0 || err != nil {
		t.Errorf("a heap of %d bytes: %v", n, err)
	}
	w.do("GET", "/debug/pprof/nothing", "", "Authorization", key).fails(404, 0, "no profile 'nothing'")
	for _, seconds := range []string{"99999999999999999999", "-1", "0", "NaN", "x", "601"} {
		w.do("GET", "/debug/pprof/trace?seconds="+seconds, "", "Authorization", key).
			fails(400, 0, "'seconds' must be")
	}
	newServerUnderTest(t).do("GET", "/debug/pprof/", "").fails(404, 0, "There is nothing at /debug/pprof.")
}

// TestOneProfileAtATime checks that a second CPU profile is refused until the first one has ended.
func TestOneProfileAtATime(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.server.Profiles = true })
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequest(http.MethodGet, "/debug/pprof/trace?seconds=600", nil).WithContext(ctx)
	const key = "Bearer " + EmulatorKey
	r.Header.Set("Authorization", key)
	begun, read, ended := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	close(read)
	go func() {
		defer close(ended)
		w.h.ServeHTTP(&blockedResponseWriter{ResponseRecorder: httptest.NewRecorder(), begun: begun,
			read: read}, r)
	}()
	<-begun
	w.do("GET", "/debug/pprof/trace?seconds=1", "", "Authorization", key).
		fails(409, 0, "Somebody else takes a trace now")
	cancel()
	<-ended
	r = httptest.NewRequest(http.MethodGet, "/debug/pprof/trace?seconds=0.001", nil)
	r.Header.Set("Authorization", key)
	next := httptest.NewRecorder()
	if w.h.ServeHTTP(next, r); next.Code != 200 {
		t.Errorf("%d %.200s", next.Code, next.Body)
	}
}
