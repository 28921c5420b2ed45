package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReset checks that `mayfly reset` restores the documents, the clock and the fault rules that a server
// had after its start with a seed, and can be repeated.
func TestReset(t *testing.T) {
	t.Parallel()
	dir, seed := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "seed.json")
	if err := os.WriteFile(seed, []byte(`{"databases":[{"id":"db","containers":[{"id":"c",
		"partitionKey":{"paths":["/pk"]},"documents":[{"id":"a","pk":"p"}]}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, where := range [][]string{{"--memory"}, {"--data", dir}, {"--data", dir}} {
		b := boot(t, append(where, "--seed", seed, "--virtual-clock")...)
		const docs, pk = "/dbs/db/colls/c/docs", `["p"]`
		_, before := b.do(t, "GET", "/_mayfly/clock", "")
		for range 2 {
			b.must(t, 201, "POST", docs, `{"id":"b","pk":"p"}`)
			b.must(t, 201, "POST", "/dbs", `{"id":"more"}`)
			b.must(t, 200, "PUT", "/_mayfly/clock", `{"advance":"24h"}`)
			b.must(t, 201, "POST", "/_mayfly/faults", `{"fault":"429","operations":["createItem"],"count":9}`)
			b.must(t, 200, "PUT", "/_mayfly/reaper", `{"paused":true}`)
			code, out, errs := mayfly(t, "reset", "--url", "http://"+b.host)
			if code != 0 || out != "databases: db\n" {
				t.Fatalf("%v: reset: %d %s%s", where, code, out, errs)
			}
			_, after := b.do(t, "GET", "/_mayfly/clock", "")
			if clockNow(t, after).Sub(clockNow(t, before)) > time.Hour {
				t.Errorf("%v: the clock is %s, it was %s", where, after, before)
			}
			if _, reaper := b.do(t, "GET", "/_mayfly/reaper", ""); !strings.Contains(reaper,
				`"paused":false`) {
				t.Errorf("%v: the reaper is still paused: %s", where, reaper)
			}
		}
		b.must(t, 201, "POST", docs, `{"id":"b","pk":"p"}`)
		if code, out, errs := mayfly(t, "reset", "--json", "--url", "http://"+b.host); code != 0 ||
			!strings.Contains(out, `"db"`) {
			t.Errorf("%v: reset --json: %d %s%s", where, code, out, errs)
		}
		b.stop(t)
	}
	if code, out, _ := mayfly(t, "check", dir); code != 0 ||
		!strings.Contains(out, "1 document: 0 violations") {
		t.Errorf("check: %d %s", code, out)
	}
}

// clockNow returns the time in answer, a response of the server about its clock.
func clockNow(t *testing.T, answer string) time.Time {
	t.Helper()
	var clock clockResponse
	if err := json.Unmarshal([]byte(answer), &clock); err != nil || clock.Now.IsZero() {
		t.Fatalf("%v: %s", err, answer)
	}
	return clock.Now
}

// TestResetWithoutSeed checks that a reset of a server that was started without a seed fails and changes
// nothing. The error says that a seed is needed.
func TestResetWithoutSeed(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	b.must(t, 201, "POST", "/_mayfly/faults", `{"fault":"429","operations":["createItem"]}`)
	reset := func() (int, string, string) { return mayfly(t, "reset", "--url", "http://"+b.host) }
	if code, _, errs := reset(); code != exitFailed || !strings.Contains(errs, "404 Not Found") ||
		!strings.Contains(errs, "with a seed") {
		t.Errorf("reset: %d %s", code, errs)
	}
	if _, left := b.do(t, "GET", "/_mayfly/faults", ""); !strings.Contains(left, `"429"`) {
		t.Errorf("the faults are %s", left)
	}
	b.must(t, 201, "POST", "/_mayfly/snapshots", `{"name":"seeded"}`)
	b.must(t, 201, "POST", "/dbs", `{"id":"more"}`)
	if code, out, errs := reset(); code != 0 || out != "databases: db\n" {
		t.Errorf("reset: %d %s%s", code, out, errs)
	}
}
