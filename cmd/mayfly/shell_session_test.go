package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/httpapi"
)

// shelled runs statements in `mayfly shell`, given on its standard input, and returns its exit code and
// output. args are further arguments of the command.
func shelled(t *testing.T, statements string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = executeFrom(t.Context(), strings.NewReader(statements), append([]string{"shell"}, args...), &out,
		&errs)
	return code, out.String(), errs.String()
}

// TestShellWithoutContainer checks that a query in a shell without a current container fails, and that the
// error says how to choose one.
func TestShellWithoutContainer(t *testing.T) {
	t.Parallel()
	code, out, errs := shelled(t, "SELECT 1;\n")
	if code != exitUsage || out != "" || !strings.Contains(errs, `no container is chosen: \use DB/CONTAINER`) {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

// TestShellPagesOverRanges checks that the shell shows full pages of rows even if the rows come from several
// partition ranges, each of which returns few.
func TestShellPagesOverRanges(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--ranges", "4")
	b.makeContainer(t)
	for i := range 20 {
		pk := fmt.Sprintf("p%d", i)
		b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"`+pk+`","pk":"`+pk+`"}`,
			"x-ms-documentdb-partitionkey", `["`+pk+`"]`)
	}
	var out bytes.Buffer
	s := shellSession{out: &out, errs: &out, interactive: true}
	s.URL, s.Key, s.Database, s.Container = "http://"+b.host, httpapi.EmulatorKey, "db", "c"
	if err := s.query(t.Context(), "SELECT c.id FROM c"); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "\n20 rows, ") || strings.Count(text, "id\n") != 1 {
		t.Error(text)
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--virtual-clock")
	b.makeContainer(t)
	at := []string{"--url", "http://" + b.host, "--db", "db", "--container", "c"}
	dir := t.TempDir()
	written := filepath.Join(dir, "out.txt")
	script := filepath.Join(dir, "script.sql")
	write(t, script, "-- a comment\nSELECT VALUE COUNT(1)\nFROM c;\n")
	code, out, errs := shelled(t, strings.Join([]string{
		`\put {"id": "1", "pk": "ada lovelace", "n": 1, "ttl": 60}`,
		`\put {"id": "2", "pk": "ada lovelace", "n": 2}`,
		`SELECT c.id, c.n`, `FROM c`, `ORDER BY c.n DESC;`,
		`\json`,
		`\param @n = 1`,
		`\param`,
		`SELECT c.id FROM c WHERE c.n = @n`, ``,
		`\param @n`,
		`\table`,
		`\get 1 "ada lovelace"`,
		`\delete 2 ["ada lovelace"]`,
		`\explain SELECT * FROM c WHERE c.n = 1;`,
		`\clock --freeze`,
		`\dbs`, `\d`, `\d c`,
		`\i ` + script,
		`\o ` + written,
		`SELECT VALUE c.n FROM c;`,
		`\o`,
		`\use db`,
		`\use db/c`,
		`\query "SELECT VALUE c.pk FROM c" --ndjson`,
		`\?`,
		`\q`,
		`SELECT not reached`,
	}, "\n"), at...)
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s\n%s", code, errs, out)
	}
	for _, part := range []string{
		"id  n\n2   2\n1   1\n\n2 rows", `@n=1`, `{"id":"1"}`, `"pk": "ada lovelace"`,
		"index /n = 1", "frozen", "db", `"paths": [`,
		"VALUE\n1\n\n1 row", `"ada lovelace"`, `\use DB[/CONTAINER]`, `\forecast`,
	} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in\n%s", part, out)
		}
	}
	if strings.Contains(out, "reached") {
		t.Error("a statement behind \\q has run")
	}
	if text, err := os.ReadFile(written); err != nil || !strings.Contains(string(text), "VALUE\n1") {
		t.Errorf("the file has %q, %v", text, err)
	}
}

// TestShellFailures checks that the first failed statement ends a script with its exit code, and that the
// position of an error in a query is shown. With --continue the script continues.
func TestShellFailures(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	at := []string{"--url", "http://" + b.host, "--db", "db", "--container", "c"}
	code, out, errs := shelled(t, "SELECT * FROM c WHERE c.a ==== 1;\nSELECT VALUE 1;", at...)
	if code != exitFailed || strings.Contains(out, "VALUE") || strings.Count(errs, "mayfly:") != 1 {
		t.Errorf("exit code %d: %q, %q", code, out, errs)
	}
	line, caret, found := strings.Cut(errs[strings.Index(errs, "\n")+1:], "\n")
	if !found || !strings.Contains(line, "====") || len(caret) == 0 ||
		strings.Index(caret, "^") < strings.Index(line, "==") {
		t.Errorf("the place is not shown: %q", errs)
	}
	if code, out, errs := shelled(t, "\\nonsense\nSELECT VALUE 1;\n\\use nowhere\n\\get",
		append(at, "--continue")...); code != exitUsage ||
		!strings.Contains(out, "VALUE\n1") || strings.Count(errs, "mayfly:") != 3 {
		t.Errorf("exit code %d: %q, %q", code, out, errs)
	}
	for _, statement := range []string{`\put {"id": `, `\get "1`, `\shell`, `\serve`, `\i /nowhere/file`,
		`\more`, `\o /nowhere/file`, `\get 1 --partition-key '["x"]'`, `\dbs all`} {
		if code, _, errs := shelled(t, statement, at...); code == 0 || errs == "" {
			t.Errorf("%s: exit code %d, %q", statement, code, errs)
		}
	}
	if code, _, errs := shelled(t, "SELECT VALUE 1;", "--url", "http://127.0.0.1:1", "--db", "a",
		"--container", "b"); code != exitFailed ||
		!strings.Contains(errs, "nothing answers") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

func TestShellCompletes(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"1","pk":"a","price":{"net":1,"gross tax":2}}`,
		"x-ms-documentdb-partitionkey", `["a"]`)
	var s shellSession
	s.URL, s.Key = "http://"+b.host, ""
	s.Key = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
	s.Database, s.Container = "db", "c"
	for line, want := range map[string]string{
		`\us`: `\use`, `\use d`: "db", `\use db/`: "db/c", "SELECT c.pri": "c.price",
		"SELECT c.price.":     "c.price.net",
		"SELECT * FROM c WHE": "WHERE", "SELECT upp": "UPPER", "SELECT ABS(c.price.n": "c.price.net",
		`\d `: "c", `\forecast --b`: "--by",
		"SELECT c.price[": `c.price["gross tax"]`,
	} {
		if _, words, _ := s.complete(line, len([]rune(line))); !slices.Contains(words, want) {
			t.Errorf("%s: %v, want %s", line, words, want)
		}
	}
}

func TestShellSplitWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`a  b`: "a|b", `'a b' "c d"`: "a b|c d", `1 ["x y", 2] z`: `1|["x y", 2]|z`, `{"a": "}"} b`: `{"a": "}"}|b`,
		``:            "",
		`--by=day ''`: "--by=day|", `a[1]`: "a[1]",
	} {
		if got, err := splitWords(line); err != nil || strings.Join(got, "|") != want {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
}

// TestShellSuggests checks that the error for an unknown shell command suggests the command that was
// probably meant.
func TestShellSuggests(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"plan": `did you mean \explain?`, "quit": `did you mean \q?`,
		"tabel": `did you mean \table?`, "expiri": `did you mean \expiry?`, "snapshots": `did you mean \snapshot?`,
		"xyzzy": `\? lists them`, "serve": `did you mean \servers?`, "help": `did you mean \??`} {
		code, _, errs := shelled(t, `\`+name+"\n")
		if code != exitUsage || !strings.Contains(errs, `there is no command \`+name+": "+want+"\n") {
			t.Errorf("%s: %d %s", name, code, errs)
		}
	}
}

// TestPutWithoutPartitionKey checks that storing an item without a value for the partition key prints a hint.
func TestPutWithoutPartitionKey(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	at := []string{"--url", "http://" + b.host, "--db", "db", "--container", "c"}
	const hint = "hint: the item has no /pk, of which the partition key consists; it was stored under an " +
		"undefined value\n"
	for item, want := range map[string]string{`{"id":"1"}`: hint, `{"id":"2","pk":null}`: "", `{"id":"3","pk":"a"}`: ""} {
		if code, _, errs := mayfly(t, append([]string{"put", item}, at...)...); code != 0 || errs != want {
			t.Errorf("put %s: %d %q", item, code, errs)
		}
		if code, _, errs := shelled(t, `\put `+item+"\n", at...); code != 0 || errs != want {
			t.Errorf("\\put %s: %d %q", item, code, errs)
		}
	}
}
