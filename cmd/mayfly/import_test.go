package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// file writes text to a new file with the given name in a temporary folder, and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// moreThanProgress reports whether errs, the standard error of an import, contains a line that is not a
// progress line. Slow imports print progress lines.
func moreThanProgress(errs string) bool {
	for line := range strings.Lines(errs) {
		if !strings.HasPrefix(line, "importing: ") {
			return true
		}
	}
	return false
}

func TestImportCommand(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--virtual-clock")
	b.makeContainer(t)
	if code, _, errs := mayfly(t, "clock", "--url", "http://"+b.host, "--freeze", "--set",
		"2090-01-01T00:00:00Z"); code != 0 {
		t.Fatal(errs)
	}
	imported := func(args ...string) (int, string, string) {
		return mayfly(t, append([]string{"import", "--url", "http://" + b.host, "--db", "db", "--container",
			"c"}, args...)...)
	}
	read := func(id string) jsondoc.Value {
		return jsondoc.Of([]byte(b.must(t, 200, "GET", "/dbs/db/colls/c/docs/"+id, "",
			"x-ms-documentdb-partitionkey", `["x"]`)))
	}
	const now = 3786912000
	var lines strings.Builder
	lines.WriteString(`{"id":"aged","pk":"x","_mayfly":{"age":"29d"}}` + "\r\n\n" +
		`  {"id":"old","pk":"x","_ts":1700000000}` + "\n")
	for i := range 250 {
		fmt.Fprintf(&lines, `{"id":"n%d","pk":"x","pad":"%s"}`+"\n", i, strings.Repeat("p", 9000))
	}
	path := file(t, "docs.jsonl", strings.TrimSuffix(lines.String(), "\n"))
	for range 2 { // once more changes nothing
		if code, out, errs := imported(path); code != 0 || !strings.HasPrefix(out, "252 documents imported") ||
			moreThanProgress(errs) {
			t.Fatalf("%d %s%s", code, out, errs)
		}
	}
	if ts := read("aged").Member("_ts").Num(); ts != now-29*24*3600 {
		t.Errorf("_ts %.0f", ts)
	}
	if ts := read("old").Member("_ts").Num(); ts != 1700000000 {
		t.Errorf("_ts %.0f", ts)
	}
	if ts := read("n249").Member("_ts").Num(); ts != now {
		t.Errorf("_ts %.0f", ts)
	}
	if code, out, errs := imported("--create", path); code != exitFailed || out != "" ||
		!strings.Contains(errs, "docs.jsonl:1: 409 ") ||
		!strings.Contains(errs, "more documents were refused\n") ||
		!strings.Contains(errs, "252 documents were refused, 0 imported") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	bad := file(t, "bad.jsonl", `{"id":"good","pk":"x"}`+"\n{\n[]\n"+
		`{"id":"b","pk":"x","_mayfly":{"expiresIn":"5m"}}`+"\n"+`{"id":"good2","pk":"x"}`)
	code, out, errs := imported(bad)
	for _, want := range []string{"bad.jsonl:2:2: the text ends in the middle of a value\n",
		"bad.jsonl:3: 400 ", "bad.jsonl:4: 400 ",
		"3 documents were refused, 2 imported"} {
		if code != exitFailed || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%q is missing: %d %s%s", want, code, out, errs)
		}
	}
	read("good2")
	for name, c := range map[string]struct {
		args []string
		code int
		text string
	}{
		"no file":           {[]string{path + "x"}, exitFailed, "docs.jsonlx"},
		"unknown container": {[]string{"--container", "none", path}, exitFailed, "docs.jsonl:1: "},
		"no container":      {[]string{"--container", "", path}, exitUsage, "--container"},
		"no argument":       {nil, exitUsage, "is missing"},
	} {
		if code, out, errs := imported(c.args...); code != c.code || !strings.Contains(errs, c.text) ||
			out != "" {
			t.Errorf("%s: %d %s%s", name, code, out, errs)
		}
	}
}

const shopSeed = `{
  "databases": [
    {"id": "shop", "throughput": 500, "containers": [
      {"id": "carts", "partitionKey": {"paths": ["/user"]}, "defaultTtl": 3600, "throughput": {"maxThroughput": 4000},
       "documents": [
         {"id": "1", "user": "ann"},
         {"id": "2", "user": "ben", "_mayfly": {"age": "50m"}}
       ]},
      {"id": "plain", "partitionKey": {"paths": ["/id"]}}
    ]},
    {"id": "empty"}
  ]
}`

func TestServeWithSeed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := file(t, "shop.json", shopSeed)
	for round := range 2 {
		b := boot(t, "--data", dir, "--seed", path)
		carts := func(want int, method, id, body string) jsondoc.Value {
			t.Helper()
			return jsondoc.Of([]byte(b.must(t, want, method, "/dbs/shop/colls/carts/docs"+id, body,
				"x-ms-documentdb-partitionkey", `["ann"]`)))
		}
		ben := jsondoc.Of([]byte(b.must(t, 200, "GET", "/dbs/shop/colls/carts/docs/2", "",
			"x-ms-documentdb-partitionkey", `["ben"]`)))
		b.must(t, 200, "GET", "/dbs/shop/colls/plain", "")
		b.must(t, 200, "GET", "/dbs/empty", "")
		if round == 0 {
			if age := carts(200, "GET", "/1", "").Member("_ts").Num() - ben.Member("_ts").Num(); age < 2990 ||
				age > 3010 {
				t.Errorf("the second document is %.0f seconds older, not 50 minutes", age)
			}
			carts(200, "PUT", "/1", `{"id":"1","user":"ann","changed":true}`)
		} else if !carts(200, "GET", "/1", "").Member("changed").Bool() {
			t.Error("the second start has brought a document back that was changed")
		}
		b.stop(t)
	}
	folder := t.TempDir()
	for name, id := range map[string]string{"a.json": "first", "b.json": "second", "c.txt": "{"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(`{"databases":[{"id":"`+id+`"}]}`),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := boot(t, "--memory", "--seed", folder)
	var ids []string
	jsondoc.Of([]byte(b.must(t, 200, "GET", "/dbs", ""))).Member("Databases").Each(func(_ string,
		d jsondoc.Value) bool {
		ids = append(ids, d.Member("id").Str())
		return true
	})
	if fmt.Sprint(ids) != "[first second]" {
		t.Error(ids)
	}
}

// TestSeedErrorPosition checks that an error in a seed is reported with file and line, and that nothing of
// the seed is imported.
func TestSeedErrorPosition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, where, what string }{
		{`"databases"`, `"database"`, ":2:", `'database' is not known here: did you mean 'databases'?`},
		{`"id": "empty"`, `"name": "empty"`, ":11:", `'name' is not known here`},
		{`{"id": "empty"}`, `{}`, ":11:", "no id"},
		{`{"id": "empty"}`, `5`, ":11:", "an object is expected here"},
		{`"id": "empty"`, `"id": 7`, ":11:", "a string is expected here"},
		{`"id": "empty"`, `"id": "e", "id": "f"`, ":11:17:", "a second time"},
		{`"throughput": 500`, `"throughput": "much"`, ":3:", "a throughput must be"},
		{`"maxThroughput"`, `"max"`, ":4:", "a throughput must be"},
		{`"defaultTtl": 3600`, `"defaultTtl": 0`, ":4:", "0"},
		{`"defaultTtl"`, `"timeToLive"`, ":4:", "timeToLive"},
		{`{"id": "1", "user": "ann"},`, `{"id": "1", "user": "ann"}`, ":7:", "invalid character"},
		{`"age": "50m"`, `"age": "long"`, ":7:", "duration"},
		{`"age"`, `"old"`, ":7:", "'old' is not known"},
		{`"_mayfly": {"age": "50m"}`, `"_ts": 9999999999`, ":7:", "future"},
		{`{"id": "1", "user": "ann"}`, `{"user": "ann"}`, ":6:", "id"},
		{`"paths": ["/id"]`, `"paths": []`, ":9:", ""},
		{`    {"id": "empty"}`, "    {\"id\": \"shop\", \"containers\": [\n {\"id\": \"plain\", \"partitionKey\": {\"paths\": [\"/other\"]}}]}", ":12:", "another partition key"},
	} {
		if !strings.Contains(shopSeed, c.old) {
			t.Fatalf("%s is not in the seed", c.old)
		}
		path := file(t, "shop.json", strings.Replace(shopSeed, c.old, c.new, 1))
		code, out, errs := mayfly(t, "serve", "--memory", "--port", "0", "--seed", path)
		if code != exitFailed || out != "" || !strings.Contains(errs, "shop.json"+c.where) ||
			!strings.Contains(errs, c.what) {
			t.Errorf("%s: %d %s%s", c.new, code, out, errs)
		}
	}
	for _, path := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if code, _, errs := mayfly(t, "serve", "--memory", "--port", "0", "--seed",
			path); code != exitFailed || !strings.Contains(errs, path) {
			t.Errorf("%d %s", code, errs)
		}
	}
}
