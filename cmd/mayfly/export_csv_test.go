package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/metamorphic"
)

// TestCSV checks that documents exported as CSV and imported into another server are equal to the original
// ones, with special and random values.
func TestCSV(t *testing.T) {
	t.Parallel()
	seed := metamorphic.FirstSeed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 9))
	var in strings.Builder
	for i, text := range []string{"null", `"007"`, `7`, `"true"`, `""`, `"\""`, `"\"a\""`, `"\"a"`, `" 1 "`,
		`"NaN"`, `[1,"x"]`, `{}`, `{"a":{}}`, `{"a":{"b":[],"c":null,"":1}}`, `{"a.b":1,"c":{"d":"5"}}`,
		`{"x":{"a.b":1}}`, `{"a\r":1}`, `"\r\n"`, `"a\nb"`, `"a,b;\"c\""`, `"\ud800"`, `"\u0000"`, `"=1+1"`,
		`"<&>"`, `1e308`, `-0`, `-0.0`, `5e-324`, `9007199254740993`, `123456789012345678901234567890`,
		`"[1]"`, `"[1"`, `"\\."`, `"é😀\u2028"`} {
		fmt.Fprintf(&in, `{"id":"%d","pk":"a","v":%s,"_ts":%d}`+"\n", i, text, 1700000000+i)
	}
	for i := range 300 {
		body, err := json.Marshal(map[string]any{"id": fmt.Sprint("r", i), "pk": "b", "_ts": 1700000000 + i,
			"v": randomValue(r, 0), "w": randomValue(r, 4), fmt.Sprint("n", r.IntN(50)): randomValue(r, 6)})
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(body, '\n'))
	}
	one, two := boot(t, "--memory"), boot(t, "--memory")
	one.makeContainer(t)
	two.makeContainer(t)
	at := []string{"--db", "db", "--container", "c"}
	one.run(t, append([]string{"import", file(t, "in.ndjson", in.String())}, at...)...)
	dir := t.TempDir()
	for _, name := range []string{"a.csv", "a.csv.gz", "a.csv.zst"} {
		path := filepath.Join(dir, name)
		_, errs := one.run(t, append([]string{"export", "--format", "csv", "--to", path}, at...)...)
		if !strings.HasPrefix(errs, "334 items of c") {
			t.Error(errs)
		}
		two.run(t, append([]string{"import", path}, at...)...)
		sameDocuments(t, one, two)
	}
	out, _ := one.run(t, append([]string{"export", "--format", "csv"}, at...)...)
	if out != string(read(t, filepath.Join(dir, "a.csv"))) || !strings.HasPrefix(out, "id,pk,v,_ts,") {
		t.Errorf("to the output: %.300s", out)
	}
	if left := globbed(t, dir, "*"); len(left) != 3 {
		t.Errorf("left: %v", left)
	}
}

// sameDocuments fails the test unless the container db/c has the same documents on both servers. It
// compares JSON values, so that spelling does not matter.
func sameDocuments(t *testing.T, one, two *mayflyServerUnderTest) {
	t.Helper()
	var all [2]map[string][]byte
	for n, b := range []*mayflyServerUnderTest{one, two} {
		out, _ := b.run(t, "export", "--db", "db", "--container", "c")
		all[n] = map[string][]byte{}
		for _, line := range bytes.Split(bytes.TrimSpace([]byte(out)), []byte("\n")) {
			all[n][jsondoc.Of(line).Member("id").Str()] = line
		}
	}
	for id, want := range all[0] {
		if got := all[1][id]; got == nil || !jsondoc.Equal(jsondoc.Of(want), jsondoc.Of(got)) {
			t.Errorf("%s\nand then: %s", want, got)
		}
	}
	if len(all[0]) != len(all[1]) {
		t.Errorf("%d documents, then %d", len(all[0]), len(all[1]))
	}
}

// TestCSVOfUnsupportedDocument checks that an export to CSV fails at a document that cannot be a row, for
// example because of a member name with a dot. The error names the document, and no file is left.
func TestCSVOfUnsupportedDocument(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{`"a.b":1`: "a.b", `"a\r":1`: "carriage return",
		wide(): "4096 columns"} {
		b := boot(t, "--memory")
		b.makeContainer(t)
		b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"7","pk":"a",`+text+`}`)
		path := filepath.Join(t.TempDir(), "a.csv")
		args := []string{"export", "--db", "db", "--container", "c", "--format", "csv"}
		b.refuses(t, exitFailed, "the document 1, '7', cannot be a row of CSV", args...)
		b.refuses(t, exitFailed, why, append(args, "--to", path)...)
		if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
			t.Errorf("left: %v %v", left, err)
		}
		b.stop(t)
	}
}

// wide returns JSON members for a document that has more of them than a CSV export can have columns.
func wide() string {
	members := make([]string, 4096)
	for i := range members {
		members[i] = fmt.Sprintf(`"m%d":1`, i)
	}
	return strings.Join(members, ",")
}

// TestCSVTextColumns checks the flag --text: the columns that it lists are exported to CSV as plain text,
// without JSON quotes, and imported again as strings.
func TestCSVTextColumns(t *testing.T) {
	t.Parallel()
	one, two := boot(t, "--memory"), boot(t, "--memory")
	one.makeContainer(t)
	two.makeContainer(t)
	at := []string{"--db", "db", "--container", "c"}
	csv := append([]string{"export", "--format", "csv"}, at...)
	in := file(t, "in.ndjson", `{"id":"7","pk":"a","zip":"01234","n":1,"_ts":5}`+"\n"+
		`{"id":"8","pk":"a","zip":"\"true\"","n":"1","_ts":5}`)
	one.run(t, append([]string{"import", in}, at...)...)
	out, _ := one.run(t, append(csv, "--text", "id,zip")...)
	if out != "id,pk,zip,n,_ts\n7,a,01234,1,5\n8,a,\"\"\"true\"\"\",\"\"\"1\"\"\",5\n" {
		t.Error(out)
	}
	two.run(t, append([]string{"import", file(t, "out.csv", out), "--text", "id,zip"}, at...)...)
	sameDocuments(t, one, two)
	one.refuses(t, exitFailed, "the document 1, '7', cannot be a row of CSV: --text has the column n",
		append(csv, "--text", "n")...)
	path := filepath.Join(t.TempDir(), "a.csv")
	one.refuses(t, exitUsage, "--text names no column: none", append(csv, "--text", "none", "--to", path)...)
	one.refuses(t, exitUsage, "--text goes with", append([]string{"export", "--text", "id"}, at...)...)
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

// TestKilledCSV checks that a killed export to CSV is continued with --continue where it stopped, and that
// it cannot be continued in another format.
func TestKilledCSV(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	many(t, b, "c", 3500)
	whole, path := filepath.Join(t.TempDir(), "whole.csv"), filepath.Join(t.TempDir(), "a.csv")
	at := []string{"--db", "db", "--container", "c", "--format", "csv"}
	b.run(t, append([]string{"export", "--to", whole}, at...)...)
	killedExport(t, b, 2, append([]string{"--to", path}, at...)...)
	killedExport(t, b, 1, append([]string{"--to", path, "--continue"}, at...)...)
	b.refuses(t, exitUsage, "of the format csv", "export", "--to", path, "--db", "db", "--container", "c",
		"--continue", "--format", "ndjson")
	b.run(t, append([]string{"export", "--to", path, "--continue"}, at...)...)
	if !bytes.Equal(read(t, whole), read(t, path)) {
		t.Error("another file")
	}
	if left := globbed(t, filepath.Dir(path), "*"); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
