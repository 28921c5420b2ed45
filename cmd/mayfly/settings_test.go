package main

import (
	"strings"
	"testing"
)

func TestSettingsAndLease(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"1","pk":"x"}`)
	ask := func(command string, args ...string) (int, string, string) {
		return mayfly(
			t,
			append(
				[]string{command, "--url", "http://" + b.host, "--db", "db", "--container", "c"},
				args...)...)
	}
	const plain = "{\n  \"onExpire\": null,\n  \"ttlCeiling\": false,\n  \"autoDeleteOnIdle\": 0,\n  \"expiryEvents\": null,\n  " +
		"\"reaper\": null,\n  \"changesTo\": \"\"\n}\n"
	if code, out, errs := ask("settings"); code != 0 || out != plain {
		t.Errorf("%d %s%s", code, out, errs)
	}
	changed := strings.Replace(plain, "0", "900", 1)
	for _, patch := range []string{`{"autoDeleteOnIdle":900}`, `{}`} {
		if code, out, errs := ask("settings", patch); code != 0 || out != changed {
			t.Errorf("%s: %d %s%s", patch, code, out, errs)
		}
	}
	if code, out, errs := ask("lease", "--partition-key", `["x"]`, "--for", "30", "1"); code != 0 ||
		!strings.HasPrefix(out, "leased until 20") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if code, out, errs := ask("lease", "--partition-key", `["x"]`, "--release", "1"); code != 0 ||
		out != "the item has no lease any more\n" {
		t.Errorf("%d %s%s", code, out, errs)
	}
	for name, c := range map[string]struct {
		command string
		args    []string
		code    int
		text    string
	}{
		"not JSON":         {"settings", []string{"{"}, exitUsage, "not JSON"},
		"wrong":            {"settings", []string{`{"autoDeleteOnIdle":1}`}, exitFailed, "autoDeleteOnIdle"},
		"no container":     {"settings", []string{"--container", ""}, exitUsage, "--container"},
		"no item":          {"lease", []string{"--partition-key", `["x"]`, "nobody"}, exitFailed, "404 Not Found"},
		"no partition key": {"lease", []string{"1"}, exitFailed, "400 Bad Request"},
		"key not JSON":     {"lease", []string{"--partition-key", "x", "1"}, exitUsage, "--partition-key"},
	} {
		if code, out, errs := ask(c.command, c.args...); code != c.code || !strings.Contains(errs, c.text) ||
			out != "" {
			t.Errorf("%s: %d %s%s", name, code, out, errs)
		}
	}
}
