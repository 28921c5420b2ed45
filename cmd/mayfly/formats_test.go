package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// formerFolders maps archives of data folders, written by earlier versions of Mayfly, to their format
// numbers. Each has two containers, one with a vector index, times to live, scripts, a user, messages in
// queues and a topic, and a snapshot. Its virtual clock is frozen.
var formerFolders = map[string]int{ // the file -> its format
	"format-2":       2,
	"format-3-first": 3,
	"format-3-later": 3,
}

// TestFormerFolders checks data folders written by earlier versions of Mayfly: `mayfly check` reads each
// without changing it, and `mayfly serve` upgrades it and serves all its data.
func TestFormerFolders(t *testing.T) {
	for name, format := range formerFolders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := unpack(t, name)
			before := folder(t, dir)
			const counts = "1 database, 2 containers, 40 documents"
			checked(t, dir, counts, fmt.Sprintf("format %d", format))
			if !maps.Equal(before, folder(t, dir)) {
				t.Error("check has changed the folder")
			}
			former := serveFormer(t, dir)
			former.documents("after")
			former.messages()
			kept := former.snapshots()
			if upgraded := format < 3; upgraded != slices.Contains(kept, "before-format-3") ||
				upgraded != strings.Contains(former.stderr.String(), "upgraded to the current format") {
				t.Errorf("snapshots %v, log:\n%s", kept, former.stderr)
			}
			if status, text := former.do(t, "POST", "/_mayfly/snapshots/kept/restore", "{}"); status != 200 {
				t.Fatalf("restore: %d %s\n%s", status, text, former.stderr)
			}
			former.documents("")
			former.expiry()
			former.stop(t)
			checked(t, dir, "1 database, 2 containers", "format 3\n")
			if format < 3 {
				forkFormer(t, dir, before)
			}
		})
	}
}

// forkFormer checks the snapshot that an upgrade takes of the data in dir before it changes their format:
// `mayfly check` can read the snapshot in its former format, and a fork of it is a data folder of the current
// format. before has the contents of the files of dir before the upgrade.
func forkFormer(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	kept := filepath.Join(dir, "snapshots", "before-format-3")
	checked(t, kept, "2 containers, 40 documents", "format 2")
	fork := filepath.Join(t.TempDir(), "fork")
	code, out, errs := mayfly(t, "snapshot", "fork", "before-format-3", "--data", dir, "--to", fork)
	if code != 0 {
		t.Fatalf("fork: %d %s%s", code, out, errs)
	}
	checked(t, fork, "2 containers, 40 documents", "format 3\n")
	for name, text := range before {
		if strings.HasSuffix(name, ".sst") && filepath.Dir(name) == filepath.Join(dir, "snapshots", "kept") {
			if now, err := os.ReadFile(name); err != nil || string(now) != text {
				t.Errorf("%s of the older snapshot has changed: %v", name, err)
			}
		}
	}
}

func checked(t *testing.T, dir string, wants ...string) {
	t.Helper()
	code, out, errs := mayfly(t, "check", dir)
	for _, want := range append(wants, ": 0 violations") {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("check, want %q: %d %s%s", want, code, out, errs)
		}
	}
}

// oldDataFormatServer is a server on a data folder that an earlier version of Mayfly has written, with
// methods that check its data.
type oldDataFormatServer struct {
	*mayflyServerUnderTest
	t   *testing.T
	bus string
}

func serveFormer(t *testing.T, dir string) *oldDataFormatServer {
	t.Helper()
	b := bootBus(t, "--data", dir, "--virtual-clock")
	return &oldDataFormatServer{b, t, busPorts(t, b)[0]}
}

// documents checks the documents of the folder through point reads and queries that use each kind of key
// and index. last is the id of the newest document, or "" if it must not exist.
func (f *oldDataFormatServer) documents(last string) {
	f.t.Helper()
	count := 19
	if last != "" {
		count = 20
		f.must(f.t, 200, "GET", "/dbs/shop/colls/carts/docs/"+last, "",
			"x-ms-documentdb-partitionkey", `["ada"]`)
	}
	for _, c := range []struct{ coll, text, want string }{
		{"carts", "SELECT VALUE COUNT(1) FROM c", fmt.Sprint("[", count, "]")},
		{"carts", "SELECT VALUE c.id FROM c WHERE c.n = 50", `["5"]`},
		{"carts", "SELECT VALUE c.id FROM c WHERE c.n = 2 ORDER BY c.n ASC, c.code DESC",
			`["7","2","17","12"]`},
		{"carts", "SELECT VALUE udf.twice(c.n) FROM c WHERE c.id = '5'", `[100]`},
		{"pictures", "SELECT TOP 2 VALUE c.id FROM c ORDER BY VectorDistance(c.vector, [3.2, 1, 2, 3])",
			`["3","4"]`},
		{"pictures", "SELECT VALUE COUNT(1) FROM c", "[20]"},
	} {
		if got := f.query(c.coll, c.text); got != c.want {
			f.t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
	if got := f.must(f.t, 200, "POST", "/dbs/shop/colls/carts/sprocs/hello", "[]",
		"x-ms-documentdb-partitionkey", `["ada"]`); got != `"hello"` {
		f.t.Errorf("the procedure answered %s", got)
	}
	f.must(f.t, 200, "GET", "/dbs/shop/users/eve", "")
	status, text := f.do(f.t, "POST", "/dbs/shop/colls/carts/docs", `{"id":"new","user":"ada","code":"c2"}`,
		"x-ms-documentdb-partitionkey", `["ada"]`)
	if status != 409 {
		f.t.Errorf("a unique key is taken twice: %d %s", status, text)
	}
	feed := f.must(f.t, 200, "GET", "/dbs/shop/colls/carts/docs", "", "A-IM", "Incremental Feed",
		"x-ms-documentdb-partitionkeyrangeid", "0")
	if n := strings.Count(feed, `"_rid":`) - 1; n != count {
		f.t.Errorf("the change feed has %d documents, want %d", n, count)
	}
}

// expiry advances the clock and checks that items and messages of the folder expire at the right time, by
// their own or the default time to live, and that a scheduled message appears.
func (f *oldDataFormatServer) expiry() {
	f.t.Helper()
	f.must(f.t, 200, "GET", "/dbs/shop/colls/carts/docs/3", "", "x-ms-documentdb-partitionkey", `["ben"]`)
	f.must(f.t, 200, "PUT", "/_mayfly/clock?settle=true", `{"advance":"60s"}`)
	f.must(f.t, 404, "GET", "/dbs/shop/colls/carts/docs/3", "", "x-ms-documentdb-partitionkey", `["ben"]`)
	f.must(f.t, 200, "GET", "/dbs/shop/colls/carts/docs/2", "", "x-ms-documentdb-partitionkey", `["ada"]`)
	f.received("orders/$DeadLetterQueue", "short")
	f.must(f.t, 200, "PUT", "/_mayfly/clock?settle=true", `{"advance":"1h"}`)
	if got := f.query("carts", "SELECT VALUE c.id FROM c"); got != `["4"]` {
		f.t.Errorf("alive after an hour: %s", got)
	}
	f.received("orders/$DeadLetterQueue", "long")
	f.received("orders", "later")
}

// messages receives the messages of all queues and subscriptions of the folder and checks that they are
// the expected ones.
func (f *oldDataFormatServer) messages() {
	f.t.Helper()
	for from, want := range map[string][]string{
		"orders":                  {"short", "long", "after"},
		"news/subscriptions/all":  {"red news", "blue news"},
		"news/subscriptions/red":  {"red news"},
		"orders/$DeadLetterQueue": nil,
	} {
		f.received(from, want...)
	}
}

// received receives all messages of the entity at the path from, and fails the test unless their bodies
// are want.
func (f *oldDataFormatServer) received(from string, want ...string) {
	f.t.Helper()
	if got := f.receive(from, len(want)+1); !slices.Equal(got, want) {
		f.t.Errorf("%s has %v, want %v", from, got, want)
	}
}

// receive receives and deletes up to n messages of the entity at the path from, and returns their bodies.
func (f *oldDataFormatServer) receive(from string, n int) (bodies []string) {
	f.t.Helper()
	for range n {
		req, err := http.NewRequestWithContext(f.t.Context(), "DELETE",
			"http://"+f.bus+"/"+from+"/messages/head?timeout=0", nil)
		if err != nil {
			f.t.Fatal(err)
		}
		req.Header.Set("Authorization",
			"SharedAccessSignature sr=x&sig=x&se=9999999999&skn=RootManageSharedAccessKey")
		status, body := send(f.t, client(nil), req)
		if status == http.StatusNoContent {
			return bodies
		}
		if status != http.StatusOK {
			f.t.Fatalf("receiving from %s: %d %s", from, status, body)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// query runs a query on partition range 0 of a container of the database shop, and returns its rows as a
// JSON array.
func (f *oldDataFormatServer) query(coll, text string) string {
	f.t.Helper()
	body, err := json.Marshal(map[string]string{"query": text})
	if err != nil {
		f.t.Fatal(err)
	}
	answer := f.must(f.t, 200, "POST", "/dbs/shop/colls/"+coll+"/docs", string(body),
		"x-ms-documentdb-isquery", "True",
		"Content-Type", "application/query+json", "x-ms-documentdb-query-enablecrosspartition", "True",
		"x-ms-documentdb-partitionkeyrangeid", "0")
	var page struct{ Documents json.RawMessage }
	if err := json.Unmarshal([]byte(answer), &page); err != nil {
		f.t.Fatalf("%s: %v", answer, err)
	}
	return string(page.Documents)
}

func (f *oldDataFormatServer) snapshots() (names []string) {
	f.t.Helper()
	var list struct{ Snapshots []struct{ Name string } }
	if err := json.Unmarshal([]byte(f.must(f.t, 200, "GET", "/_mayfly/snapshots", "")), &list); err != nil {
		f.t.Fatal(err)
	}
	for _, s := range list.Snapshots {
		names = append(names, s.Name)
	}
	return names
}

// unpack extracts the data folder in the archive of that name in testdata/formats and returns its path.
func unpack(t *testing.T, name string) string {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", "formats", name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for files := tar.NewReader(plain); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.FromSlash(head.Name))
		if head.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, 0o700)
		} else {
			var text []byte
			if text, err = io.ReadAll(files); err == nil {
				err = os.WriteFile(to, text, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
