package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSnapshot(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	b := boot(t, "--data", dir)
	b.makeContainer(t)
	b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"a","pk":"p"}`)
	snapshot := func(args ...string) (int, string, string) {
		at := []string{"--url", "http://" + b.host}
		return mayfly(t, append(append([]string{"snapshot"}, args...), at...)...)
	}
	fork := filepath.Join(t.TempDir(), "fork")
	for _, c := range []struct {
		args      string
		code      int
		out, errs string
	}{
		{"create one", 0, "one ", ""},
		{"create one", exitFailed, "", "409 Conflict"},
		{"create", exitUsage, "", "is missing"},
		{"list", 0, " db\n", ""},
		{"fork one --db db --as copy", 0, "database copy\n", ""},
		{"fork one --db db", exitUsage, "", "--as"},
		{"fork one --db db --as copy --to x", exitUsage, "", "--to"},
		{"restore one --db copy", exitFailed, "", "404 Not Found"},
		{"restore one --db db", 0, "databases: copy, db\n", ""},
		{"restore one --db db --container none", exitFailed, "", "404 Not Found"},
		{"restore one --container c", exitUsage, "", "goes with its --db"},
		{"restore one", 0, "databases: db\n", ""},
		{"restore ../one", exitUsage, "", "cannot be"},
		{"fork one --data " + dir + " --to " + fork, 0, "made " + fork + " of snapshot one\n", ""},
		{"fork one --data " + dir + " --to " + fork, exitFailed, "", "exists"},
		{"fork two --data " + dir + " --to " + fork + "2", exitFailed, "", "no such snapshot"},
		{"delete one", 0, "deleted snapshot one\n", ""},
		{"delete one", exitFailed, "", "404 Not Found"},
	} {
		code, out, errs := snapshot(strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.out) || c.out == "" && out != "" || !strings.Contains(errs, c.errs) {
			t.Errorf("%s: %d %s%s", c.args, code, out, errs)
		}
	}
	b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"b","pk":"p"}`)
	b.stop(t)
	// What was restored is found again, by check and by the next start, and the fork is a folder like any
	// other.
	for folder, want := range map[string]string{dir: "2 documents: 0 violations", fork: "1 document: 0 violations"} {
		if code, out, errs := mayfly(t, "check", folder); code != 0 || !strings.Contains(out, want) {
			t.Errorf("check %s: %d %s%s", folder, code, out, errs)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "snapshots")); err != nil || len(left) != 0 {
		t.Errorf("snapshots left: %v, %v", left, err)
	}
}
