package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestExportOfLongNames checks that an export of a database writes one file for each container, even if
// the containers have very long names or names that differ only in case.
func TestExportOfLongNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\u00fc", 255)
	ids := []string{"carts", "Carts", "CARTS", "%2", long, long[:508] + "x", strings.Repeat("a", 255), "a b"}
	b := boot(t, "--memory")
	b.must(t, 201, "POST", "/dbs", `{"id":"db"}`)
	for _, id := range ids {
		b.must(t, 201, "POST", "/dbs/db/colls", `{"id":"`+id+`","partitionKey":{"paths":["/pk"]}}`)
	}
	to := filepath.Join(t.TempDir(), "all")
	for range 2 { // over what is there
		b.run(t, "export", "--db", "db", "--to", to)
	}
	if files := globbed(t, to, "*.ndjson"); len(files) != len(ids) {
		t.Errorf("%d files: %v", len(files), files)
	}
}
