package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestRequestsCommand checks that `mayfly requests` lists the requests of clients, with all attempts of
// one operation on one line of at most 80 columns.
func TestRequestsCommand(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	ask := func(args ...string) string {
		t.Helper()
		code, out, errs := mayfly(t, append([]string{"requests", "--url", "http://" + b.host}, args...)...)
		if code != 0 {
			t.Fatalf("%v: %d %s", args, code, errs)
		}
		return out
	}
	if got := ask("--clear"); got != "the log of requests is empty now\n" {
		t.Errorf("%q", got)
	}
	b.must(t, 201, "POST", "/_mayfly/faults", `{"fault":"429","operations":["createItem"],"count":2}`)
	body := `{"id":"1","pk":"x"}`
	for _, status := range []int{429, 429, 201} {
		b.must(t, status, "POST", "/dbs/db/colls/c/docs", body)
	}
	long := strings.Repeat("ä", 100)
	b.must(t, 400, "GET", "/dbs/db/colls/c/docs/"+strings.Repeat("%C3%A4", 100), "")
	out := ask("--db", "db", "--container", "c")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 3 ||
		!regexp.MustCompile(`^id +time +status +ms +RU +operation +of$`).MatchString(lines[0]) ||
		!regexp.MustCompile(`^\d+ +[\d:]{8} 201 +[\d.]+ +[\d.]+ create_item +db/c ×3$`).
			MatchString(lines[1]) ||
		!strings.Contains(lines[2], "400") || strings.Contains(lines[2], long) {
		t.Errorf("%s", out)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if got := ask("--status", "429"); strings.Count(got, "429/3200") != 1 || !strings.Contains(got, "×2 f1") {
		t.Errorf("%s", got)
	}
	var page struct{ Requests []struct{ ID json.Number } }
	if err := json.Unmarshal([]byte(ask("--json", "--status", "201", "--method", "POST", "--container",
		"c")), &page); err != nil ||
		len(page.Requests) != 1 {
		t.Fatalf("%v %v", page, err)
	}
	one := ask(page.Requests[0].ID.String())
	for _, want := range []string{"POST /dbs/db/colls/c/docs (http)", "Authorization: ", "***", body,
		"attempt      3, after",
		"x-ms-request-charge"} {
		if !strings.Contains(one, want) {
			t.Errorf("no %q in\n%s", want, one)
		}
	}
	file := filepath.Join(t.TempDir(), "x.har")
	if got := ask("--har", file, "--container", "c"); got != "wrote 4 requests to "+file+"\n" {
		t.Errorf("%q", got)
	}
	if text, err := os.ReadFile(file); err != nil || !json.Valid(text) {
		t.Errorf("%s %v", text, err)
	}
	for _, args := range [][]string{{"1", "--clear"}, {"--follow", "--har", "x"}, {"1", "2"}} {
		if code, _, errs := mayfly(t, append([]string{"requests", "--url", "http://" + b.host},
			args...)...); code != exitUsage {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
	if code, _, errs := mayfly(t, "requests", "--url", "http://"+b.host, "--status", "99"); code == 0 ||
		!strings.Contains(errs, "status") {
		t.Errorf("%d %s", code, errs)
	}
}

// TestRequestsCommandWithoutLog checks the error of `mayfly requests` for a server that keeps no log of
// requests.
func TestRequestsCommandWithoutLog(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--requests-memory", "0")
	if code, _, errs := mayfly(t, "requests", "--url", "http://"+b.host); code == 0 ||
		!strings.Contains(errs, "keeps no log") {
		t.Errorf("%d %s", code, errs)
	}
}
