package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	for i := range 12 {
		b.must(t, 201, "POST", "/dbs/db/colls/c/docs", fmt.Sprintf(`{"id":"%d","pk":"key%d","n":%d}`, i, i%3, i))
	}
	explain := func(args ...string) (int, string, string) {
		return mayfly(t, append([]string{"explain", "--url", "http://" + b.host + "/", "--db", "db", "--container", "c"}, args...)...)
	}
	code, out, errs := explain("SELECT c.id FROM c WHERE c.n = 7 AND NOT IS_DEFINED(c.m)")
	if code != 0 {
		t.Fatalf("%d %s", code, errs)
	}
	for _, want := range []string{"project ", "\n  filter ", "\n\nrows           1 (10 bytes)\n", " RU\n", "\nindex entries ", "\ntime ", "indexes used   /m/?, /n/?"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	code, out, errs = explain("--partition-key", `["key1"]`, "SELECT * FROM c WHERE c.n >= 1 AND c.m = 3 AND c.k = 4")
	if code != 0 || !strings.Contains(out, "\nwould help     (/m ASC, /k ASC, /n ASC)\n") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if code, out, errs = explain("--partition-key", `["key1"]`, "SELECT * FROM c"); code != 0 || !strings.Contains(out, "\ndocuments      4 read (") {
		t.Errorf("one partition: %d %s%s", code, out, errs)
	}

	for name, c := range map[string]struct {
		args []string
		code int
		text string
	}{
		"bad query":         {[]string{"SELECT * FORM c"}, exitFailed, "400 Bad Request: Syntax error, incorrect syntax near 'FORM'. (at character 10)"},
		"unknown container": {[]string{"--container", "x", "SELECT 1"}, exitFailed, "404 Not Found: Resource Not Found."},
		"wrong key":         {[]string{"--key", "AAAA", "SELECT 1"}, exitFailed, "401 Unauthorized"},
		"key not base64":    {[]string{"--key", "?", "SELECT 1"}, exitUsage, "--key"},
		"no database":       {[]string{"--db", "", "SELECT 1"}, exitUsage, "--db"},
		"no query":          {nil, exitUsage, "is missing"},
		"bad partition key": {[]string{"--partition-key", "[", "SELECT 1"}, exitUsage, "--partition-key"},
		"wrong kind of key": {[]string{"--partition-key", `"a"`, "SELECT 1"}, exitFailed, "400 Bad Request"},
		"bad URL":           {[]string{"--url", "http://%", "SELECT 1"}, exitUsage, "--url"},
		"nobody there":      {[]string{"--url", "http://127.0.0.1:1", "SELECT 1"}, exitFailed, "127.0.0.1:1"},
	} {
		if code, out, errs := explain(c.args...); code != c.code || !strings.Contains(errs, c.text) || out != "" {
			t.Errorf("%s: %d %s%s", name, code, out, errs)
		}
	}
	// Something else that answers at the URL.
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") }))
	defer other.Close()
	if code, _, errs := explain("--url", other.URL, "SELECT 1"); code != exitFailed || !strings.Contains(errs, "something else") {
		t.Errorf("%d %s", code, errs)
	}
}
