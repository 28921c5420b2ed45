package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/metamorphic"
)

// TestImportFormats checks that the same documents can be imported as JSON lines, as a JSON array and as
// CSV, compressed or not, from a file and from a pipe.
func TestImportFormats(t *testing.T) {
	t.Parallel()
	const (
		lines = `{"id":"1","pk":"a","n":1,"o":{"x":true,"zip":"01234"}}` + "\n\n" +
			`{"id":"2","pk":"a","n":null}` + "\n"
		array = " \n [" + `{"id":"1","pk":"a","n":1,"o":{"x":true,"zip":"01234"}} ,` + "\n" +
			`{"id":"2","pk":"a","n":null}]`
		rows = "\ufeffid,pk,n,o.x,o.zip\r\n1,a,1,true,01234\r\n2,a,null,,\r\n"
	)
	zipped := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		fmt.Fprint(z, text)
		z.Close()
		return b.String()
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := func(text string) string { return string(z.EncodeAll([]byte(text), nil)) }
	for name, text := range map[string]string{
		"a.ndjson": lines, "a.json": array, "a.csv": rows, "a.ndjson.gz": zipped(lines), "b.gz": zipped(
			array),
		"a.csv.zst": packed(rows), "a.ndjson.zst": packed(lines[:20]) + packed(lines[20:]),
	} {
		b := boot(t, "--memory")
		b.makeContainer(t)
		at := []string{"import", "--url", "http://" + b.host, "--db", "db", "--container", "c", "--text",
			"id"}
		if !strings.Contains(name, "csv") {
			at = at[:len(at)-2]
		}
		path := file(t, name, text)
		code, out, errs := mayfly(t, append(at, path)...)
		if code != 0 || !strings.HasPrefix(out, "2 documents imported") {
			t.Errorf("%s: %d %s%s", name, code, out, errs)
			continue
		}
		one := jsondoc.Of([]byte(b.must(t, 200, "GET", "/dbs/db/colls/c/docs/1", "",
			"x-ms-documentdb-partitionkey", `["a"]`)))
		if string(one.Member("o").Raw()) != `{"x":true,"zip":"01234"}` ||
			string(one.Member("n").Raw()) != "1" {
			t.Errorf("%s: %s", name, one.Raw())
		}
		two := jsondoc.Of([]byte(b.must(t, 200, "GET", "/dbs/db/colls/c/docs/2", "",
			"x-ms-documentdb-partitionkey", `["a"]`)))
		if two.Member("n").Kind() != jsondoc.Null || two.Member("o").Kind() != jsondoc.Undefined {
			t.Errorf("%s: %s", name, two.Raw())
		}
		if left := globbed(t, filepath.Dir(path), "*"); len(left) != 1 {
			t.Errorf("%s: left: %v", name, left)
		}
		b.stop(t)
	}
}

// TestImportErrorPosition checks that an import that cannot read its file reports the file, the line and,
// where possible, the column of the error.
func TestImportErrorPosition(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	for _, c := range []struct {
		name, text, told string
		code             int
	}{
		{"a.csv", "id,pk\n1,a,b\n2,a\n", "a.csv:2: 3 cells", exitFailed},
		{"a.csv", "id,pk,o,o.x\n1,a,5,6\n", "a.csv:2:7: the column o", exitFailed},
		{"a.csv", "id,pk\n\"1,a\n", "a.csv:2:6: extraneous or missing \" in quoted-field", exitFailed},
		{"a.csv", "id;pk\n1;a\n", `a.csv:1: the first row is one cell, "id;pk": cells are divided by commas`,
			exitFailed},
		{"a.json", `[{"id":"1","pk":"a"}, nonsense]`,
			"a.json:1:24: this is not JSON: invalid character 'o' in literal null", exitFailed},
		{"a.csv", "id,pk,pk\n1,a,b\n", "a.csv:1:7: two columns have the name 'pk'", exitFailed},
		{"a.json", `[{"id":"1","pk":"a"}`, "does not end", exitFailed},
		{"a.json", `[{"id":"1","pk":"a"},`, "does not end", exitFailed},
		{"a.json", `[{"id":"1","pk":"a"}] [{"id":"2","pk":"a"}]`, "follows", exitFailed},
		{"a.json", `[{"id":"1","pk":"a"}]]`, "follows", exitFailed},
		{"a.json", "{\"id\":\"1\",\"pk\":\"a\"}\nnonsense\n{\"id\":\"2\",\"pk\":\"a\"}",
			"a.json:2:2: this is not JSON", exitFailed},
		{"a.gz", "\x1f\x8bno", "a.gz: ", exitFailed},
	} {
		code, _, errs := mayfly(t, "import", "--url", "http://"+b.host, "--db", "db", "--container", "c",
			file(t, c.name, c.text))
		if code != c.code || !strings.Contains(errs, c.told) {
			t.Errorf("%s: %d %s", c.text, code, errs)
		}
	}
	for _, args := range [][]string{{"--format", "xml", "a"}, {"-", "--continue"}} {
		if code, _, errs := mayfly(t,
			append([]string{"import", "--url", "http://" + b.host, "--db", "db", "--container", "c"},
				args...)...); code != exitUsage {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
}

// TestExportFormatByFileName checks that `mayfly export` chooses the format by the ending of the file name,
// unless --format is given.
func TestExportFormatByFileName(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"007","pk":"a"}`)
	for name, begin := range map[string]string{
		"a.csv": "id,pk,_ts\n007,a,", "a.CSV": "id,pk,_ts\n007,a,", "a.json": "[\n{", "a.ndjson": `{"id"`,
		"a.txt": `{"id"`, "ndjson of.csv": `{"id"`,
	} {
		path := filepath.Join(t.TempDir(), name)
		args := []string{"export", "--db", "db", "--container", "c", "--to", path}
		if format, _, given := strings.Cut(name, " of"); given {
			args = append(args, "--format", format)
		}
		b.run(t, args...)
		if text := string(read(t, path)); !strings.HasPrefix(text, begin) {
			t.Errorf("%s: %s", name, text)
		}
	}
	path := filepath.Join(t.TempDir(), "a.csv.gz")
	b.run(t, "export", "--db", "db", "--container", "c", "--to", path)
	if out, _ := b.run(t, "import", path, "--db", "db", "--container", "c"); out != "1 document imported\n" {
		t.Error(out)
	}
}

// TestCSVIDsAreStrings checks that the column id of a CSV file is imported as strings even if the values look
// like numbers or booleans, without --text.
func TestCSVIDsAreStrings(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	path := file(t, "a.csv", "id,pk,n\n1,a,1\n007,a,2\ntrue,a,3\n\"\"\"8\"\"\",a,4\n\"\"\"half\",a,5\n")
	out, _ := b.run(t, "import", path, "--db", "db", "--container", "c")
	if !strings.HasPrefix(out, "5 documents imported") {
		t.Error(out)
	}
	out, _ = b.run(t, "query", "SELECT VALUE c.id FROM c ORDER BY c.n", "--ndjson", "--db", "db",
		"--container", "c")
	if out != "\"1\"\n\"007\"\n\"true\"\n\"8\"\n\"\\\"half\"\n" {
		t.Error(out)
	}
}

// TestRoundTripOfEachFormat checks that documents exported in each format, imported into another server and
// exported again are the same.
func TestRoundTripOfEachFormat(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	many(t, b, "c", 2300)
	dir := t.TempDir()
	at := []string{"--url", "http://" + b.host, "--db", "db", "--container", "c"}
	plain := filepath.Join(dir, "first.ndjson")
	run := func(b *mayflyServerUnderTest, args ...string) {
		t.Helper()
		if code, out, errs := mayfly(t, args...); code != 0 {
			t.Fatalf("%v: %d %s%s", args, code, out, errs)
		}
	}
	run(b, append([]string{"export", "--to", plain}, at...)...)
	for _, form := range []string{"x.ndjson.gz", "x.ndjson.zst", "x.json", "x.json.zst"} {
		path := filepath.Join(dir, form)
		format := "ndjson"
		if strings.Contains(form, ".json") {
			format = "json"
		}
		run(b, append([]string{"export", "--to", path, "--format", format}, at...)...)
		other := boot(t, "--memory")
		other.makeContainer(t)
		there := []string{"--url", "http://" + other.host, "--db", "db", "--container", "c"}
		run(other, append([]string{"import", path}, there...)...)
		again := filepath.Join(dir, form+".again")
		run(other, append([]string{"export", "--to", again}, there...)...)
		if !bytes.Equal(read(t, again), read(t, plain)) {
			t.Errorf("%s: another export", form)
		}
		other.stop(t)
	}
}

// TestKilledImport kills an import several times and continues it with --continue, and checks that each
// run continues where the previous one stopped.
func TestKilledImport(t *testing.T) {
	t.Parallel()
	seed := metamorphic.FirstSeed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 31))
	b := boot(t, "--memory")
	b.makeContainer(t)
	const documents = 5000
	var in strings.Builder
	for i := range documents {
		fmt.Fprintf(&in, `{"id":"%d","pk":"p%d","_ts":%d}`+"\n", i, i%7, 1700000000+i)
	}
	path := file(t, "in.ndjson", in.String())
	args := []string{"import", path, "--continue", "--create", "--url", "http://" + b.host, "--db", "db",
		"--container", "c"}
	ended := false // before the kill: on a busy machine who looks how far it has come may be late
	for stop := 0; stop < documents-1500 && !ended; {
		stop += r.IntN(1200) + 1
		proc := exec.Command(os.Args[0], args...)
		if err := proc.Start(); err != nil {
			t.Fatal(err)
		}
		for counted := 0; counted < stop; {
			answer := b.must(t, 200, "POST", "/dbs/db/colls/c/docs",
				`{"query":"SELECT VALUE COUNT(1) FROM c"}`,
				"Content-Type", "application/query+json", "x-ms-documentdb-isquery", "true",
				"x-ms-documentdb-query-enablecrosspartition", "true", "x-mayfly-serve-cross-partition", "true")
			jsondoc.Of([]byte(answer)).Member("Documents").Each(func(_ string, v jsondoc.Value) bool {
				counted = int(v.Num())
				return true
			})
		}
		_ = proc.Process.Kill()
		ended = proc.Wait() == nil
	}
	if !ended {
		code, out, errs := mayfly(t, args...)
		if want := fmt.Sprintf("%d documents imported", documents); code != 0 || !strings.HasPrefix(out, want) {
			t.Errorf("%d %s%s", code, out, errs)
		}
	}
	to := filepath.Join(t.TempDir(), "out")
	if code, _, errs := mayfly(t, "export", "--to", to, "--url", "http://"+b.host, "--db", "db",
		"--container", "c"); code != 0 {
		t.Fatal(errs)
	}
	if got := string(read(t, to)); got != in.String() {
		t.Errorf("%d lines of %d, or another order", strings.Count(got, "\n"), documents)
	}
	if _, err := os.Stat(path + ".imported"); err == nil {
		t.Error("the note is left")
	}
}

// TestExportAsSeed checks that an export of a whole store is a valid seed, and that a server started
// with this seed exports the same files.
func TestExportAsSeed(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	many(t, b, "c", 1200)
	b.must(t, 201, "POST", "/dbs", `{"id":"empty"}`)
	b.must(t, 201, "POST", "/dbs", `{"id":"the shop"}`)
	b.must(t, 201, "POST", "/dbs/the%20shop/colls", `{"id":"carts","defaultTtl":2147483647,
		"partitionKey":{"paths":["/tenant","/user"],"kind":"MultiHash","version":2},
		"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/number"]}]},
		"indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/pad/?"}],
		"compositeIndexes":[[{"path":"/a"},{"path":"/b","order":"descending"}]]}}`)
	b.must(t, 201, "POST", "/dbs/the%20shop/colls/carts/sprocs",
		`{"id":"hello","body":"function () { /* é */ }"}`)
	b.must(t, 201, "POST", "/dbs/the%20shop/colls/carts/triggers",
		`{"id":"pre","body":"function () {}","triggerType":"Pre","triggerOperation":"All"}`)
	b.must(t, 201, "POST", "/dbs/the%20shop/colls/carts/docs",
		`{"id":"1","tenant":"t","user":"u","number":9007199254740993,"ttl":86400,"x":[1e-7,"\u0000é"]}`,
		"x-ms-documentdb-partitionkey", `["t","u"]`)
	one, two := t.TempDir(), t.TempDir()
	if code, _, errs := mayfly(t, "export", "--to", one, "--url", "http://"+b.host); code != 0 {
		t.Fatal(errs)
	}
	other := boot(t, "--memory", "--seed", one)
	if code, _, errs := mayfly(t, "export", "--to", two, "--url", "http://"+other.host); code != 0 {
		t.Fatal(errs)
	}
	files := 0
	err := filepath.WalkDir(one, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		again := filepath.Join(two, strings.TrimPrefix(path, one))
		if got, want := string(read(t, again)), string(read(t, path)); got != want {
			t.Errorf("%s: %s\nwas %s", again, got, want)
		}
		return nil
	})
	if err != nil || files != 7 {
		t.Errorf("%d files, %v", files, err)
	}
	if text := string(read(t, filepath.Join(one, "the shop", "carts", "items.ndjson"))); !strings.Contains(
		text, `"ttl":86400`) ||
		!strings.Contains(text, "9007199254740993") {
		t.Error(text)
	}
}
