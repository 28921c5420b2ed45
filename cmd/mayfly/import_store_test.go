package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/seed"
)

// everything is the path of a seed file that uses every member of the format.
const everything = "../../internal/seed/testdata/everything.yaml"

// run runs a command of mayfly against the server, returns its standard output and standard error, and
// fails the test if the command fails.
func (b *mayflyServerUnderTest) run(t *testing.T, args ...string) (out, errs string) {
	t.Helper()
	code, out, errs := mayfly(t, append(args, "--url", "http://"+b.host)...)
	if code != 0 {
		t.Fatalf("%v: %d %s%s", args, code, out, errs)
	}
	return out, errs
}

// refuses runs a command of mayfly against the server and fails the test unless the command ends with this
// exit code and an error that contains text.
func (b *mayflyServerUnderTest) refuses(t *testing.T, code int, text string, args ...string) {
	t.Helper()
	got, out, errs := mayfly(t, append(args, "--url", "http://"+b.host)...)
	if got != code || !strings.Contains(errs, text) {
		t.Errorf("%v: %d %s%s\nnot %d %s", args, got, out, errs, code, text)
	}
}

// stocked returns a server with the content of the seed file at the path everything, which uses every member
// of the format, and with the given number of documents in the container db/c.
func stocked(t *testing.T, documents int) *mayflyServerUnderTest {
	t.Helper()
	b := boot(t, "--memory")
	b.run(t, "import", everything)
	b.makeContainer(t)
	many(t, b, "c", documents)
	return b
}

// exported exports all data of the server to a new folder and returns its path.
func (b *mayflyServerUnderTest) exported(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "export")
	b.run(t, "export", "--to", dir)
	return dir
}

// sameFolders fails the test unless the two folders have the same files with the same bytes. It returns
// the number of files.
func sameFolders(t *testing.T, want, got string) (files int) {
	t.Helper()
	texts := map[string]map[string]string{}
	for _, dir := range []string{want, got} {
		texts[dir] = map[string]string{}
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				texts[dir][strings.TrimPrefix(path, dir)] = string(read(t, path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range texts[want] {
		if texts[got][name] != text {
			t.Errorf("%s: %.2000s\nand then: %.2000s", name, text, texts[got][name])
		}
	}
	if len(texts[got]) != len(texts[want]) {
		t.Errorf("%d files, then %d", len(texts[want]), len(texts[got]))
	}
	return len(texts[want])
}

// TestStoreRoundTrip exports a whole store, imports it into another server and exports it again. The two
// exports are the same byte for byte: definitions, policies, settings, scripts, users, throughput, queues
// and documents.
func TestStoreRoundTrip(t *testing.T) {
	t.Parallel()
	one, two := stocked(t, 1200), boot(t, "--memory")
	first := one.exported(t)
	out, errs := two.run(t, "import", first)
	if !strings.HasPrefix(out, "1200 documents imported, 0 were there") {
		t.Errorf("%s%s", out, errs)
	}
	if files := sameFolders(t, first, two.exported(t)); files != 18 {
		t.Errorf("%d files", files)
	}
	out, _ = two.run(t, "import", first, "--json")
	const nothing = `{"changed":0,"imported":0,"made":0,"refused":0,"there":1200}`
	if strings.Join(strings.Fields(out), "") != nothing {
		t.Errorf("a second time: %s", out)
	}
	one.run(t, "import", first) // what it has itself differs in nothing
	started := boot(t, "--memory", "--seed", first)
	sameFolders(t, first, started.exported(t))
	if code, out, errs := mayfly(t, "seed", "check", first); code != 0 {
		t.Errorf("%s%s", out, errs)
	}
}

// TestImportWithConflictingDefinitions: an import whose definitions differ from the store's is refused before
// anything is written. A document that differs from the stored one is refused alone.
func TestImportWithConflictingDefinitions(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	const text = `databases: [{id: db, containers: [{id: c, partitionKey: /pk, defaultTtl: 1000000000,
documents: [{id: a, pk: x, n: 1}, {id: b, pk: y, _ts: 1700000000}, {id: d, pk: z, _mayfly: {age: 5m}}]}]}]
queues: [{name: q, maxDeliveryCount: 5}]`
	path := file(t, "seed.yaml", text)
	b.run(t, "import", path)
	b.run(t, "import", path)
	other := func(old, new string) string { return file(t, "seed.yaml", strings.Replace(text, old, new, 1)) }
	b.refuses(t, exitFailed, "seed.yaml:1:35: the container 'db/c' exists with a different defaultTtl",
		"import", other("Ttl: 1", "Ttl: 2"))
	two := strings.NewReplacer("databases: [", "databases: [{id: new}, ", "Count: 5",
		"Count: 6").Replace(text)
	b.refuses(t, exitFailed, "seed.yaml:3:11: 'q' exists with a different MaxDeliveryCount", "import",
		file(t, "seed.yaml", two))
	b.must(t, 404, "GET", "/dbs/new", "")
	n, ts := other("n: 1", "n: 2"), other("_ts: 17", "_ts: 16")
	for _, path := range []string{n, ts} {
		b.refuses(t, exitFailed, ": the document is there already, and another one", "import",
			path)
		b.refuses(t, exitFailed, "1 document was refused, 0 imported", "import", path)
	}
	b.run(t, "import", n, "--replace")
	b.run(t, "import", n)
	b.refuses(t, exitFailed, "another one", "import", path)
	unique := file(t, "unique.yaml", `databases: [{id: u, containers: [{id: c, partitionKey: /pk,
uniqueKeyPolicy: {uniqueKeys: [{paths: [/n]}]}, documents: [{id: a, pk: x, n: 1}]}]}]`)
	b.run(t, "import", unique)
	b.refuses(t, exitFailed, "unique.yaml:2:61: 409", "import", file(t, "unique.yaml",
		strings.Replace(string(read(t, unique)), "id: a", "id: b", 1)))
	b.refuses(t, exitFailed, "another partition key", "import", other("/pk", "/id"), "--replace")
	if left := globbed(t, filepath.Dir(path), "*"); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// TestExportPathTraversal checks that `mayfly export` writes no file outside of its folder, even if a
// malicious server returns paths with "..".
func TestExportPathTraversal(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{`{"files":{"../x/db.json":"{}"},"folders":[]}`,
		`{"files":{},"folders":[{"database":"db","container":"c","path":"../x"}]}`} {
		evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			fmt.Fprint(w, answer)
		}))
		t.Cleanup(evil.Close)
		dir := t.TempDir()
		code, out, errs := mayfly(t, "export", "--to", filepath.Join(dir, "to"), "--url", evil.URL)
		if code != exitFailed || !strings.Contains(errs, "outside of the folder") {
			t.Errorf("%s: %d %s%s", answer, code, out, errs)
		}
		if made := globbed(t, dir, "*"); len(made) != 1 {
			t.Errorf("%s: %v", answer, made)
		}
	}
}

// TestImportComparesNumbersExactly checks that an import compares numbers exactly: documents with different
// integers beyond 2^53 differ, although the integers are equal as float64.
func TestImportComparesNumbersExactly(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	const text = `databases: [{id: db, containers: [{id: c, partitionKey: /pk,
documents: [{id: a, pk: x, n: [{m: 9007199254740993}]}]}]}]`
	b.run(t, "import", file(t, "seed.yaml", text))
	b.run(t, "import", file(t, "seed.yaml", strings.Replace(text, "x, n", "x,  n", 1)))
	b.refuses(t, exitFailed, "another one", "import",
		file(t, "seed.yaml", strings.Replace(text, "40993", "40992", 1)))
}

// TestExportWithClockAhead checks an export of a server whose virtual clock is ahead: export prints the
// time of the clock, a server with a virtual clock can start from the export, and an import needs the
// clock to be moved first.
func TestExportWithClockAhead(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--virtual-clock")
	b.makeContainer(t)
	b.run(t, "clock", "--advance", "1d")
	b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"7","pk":"a"}`)
	dir := filepath.Join(t.TempDir(), "export")
	_, errs := b.run(t, "export", "--to", dir)
	_, after, _ := strings.Cut(errs, "`mayfly clock --set ")
	moment, _, found := strings.Cut(after, "`")
	if !found {
		t.Fatal(errs)
	}
	if code, out, errs := mayfly(t, "seed", "check", dir); code != 0 {
		t.Errorf("%s%s", out, errs)
	}
	started := boot(t, "--memory", "--virtual-clock", "--seed", dir)
	sameFolders(t, dir, started.exported(t))
	other := boot(t, "--memory", "--virtual-clock")
	other.refuses(t, exitFailed, "A virtual clock can be moved there first", "import", dir)
	other.run(t, "clock", "--set", moment)
	other.run(t, "import", dir, "--replace")
	sameFolders(t, dir, other.exported(t))
}

// TestExportWarnsOfOmissions checks that an export warns of what it does not contain or an import would
// misread: messages, snapshots, fault rules, and items with a member _mayfly.
func TestExportWarnsOfOmissions(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"7","pk":"a","_mayfly":{"age":"5m"}}`)
	b.run(t, "queue", "create", "orders")
	b.run(t, "queue", "send", "orders", "text")
	b.run(t, "snapshot", "create", "kept")
	b.must(t, 201, "POST", "/_mayfly/faults", `{"fault":"429","operations":["createItem"]}`)
	_, errs := b.run(t, "export", "--to", filepath.Join(t.TempDir(), "export"))
	for _, text := range []string{"the item '7' has a member _mayfly", "1 message of the queue 'orders'",
		"the snapshot 'kept'", "the fault on demand 'f1'"} {
		if !strings.Contains(errs, text) {
			t.Errorf("%s is not told: %s", text, errs)
		}
	}
}

// TestImportOfInvalidFolder checks that an import of a folder that is not a seed, or is incomplete or
// invalid, fails with the reason and stores nothing.
func TestImportOfInvalidFolder(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	good := b.exported(t)
	broken := func(name, text string) string {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	secret := broken("db/c/secret.ndjson", "{}")
	if err := os.Chmod(filepath.Join(secret, "db/c/secret.ndjson"), 0); err != nil {
		t.Fatal(err)
	}
	const halfLine = "{\"id\":\"1\",\"pk\":\"\"}\n{\"id\""
	files := filepath.Join(t.TempDir(), "files")
	b.run(t, "export", "--db", "db", "--to", files)
	for what, c := range map[string]struct {
		args []string
		code int
		text string
	}{
		"empty":           {[]string{t.TempDir()}, exitFailed, "there is no seed here"},
		"not there":       {[]string{filepath.Join(t.TempDir(), "none")}, exitFailed, "none"},
		"a database's":    {[]string{filepath.Join(good, "db")}, exitFailed, "the folder of a database must"},
		"files":           {[]string{files}, exitFailed, "there is no seed here"},
		"half an export":  {[]string{broken(seed.UnfinishedMarker, "")}, exitFailed, "was not completed"},
		"half a file":     {[]string{broken("db/c/container.json", `{"p`)}, exitFailed, "container.json:1:"},
		"half a line":     {[]string{broken("db/c/items.ndjson", halfLine)}, exitFailed, "2:6: the text"},
		"stray":           {[]string{broken("db/x.json", `{}`)}, exitFailed, "x.json"},
		"with a database": {[]string{good, "--db", "db"}, exitUsage, "leave out --db"},
		"with --create":   {[]string{good, "--create"}, exitUsage, "--create"},
		"--replace alone": {[]string{everything, "--db", "db", "--replace"}, exitUsage, "--replace"},
		"documents":       {[]string{file(t, "a.json", `[{"id":"1"}]`)}, exitFailed, "--db and --container"},
		"lines":           {[]string{file(t, "a.ndjson", `{"id":"1"}`)}, exitUsage, "--db and --container"},
	} {
		got, out, errs := mayfly(t, append([]string{"import", "--url", "http://" + b.host}, c.args...)...)
		if got != c.code || !strings.Contains(errs, c.text) {
			t.Errorf("%s: %d %s%s", what, got, out, errs)
		}
	}
	if os.Geteuid() != 0 { // who may read everything
		b.refuses(t, exitDisk, "secret.ndjson", "import", secret)
	}
	b.refuses(t, exitUsage, "is not empty", "export", "--to", good)
	b.refuses(t, exitUsage, "has no export", "export", "--to", good, "--continue")
	b.refuses(t, exitUsage, "--continue goes on", "export", "--to", broken(seed.UnfinishedMarker, ""))
}

// TestLargeDefinitions checks that the definitions in a seed, here stored procedures, can be much larger
// than the maximum size of a document.
func TestLargeDefinitions(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("databases:\n - id: db\n   containers:\n")
	for i := range 12 {
		const one = "    - {id: c%d, partitionKey: /pk, storedProcedures: [{id: p, body: 'f();//%s'}]}\n"
		fmt.Fprintf(&text, one, i, strings.Repeat("x", 1<<20))
	}
	b := boot(t, "--memory")
	b.run(t, "import", file(t, "large.yaml", text.String()))
	if out, _ := b.run(t, "containers", "list", "--db", "db"); strings.Count(out, "/pk") != 12 {
		t.Error(out)
	}
	sameFolders(t, b.exported(t), b.exported(t))
}
