package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// blockingExportProxy is an HTTP proxy in front of a server. It lets a given number of requests for pages
// of items pass, and blocks all further ones until it is closed.
type blockingExportProxy struct {
	*httptest.Server
	left    atomic.Int64
	waiting chan struct{} // a request does
}

func newBlockingExportProxy(t *testing.T, b *mayflyServerUnderTest, pages int64) *blockingExportProxy {
	t.Helper()
	d := &blockingExportProxy{waiting: make(chan struct{}, 100)}
	d.left.Store(pages)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: b.host})
	transport := &http.Transport{DisableKeepAlives: true}
	proxy.Transport = transport
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/docs") && d.left.Add(-1) < 0 {
			d.waiting <- struct{}{}
			<-r.Context().Done()
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

// killedExport starts `mayfly export` with args as a process, and kills it when it requests the next page
// after the given number of pages.
func killedExport(t *testing.T, b *mayflyServerUnderTest, pages int64, args ...string) {
	t.Helper()
	d := newBlockingExportProxy(t, b, pages)
	proc := exec.Command(os.Args[0], append([]string{"export", "--url", d.URL}, args...)...)
	if err := proc.Start(); err != nil {
		t.Fatal(err)
	}
	<-d.waiting
	if err := proc.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = proc.Wait() // it was killed
}

// many imports the given number of documents into a container of the database db. Their _ts values are in
// November 2023.
func many(t *testing.T, b *mayflyServerUnderTest, container string, documents int) {
	t.Helper()
	var in strings.Builder
	for i := range documents {
		fmt.Fprintf(&in, `{"id":"%d","pk":"p%d","text":"%s","_ts":%d}`+"\n", i, i%7, `é\u0001\n`,
			1700000000+i)
	}
	runCases(t, b, []commandTestCase{
		{[]string{"import", file(t, "in.ndjson", in.String()), "--db", "db", "--container", container}, 0,
			fmt.Sprint(documents)},
	})
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestKilledExport checks that a killed export that is continued writes the same file as an export without
// interruption, even if the server was restarted in between.
func TestKilledExport(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), t.TempDir()
	b := boot(t, "--data", data, "--ranges", "2")
	b.makeContainer(t)
	many(t, b, "c", 4300)
	whole, to := filepath.Join(dir, "whole"), filepath.Join(dir, "killed")
	at := []string{"--db", "db", "--container", "c", "--to"}
	runCases(t, b, []commandTestCase{{append([]string{"export"}, append(at, whole)...), 0, ""}})
	killedExport(t, b, 2, append(at, to)...)
	if _, err := os.Stat(to); err == nil {
		t.Fatal("half a file has the name of a whole one")
	}
	f, err := os.OpenFile(to+".part", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"id":"half a page`); err != nil { // of a page that was being written
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	killedExport(t, b, 1, append(at, to, "--continue")...)
	b.stop(t)
	b = boot(t, "--data", data)
	killedExport(t, b, 0, append(at, to, "--continue")...)
	b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"meanwhile","pk":"p1"}`)
	b.must(t, 204, "DELETE", "/dbs/db/colls/c/docs/meanwhile", "", "x-ms-documentdb-partitionkey", `["p1"]`)
	runCases(t, b, []commandTestCase{{append([]string{"export", "--continue"}, append(at, to)...), 0, ""}})
	if !bytes.Equal(read(t, to), read(t, whole)) {
		t.Error("the export that was killed is another")
	}
	if left := globbed(t, dir, "*"); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
}

// TestContinuedExport checks `mayfly export --continue`: it completes an interrupted export of several
// containers, and fails with the reason if the partial file was truncated or belongs to another container.
func TestContinuedExport(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	many(t, b, "c", 2100)
	b.must(t, 201, "POST", "/dbs/db/colls",
		`{"id":"a","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`)
	many(t, b, "a", 10)
	dir := t.TempDir()
	to := filepath.Join(dir, "c")
	at := []string{"export", "--db", "db", "--container", "c", "--to", to}
	killedExport(t, b, 2, "--db", "db", "--to", dir) // one page of each container, or two of the larger one
	c := filepath.Join(dir, "c.ndjson")
	runCases(t, b, []commandTestCase{
		{[]string{"export", "--db", "db", "--to", dir, "--continue", "--json"}, 0, `"items": 2100`},
		{[]string{"export", "--db", "db", "--container", "c", "--continue"}, exitUsage, "--to"},
	})
	for name, want := range map[string]int{c: 2100, filepath.Join(dir, "a.ndjson"): 10} {
		if got := bytes.Count(read(t, name), []byte("\n")); got != want {
			t.Errorf("%s: %d lines, want %d", name, got, want)
		}
	}
	if left := globbed(t, dir, "*"); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
	killedExport(t, b, 1, at[1:]...)
	if err := os.Truncate(to+".part", 5); err != nil {
		t.Fatal(err)
	}
	runCases(t, b, []commandTestCase{{append(at, "--continue"), exitFailed, "is shorter than"}})
	b.must(t, 204, "DELETE", "/dbs/db/colls/c", "")
	b.must(t, 201, "POST", "/dbs/db/colls",
		`{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`)
	runCases(t, b, []commandTestCase{
		{append(at, "--continue"), exitFailed, "of another container"},
		{at, 0, ""},
	})
	if data := read(t, to); len(data) != 0 {
		t.Errorf("an empty container: %s", data)
	}
}

// TestExportAfterImport checks that the documents of an export, imported into another server and exported
// again, are the same byte for byte.
func TestExportAfterImport(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--ranges", "3")
	b.makeContainer(t)
	many(t, b, "c", 300)
	at := []string{"--db", "db", "--container", "c"}
	runCases(t, b, []commandTestCase{
		{append([]string{"put", `{"id":"new","pk":"p","n":1.50,"own":{"_etag":1,"_ts":"x"},"_mine":[],"é\u0000":"𝄞"}`}, at...), 0, ""},
	})
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	other := boot(t, "--memory", "--ranges", "3")
	other.makeContainer(t)
	runCases(t, b, []commandTestCase{{append([]string{"export", "--to", first}, at...), 0, ""}})
	runCases(t, other, []commandTestCase{
		{append([]string{"import", first}, at...), 0, "301 documents imported"},
		{append([]string{"export", "--to", second}, at...), 0, ""},
	})
	if a, b := read(t, first), read(t, second); !bytes.Equal(a, b) ||
		!bytes.Contains(a, []byte(`"own":{"_etag":1,"_ts":"x"},"_mine":[]`)) {
		t.Errorf("imported and exported again:\n%.300s\n%.300s", a, b)
	}
}
