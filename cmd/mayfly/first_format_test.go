package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestFirstFormat checks a data folder of format 1, the oldest one: `mayfly check` reads it without
// changing it, and `mayfly serve` upgrades it and serves all its data. In this format each write has an
// LSN of its own.
func TestFirstFormat(t *testing.T) {
	t.Parallel()
	dir := unpack(t, "format-1")
	before := folder(t, dir)
	const counts = "1 database, 3 containers, 41 documents"
	checked(t, dir, counts, "format 1")
	if !maps.Equal(before, folder(t, dir)) {
		t.Error("check has changed the folder")
	}
	b := boot(t, "--data", dir, "--virtual-clock")
	f := &oldDataFormatServer{b, t, ""}
	f.documents("after")
	f.histories()
	if !slices.Contains(f.snapshots(), "before-format-3") || !strings.Contains(f.stderr.String(), "upgraded to the current format") {
		t.Errorf("snapshots %v, log:\n%s", f.snapshots(), f.stderr)
	}
	if status, text := f.do(t, "POST", "/_mayfly/snapshots/kept/restore", "{}"); status != 200 {
		t.Fatalf("restore: %d %s\n%s", status, text, f.stderr)
	}
	f.documents("")
	f.must(t, 201, "POST", "/dbs/shop/colls/carts/docs", `{"id":"later","user":"ada","code":"later"}`,
		"x-ms-documentdb-partitionkey", `["ada"]`)
	f.must(t, 204, "DELETE", "/dbs/shop/colls/carts/docs/5", "", "x-ms-documentdb-partitionkey", `["ada"]`)
	f.stop(t)
	checked(t, dir, "1 database, 3 containers, 40 documents", "format 3\n")
	checked(t, dir+"/snapshots/before-format-3", counts, "format 1")
}

// histories checks the change feeds and the log of expiries of the folder, read from the beginning and
// from LSNs that the earlier version of Mayfly has issued.
func (f *oldDataFormatServer) histories() {
	f.t.Helper()
	changes := func(coll, mode, etag string) (n int) {
		f.t.Helper()
		headers := []string{"A-IM", mode, "x-ms-documentdb-partitionkeyrangeid", "0", "x-ms-max-item-count", "1000"}
		if etag != "" {
			headers = append(headers, "If-None-Match", etag)
		}
		status, text := f.do(f.t, "GET", "/dbs/shop/colls/"+coll+"/docs", "", headers...)
		if status == 304 {
			return 0
		}
		var page struct{ Documents []json.RawMessage }
		if err := json.Unmarshal([]byte(text), &page); err != nil || status != 200 {
			f.t.Fatalf("%s of %s: %d %s", mode, coll, status, text)
		}
		return len(page.Documents)
	}
	for _, c := range []struct {
		coll, mode, etag string
		want             int
	}{
		{"carts", "Incremental Feed", "", 20}, // writes 1 to 20, the replace of 19, the delete of 20, and one more
		{"carts", "Incremental Feed", `"18"`, 2},
		{"carts", "Incremental Feed", `"23"`, 0},
		{"pictures", "Incremental Feed", `"15"`, 5},
		{"pictures", "Full-Fidelity Feed", `"15"`, 5},
	} {
		if got := changes(c.coll, c.mode, c.etag); got != c.want {
			f.t.Errorf("%s of %s behind %s: %d changes, want %d", c.mode, c.coll, c.etag, got, c.want)
		}
	}
	events := f.must(f.t, 200, "GET", "/_mayfly/dbs/shop/colls/brief/events", "")
	if strings.Count(events, `"expiredAt"`) != 2 || !strings.Contains(events, `"sequence":1280`) {
		f.t.Errorf("expiries: %s", events)
	}
}
