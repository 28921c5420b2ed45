package httpapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Profiles are there with a flag and the key, and not without either.
func TestProfiles(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.server.Profiles = true })
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
	if rec := ask("/debug/pprof/nothing", key); rec.Code != 404 {
		t.Errorf("%d", rec.Code)
	}
	newWorld(t).do("GET", "/debug/pprof/", "").fails(404, 0, "There is nothing at /debug/pprof.")
}
