package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/httpapi"
)

// commandTestCase is a command that a test runs, with the exit code and the output that it must have.
type commandTestCase struct {
	args []string
	code int
	want string // in stdout where code is 0, else in stderr
}

// runCases runs the commands in order against the server b, and fails the test if one has another exit
// code or output than its case says.
func runCases(t *testing.T, b *mayflyServerUnderTest, cases []commandTestCase) {
	t.Helper()
	for _, c := range cases {
		code, out, errs := mayfly(t, append(slices.Clone(c.args), "--url", "http://"+b.host)...)
		text := out
		if c.code != 0 {
			text = errs
		}
		if code != c.code || !strings.Contains(text, c.want) || c.code != 0 && out != "" {
			t.Errorf("%q: exit code %d, want %d with %q:\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
}

func TestDatabasesAndContainers(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	runCases(t, b, []commandTestCase{
		{[]string{"databases", "list"}, 0, ""},
		{[]string{"databases", "list", "--json"}, 0, "[]\n"},
		{[]string{"databases", "create", "shop", "--throughput", "500"}, 0, "created database shop\n"},
		{[]string{"databases", "create", "shop"}, exitFailed, "409 Conflict"},
		{[]string{"databases", "create", "späti 1"}, 0, "created database späti 1\n"},
		{[]string{"databases", "list"}, 0, "shop\nspäti 1\n"},
		{[]string{"databases", "list", "--json"}, 0, `"id": "shop"`},
		{[]string{"containers", "list", "--db", "shop"}, 0, "CONTAINER  PARTITION KEY  TTL\n"},
		{[]string{"containers", "create", "carts", "--db", "shop", "--partition-key", "/user", "--ttl", "3600", "--ranges", "3"}, 0, "created container carts\n"},
		{[]string{"containers", "create", "deep", "--db", "shop", "--partition-key", "/a", "--partition-key", "/b", "--ttl", "never"}, 0, "created"},
		{[]string{"containers", "create", "plain", "--db", "späti 1", "--partition-key", "/id",
			"--throughput", "500"}, 0, "created"},
		{[]string{"containers", "list", "--db", "shop"}, 0, "carts      /user          1h\ndeep       /a /b          never\n"},
		{[]string{"containers", "list", "--db", "späti 1"}, 0, "plain      /id            off\n"},
		{[]string{"containers", "list", "--db", "shop", "--json"}, 0, `"MultiHash"`},
		{[]string{"containers", "list"}, exitUsage, "--db"},
		{[]string{"containers", "list", "--db", "none"}, exitFailed, "404 Not Found"},
		{[]string{"containers", "create", "x", "--db", "shop", "--partition-key", "/id", "--ttl",
			"soon"}, exitUsage, "soon"},
		{[]string{"containers", "create", "x", "--db", "shop", "--partition-key", "/id", "--ttl",
			"0"}, exitFailed, "400 Bad Request"},
		{[]string{"containers", "delete", "deep", "--db", "shop"}, exitUsage, "--yes"},
		{[]string{"containers", "delete", "deep", "--db", "shop", "--yes"}, 0, "deleted container deep\n"},
		{[]string{"containers", "delete", "deep", "--db", "shop", "--yes"}, exitFailed, "404 Not Found"},
		{[]string{"databases", "delete", "späti 1"}, exitUsage, "--yes"},
		{[]string{"databases", "delete", "späti 1", "--yes"}, 0, "deleted database späti 1\n"},
		{[]string{"databases", "list"}, 0, "shop\n"},
		{[]string{"databases", "list", "--key", "bm9uZQ=="}, exitFailed, "401 Unauthorized"},
		{[]string{"databases", "list", "--key", "!"}, exitUsage, "--key"},
	})
	if got := b.must(t, 200, "GET", "/dbs/shop/colls/carts/pkranges", ""); strings.Count(got, `"minInclusive"`) != 3 {
		t.Errorf("ranges: %s", got)
	}
}

func TestGetAndPut(t *testing.T) {
	b := boot(t, "--memory")
	b.makeContainer(t)
	b.must(t, 201, "POST", "/dbs/db/colls", `{"id":"ids","partitionKey":{"paths":["/id"],"kind":"Hash","version":2}}`)
	b.must(t, 201, "POST", "/dbs/db/colls", `{"id":"deep","partitionKey":{"paths":["/a","/b/c"],"kind":"MultiHash","version":2}}`)
	at := func(verb, container string, args ...string) []string {
		return append([]string{verb, "--db", "db", "--container", container}, args...)
	}
	path := file(t, "doc.json", "{\n \"id\": \"f\", \"pk\": \"größe 𝄞\"\n}\n")
	runCases(t, b, []commandTestCase{
		{at("put", "c", `{"id":"a","pk":"p","n":1}`), 0, `"n": 1`},
		{at("put", "c", `{"id":"a","pk":"p","n":2}`), 0, `"n": 2`},
		{at("put", "c", "--create", `{"id":"a","pk":"p"}`), exitFailed, "409 Conflict"},
		{at("put", "c", "--replace", `{"id":"a","pk":"p","n":3}`), 0, `"n": 3`},
		{at("put", "c", "--replace", `{"id":"x","pk":"p"}`), exitFailed, "404 Not Found"},
		{at("put", "c", "--replace", "--if-match", `"old"`, `{"id":"a","pk":"p"}`), exitFailed, "412 "},
		{at("put", "c", "--replace", `{"pk":"p"}`), exitUsage, "no id"},
		{at("put", "c", "--replace", "--create", `{}`), exitUsage, "contradict"},
		{at("put", "c", "--if-match", "x", `{}`), exitUsage, "--replace"},
		{at("put", "c", `{"id":`), exitUsage, "the document:1:7: the text ends in the middle of a value"},
		{at("put", "c"), exitUsage, "--file"},
		{at("put", "c", "--file", path, `{}`), exitUsage, "--file"},
		{at("put", "c", "--file", path+"x"), exitFailed, "doc.jsonx"},
		{at("put", "c", "--file", path), 0, `"id": "f"`},
		{at("put", "c", "--replace", "--file", path), 0, `"id": "f"`},
		{at("put", "ids", `{"id":"x/y"}`), 0, `"x/y"`},
		{at("get", "ids", "x/y"), 0, `"x/y"`},
		{at("put", "ids", `{"id":"own é?"}`), 0, `"own é?"`},
		{at("put", "deep", `{"id":"1","a":"x","b":{"c":7}}`), 0, `"c": 7`},
		{at("put", "deep", "--replace", `{"id":"1","a":"x","b":{"c":7},"new":true}`), 0, `"new": true`},
		{at("get", "c", "a", "--partition-key", `["p"]`), 0, `"n": 3`},
		{at("get", "c", "f", "--partition-key", `["größe 𝄞"]`), 0, `"id": "f"`},
		{at("get", "c", "a"), exitUsage, "partitioned by /pk"},
		{at("get", "c", "a", "--partition-key", `[`), exitUsage, "not JSON"},
		{at("get", "c", "b", "--partition-key", `["p"]`), exitFailed, "404 Not Found"},
		{at("get", "ids", "own é?"), 0, `"own é?"`},
		{at("get", "deep", "1", "--partition-key", `["x",7]`), 0, `"new": true`},
		{[]string{"get", "a"}, exitUsage, "--container"},
	})
	t.Setenv("MAYFLY_URL", "http://"+b.host)
	t.Setenv("MAYFLY_KEY", httpapi.EmulatorKey)
	if code, out, errs := mayfly(t, at("get", "ids", "own é?")...); code != 0 || !strings.Contains(out, "own é?") {
		t.Errorf("by the variables: %d %s%s", code, out, errs)
	}
}

func TestQueryCommand(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--ranges", "3")
	b.makeContainer(t)
	const documents = 350
	for i := range documents {
		b.must(t, 201, "POST", "/dbs/db/colls/c/docs", fmt.Sprintf(`{"id":"%03d","pk":"p%d","n":%d,"text":"a\nb"}`, i, i%7, i))
	}
	at := func(args ...string) []string {
		return append([]string{"query", "--db", "db", "--container", "c"}, args...)
	}
	runCases(t, b, []commandTestCase{
		{at("SELECT c.id, c.n FROM c WHERE c.n < 2 ORDER BY c.n"), 0, "id   n\n000  0\n001  1\n\n2 rows, "},
		{at("SELECT * FROM c WHERE c.id = '007'"), 0, "id   pk  n  text"},
		{at("SELECT * FROM c WHERE c.id = '007'"), 0, `"a\nb"`},
		{at("SELECT VALUE COUNT(1) FROM c"), 0, "VALUE\n350\n\n1 row, "},
		{at("SELECT VALUE c.n FROM c WHERE c.pk = @pk AND c.n > @n", "--param", "pk=p1", "--param", "@n=340"), 0, "VALUE\n344\n\n1 row, "},
		{at("SELECT VALUE c.n FROM c WHERE c.n > 346", "--partition-key", `["p5"]`), 0, "VALUE\n348\n"},
		{at("SELECT VALUE c.n FROM c WHERE c.n > 1000"), 0, "\n0 rows, "},
		{at("SELECT VALUE c.n FROM c WHERE c.n > 1000", "--json"), 0, "[]\n"},
		{at("SELECT c.id FROM c ORDER BY c.n", "--ndjson"), 0, "{\"id\":\"000\"}\n{\"id\":\"001\"}\n"},
		{at("SELECT * FRO c"), exitFailed, "400 Bad Request"},
		{at("SELECT * FROM c", "--json", "--ndjson"), exitUsage, "exclude each other"},
		{at("SELECT * FROM c", "--partition-key", "p"), exitUsage, "not JSON"},
		{at("SELECT * FROM c", "--container", ""), exitUsage, "--container"},
	})
	url := []string{"--url", "http://" + b.host}
	_, lines, _ := mayfly(t, append(at("SELECT * FROM c", "--ndjson"), url...)...)
	if n := strings.Count(lines, "\n"); n != documents {
		t.Errorf("%d lines", n)
	}
	_, text, _ := mayfly(t, append(at("SELECT VALUE c.n FROM c ORDER BY c.n DESC", "--json"), url...)...)
	var array []int
	if err := json.Unmarshal([]byte(text), &array); err != nil || len(array) != documents || array[0] != documents-1 || array[documents-1] != 0 {
		t.Errorf("%v, %d numbers", err, len(array))
	}
	if _, table, _ := mayfly(t, append(at("SELECT c.id FROM c ORDER BY c.n"), url...)...); strings.Count(table, "id\n") != 1 || strings.Count(table, "\n") != documents+3 {
		t.Errorf("%d lines in the table:\n%s", strings.Count(table, "\n"), table)
	}
}

// TestExport checks exports of a container, to a file and to the standard output, and of a whole database,
// and imports an exported file into another server.
func TestExport(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--ranges", "3")
	b.makeContainer(t)
	b.must(t, 201, "POST", "/dbs/db/colls", `{"id":"ümlaut","partitionKey":{"paths":["/id"],"kind":"Hash","version":2}}`)
	b.must(t, 201, "POST", "/dbs/db/colls/%C3%BCmlaut/docs", `{"id":"only"}`)
	const documents = 2300
	var in strings.Builder
	for i := range documents {
		fmt.Fprintf(&in, `{"id":"%d","pk":"p%d","_ts":1700000000}`+"\n", i, i%7)
	}
	at := []string{"--db", "db", "--container", "c"}
	dir := t.TempDir()
	to, whole := filepath.Join(dir, "c.ndjson"), filepath.Join(dir, "whole")
	runCases(t, b, []commandTestCase{
		{append([]string{"import", file(t, "in.ndjson", in.String())}, at...), 0, "2300 documents imported"},
		{append([]string{"export", "--to", to}, at...), 0, ""},
		{[]string{"export", "--db", "db", "--to", whole}, 0, ""},
		{[]string{"export", "--db", "db"}, exitUsage, "--to"},
		{[]string{"export", "--container", "c"}, exitUsage, "--db"},
		{[]string{"export", "--db", "db", "--container", "none", "--to", filepath.Join(dir, "none")}, exitFailed, "404 Not Found"},
	})
	_, out, _ := mayfly(t, append([]string{"export", "--url", "http://" + b.host}, at...)...)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
	for name, want := range map[string]int{to: documents, filepath.Join(whole, "c.ndjson"): documents, filepath.Join(whole, "%C3%BCmlaut.ndjson"): 1} {
		data, err := os.ReadFile(name)
		if err != nil || strings.Count(string(data), "\n") != want {
			t.Errorf("%s: %d lines, %v", name, strings.Count(string(data), "\n"), err)
		}
		if want > 1 && string(data) != out {
			t.Errorf("%s is not what goes to the standard output", name)
		}
	}
	other := boot(t, "--memory")
	runCases(t, other, []commandTestCase{
		{[]string{"databases", "create", "db"}, 0, ""},
		{[]string{"containers", "create", "c", "--db", "db", "--partition-key", "/pk"}, 0, ""},
		{append([]string{"import", to}, at...), 0, "2300 documents imported"},
		{append([]string{"query", "SELECT VALUE COUNT(1) FROM c WHERE c._ts = 1700000000"}, at...), 0, "2300"},
	})
}
