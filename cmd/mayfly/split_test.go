package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	b := boot(t, "--data", t.TempDir())
	b.makeContainer(t)
	for i := range 12 {
		b.must(t, 201, "POST", "/dbs/db/colls/c/docs", fmt.Sprintf(`{"id":"%d","pk":"key%d"}`, i, i))
	}
	split := func(args ...string) (int, string, string) {
		return mayfly(t, append([]string{"split", "--url", "http://" + b.host, "--db", "db", "--container", "c"}, args...)...)
	}
	if code, out, errs := split("0", "--at", "1f"); code != 0 || out != "range 1  from \"\"    to \"1F\"\nrange 2  from \"1F\"  to \"FF\"\n" {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if code, out, errs := split("1"); code != 0 || !strings.HasPrefix(out, "range 3 ") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		text string
	}{
		"gone":              {[]string{"0"}, exitFailed, "410 Gone"},
		"outside":           {[]string{"2", "--at", "01"}, exitFailed, "400 Bad Request"},
		"unknown container": {[]string{"--container", "x/y", "0"}, exitFailed, "404 Not Found"},
		"no container":      {[]string{"--container", "", "0"}, exitUsage, "--container"},
		"no range":          {nil, exitUsage, "is missing"},
	} {
		if code, out, errs := split(c.args...); code != c.code || !strings.Contains(errs, c.text) || out != "" {
			t.Errorf("%s: %d %s%s", name, code, out, errs)
		}
	}
}
