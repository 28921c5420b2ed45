package httpapi

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mayflydb/mayfly/internal/testdisk"
)

func TestSnapshotsOverHTTP(t *testing.T) {
	t.Parallel()
	testdisk.Pebble(t, "snapshots")
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", docs, `{"id":"a","pk":"p","v":1}`, pk(`["p"]`)...).want(201)
	s := w.do("POST", "/_mayfly/snapshots", `{"name":"one"}`).want(201)
	if s.at("name").Str != "one" || s.at("databases.0").Str != "d" || s.at("bytes").Int() == 0 ||
		s.at("time").Str == "" {
		t.Errorf("snapshot %s", s.body)
	}
	first := w.do("GET", docs+"/a", "", pk(`["p"]`)...).want(200)
	w.do("PUT", docs+"/a", `{"id":"a","pk":"p","v":2}`, pk(`["p"]`)...).want(200)
	session := w.do("GET", docs+"/a", "", pk(`["p"]`)...).want(200).header.Get("X-Ms-Session-Token")

	if got := w.do("POST", "/_mayfly/snapshots/one/fork",
		`{"database":"d","as":"e"}`).want(201); got.at("id").Str != "e" {
		t.Errorf("fork %s", got.body)
	}
	if v := w.do("GET", "/dbs/e/colls/c/docs/a", "", pk(`["p"]`)...).want(200).at("v").Int(); v != 1 {
		t.Errorf("the fork has v = %d", v)
	}
	if got := w.do("POST", "/_mayfly/snapshots/one/restore",
		"").want(200); string(got.body) != `{"databases":["d"]}` {
		t.Errorf("restore %s", got.body)
	}
	back := w.do("GET", docs+"/a", "", append(pk(`["p"]`), "x-ms-session-token", session)...).want(200)
	if back.at("v").Int() != 1 || back.at("_etag").Str == first.at("_etag").Str {
		t.Errorf("after the restore %s, before the change %s", back.body, first.body)
	}
	w.do("PUT", docs+"/a", `{"id":"a","pk":"p","v":3}`, pk(`["p"]`)...).want(200)
	w.do("POST", "/_mayfly/snapshots/one/restore", `{"database":"d"}`).want(200)
	if v := w.do("GET", docs+"/a", "", pk(`["p"]`)...).want(200).at("v").Int(); v != 1 {
		t.Errorf("after the restore of the database v = %d", v)
	}
	if list := w.do("GET", "/_mayfly/snapshots", "").want(200); len(list.at("snapshots").Array()) != 1 {
		t.Errorf("snapshots %s", list.body)
	}
	w.do("DELETE", "/_mayfly/snapshots/one", "").want(204)
	w.do("DELETE", "/_mayfly/snapshots/one", "").fails(404, 0, "")
	for _, good := range []string{"console", "com", "com10", "x.con"} {
		w.do("POST", "/_mayfly/snapshots", `{"name":"`+good+`"}`).want(201)
	}
	for _, bad := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/_mayfly/snapshots", ``, 400},
		{"POST", "/_mayfly/snapshots", `{}`, 400},
		{"POST", "/_mayfly/snapshots", `{"name":1}`, 400},
		{"POST", "/_mayfly/snapshots", `{"name":"x","more":1}`, 400},
		{"POST", "/_mayfly/snapshots", `{"name":"../x"}`, 400},
		{"POST", "/_mayfly/snapshots", `{"name":"con"}`, 400}, // a device of Windows
		{"POST", "/_mayfly/snapshots", `{"name":"nul.tar.gz"}`, 400},
		{"POST", "/_mayfly/snapshots", `{"name":"lpt1"}`, 400},
		{"POST", "/_mayfly/snapshots/con/restore", ``, 404},
		{"POST", "/_mayfly/snapshots/x/restore", ``, 404},
		{"POST", "/_mayfly/snapshots/%2e%2e/restore", ``, 400},
		{"POST", "/_mayfly/snapshots/x/restore", `{"db":"d"}`, 400},
		{"POST", "/_mayfly/snapshots/x/fork", `{"database":"d"}`, 400},
		{"POST", "/_mayfly/snapshots/x/other", ``, 404},
		{"GET", "/_mayfly/snapshots/x/restore", ``, 405},
		{"DELETE", "/_mayfly/snapshots/..%2fx", ``, 400},
	} {
		w.do(bad.method, bad.path, bad.body).fails(bad.status, 0, "")
	}
}

// TestRequestsDuringARestore checks that a request which is interrupted by the restore of a snapshot is
// executed again by the server, so that the client gets no error.
func TestRequestsDuringARestore(t *testing.T) {
	t.Parallel()
	testdisk.Pebble(t, "snapshots")
	w := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.server.NoAuth = true })
	w.container("")
	w.do("POST", docs, `{"id":"a","pk":"p"}`, pk(`["p"]`)...).want(201)
	w.do("POST", "/_mayfly/snapshots", `{"name":"s"}`).want(201)
	ask := func(method, path, body string, want int) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("x-ms-documentdb-partitionkey", `["p"]`)
		r.Header.Set("x-ms-documentdb-is-upsert", "true")
		res := httptest.NewRecorder()
		if w.h.ServeHTTP(res, r); res.Code != want {
			t.Errorf("%s %s: %d %s", method, path, res.Code, res.Body)
		}
	}
	var stop atomic.Bool
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() {
			for n := 0; !stop.Load(); n++ {
				ask("GET", docs+"/a", "", 200)
				ask("POST", docs, fmt.Sprintf(`{"id":"%d-%d","pk":"p"}`, i, n), 201)
			}
		})
	}
	for range 20 {
		w.do("POST", "/_mayfly/snapshots/s/restore", "").want(200)
	}
	stop.Store(true)
	clients.Wait()
}
