package main

import (
	"strings"
	"testing"
)

// TestLaboratoryCommands checks the commands that ask a running server about expiry, such as expiry and
// forecast, with a frozen virtual clock.
func TestLaboratoryCommands(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--virtual-clock")
	b.must(t, 200, "PUT", "/_mayfly/clock", `{"set":"2040-01-01T00:00:00Z","freeze":true}`)
	b.must(t, 201, "POST", "/dbs", `{"id":"db"}`)
	b.must(t, 201, "POST", "/dbs/db/colls",
		`{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":60}`)
	for _, body := range []string{`{"id":"a","pk":"p"}`, `{"id":"b","pk":"p","ttl":86400000}`,
		`{"id":"c","pk":"p","ttl":-1}`} {
		b.must(t, 201, "POST", "/dbs/db/colls/c/docs", body)
	}
	ask := func(verb string, args ...string) (int, string, string) {
		return mayfly(t, append([]string{verb, "--url", "http://" + b.host, "--db", "db", "--container", "c"},
			args...)...)
	}
	const key = `["p"]`
	for name, c := range map[string]struct {
		verb string
		args []string
		want []string
	}{
		"expiry": {"expiry", []string{"a", "--partition-key", key}, []string{"state       live\n", "expires at  2040-01-01T00:01:00Z\n", "remaining   60 s\n", "decided by  container\n", "\n\nIt expires in 1m"}},
		"immortal": {"expiry", []string{"c", "--partition-key", key}, []string{"decided by  item\n",
			"It does not expire: its own ttl is -1.\n"}},
		"forecast": {"forecast", nil, []string{"now      2040-01-01T00:00:00Z\n", "overdue  0 (the oldest for 0 s)\n", "coming   2\n", "next     in 60 s, at 2040-01-01T00:01:00Z\n", "0 - 60            1\n"}},
		"by month": {"forecast", []string{"--by", "month"}, []string{"0 - 2592000       1\n"}},
		"dry run":  {"dry-run", []string{"30"}, []string{"default 1m -> 30s at 2040-01-01T00:00:00Z\n", "1  will expire sooner\n", "2  are not concerned\n", "minute         1\n", "\nwill expire sooner:\n  a  [\"p\"]  2040-01-01T00:01:00Z  -> 2040-01-01T00:00:30Z\n"}},
		"dry run, off": {"dry-run", []string{"off", "--examples", "1"}, []string{"default 1m -> off",
			"2  will not expire any more\n", "-> never\n"}},
		"dry run, never": {"dry-run", []string{"never"}, []string{"default 1m -> never",
			"1  will not expire any more\n"}},
		"lint": {"lint", nil, []string{`ttl-milliseconds: 1 write, the last of "b" with ttl ` +
			`86400000: The time to live is in seconds`}},
		"quiet": {"wait", []string{"quiet"}, []string{"quiet\n"}},
		"in the feed": {"wait", []string{"feed", "a", "--partition-key", key},
			[]string{"It expires in 1m"}},
		"all that is": {"forecast", []string{"--db", "", "--container", ""}, []string{"coming   2\n"}},
		"gone for long": {"wait", []string{"purged", "x", "--partition-key", key},
			[]string{"There is no such item"}},
		"expired at once": {"wait", []string{"expired", "x", "--partition-key", key, "--timeout", "1s"},
			[]string{"There is no such item"}},
	} {
		code, out, errs := ask(c.verb, c.args...)
		if code != 0 {
			t.Errorf("%s: %d %s", name, code, errs)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
	}
	for name, c := range map[string]struct {
		verb string
		args []string
		code int
		text string
	}{
		"no such item":      {"expiry", []string{"x", "--partition-key", key}, exitFailed, "404 Not Found"},
		"no partition key":  {"expiry", []string{"a"}, exitFailed, "400 Bad Request"},
		"bad partition key": {"expiry", []string{"a", "--partition-key", "["}, exitUsage, "--partition-key"},
		"no id":             {"expiry", nil, exitUsage, "is missing"},
		"no container":      {"expiry", []string{"a", "--container", ""}, exitUsage, "--container"},
		"bad TTL":           {"dry-run", []string{"soon"}, exitUsage, "soon"},
		"TTL of 0":          {"dry-run", []string{"0"}, exitFailed, "400 Bad Request"},
		"bad step":          {"forecast", []string{"--by", "year"}, exitUsage, "--by"},
		"half a container":  {"forecast", []string{"--container", ""}, exitUsage, "--container"},
		"bad wait":          {"wait", []string{"forever"}, exitFailed, "'until' must be"},
		"wait for what":     {"wait", []string{"expired"}, exitFailed, "must have an 'id'"},
	} {
		if code, out, errs := ask(c.verb, c.args...); code != c.code || !strings.Contains(errs, c.text) ||
			out != "" {
			t.Errorf("%s: %d %s%s", name, code, out, errs)
		}
	}
}
