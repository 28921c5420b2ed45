package main

import (
	"strings"
	"testing"
)

func TestFaultsCommand(t *testing.T) {
	b := boot(t, "--memory", "--virtual-clock")
	b.must(t, 200, "PUT", "/_mayfly/clock", `{"set":"2030-01-01T00:00:00Z","freeze":true}`)
	b.makeContainer(t)
	t.Setenv("MAYFLY_SEED", "folder") // which is serve's
	ask := func(args ...string) (int, string, string) {
		return mayfly(t, append([]string{"faults", args[0], "--url", "http://" + b.host}, args[1:]...)...)
	}
	const head = "id fault operations of share when until seen hits ended "
	for _, step := range []struct {
		args []string
		want string // the output, with single blanks
	}{
		{[]string{"list"}, head},
		{[]string{"add", "429", "--operation", "createItem,readItem", "--db", "db", "--container", "c",
			"--count", "2", "--for", "1h", "--retry-after", "5ms", "--random-seed", "3"},
			head + "f1 429 createItem,readItem db/c 1 before 2030-01-01T01:00:00Z or 2 hits 0 0 false "},
		{[]string{"add", "latency", "--latency", "20ms", "--share", "0.25", "--entity", "orders", "--after"},
			head + "f2 latency +20 ms all orders 0.25 after deleted 0 0 false "},
	} {
		code, out, errs := ask(step.args...)
		if got := strings.Join(strings.Fields(out), " ") + " "; code != 0 || got != step.want {
			t.Errorf("%v: %d %q%s, want %q", step.args, code, got, errs, step.want)
		}
	}
	b.must(t, 429, "POST", "/dbs/db/colls/c/docs", `{"id":"1","pk":"x"}`)
	if code, out, _ := ask("list"); code != 0 || !strings.Contains(out, "2 hits  1     1     false") {
		t.Errorf("%d %s", code, out)
	}
	for _, step := range [][3]string{{"delete", "f2", "fault f2 has ended\n"},
		{"clear", "", "there are no faults any more\n"}} {
		code, out, errs := ask(strings.Fields(step[0] + " " + step[1])...)
		if code != 0 || out != step[2] {
			t.Errorf("%s: %d %s%s", step[0], code, out, errs)
		}
	}
	b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"1","pk":"x"}`)
	for _, args := range [][]string{{"add", "418"}, {"add", "429", "--share", "2"}, {"delete", "f9"}} {
		code, out, errs := ask(args...)
		if code != exitFailed || out != "" || !strings.Contains(errs, "answers 40") {
			t.Errorf("%v: %d %s%s", args, code, out, errs)
		}
	}
	if code, _, _ := ask("add"); code != exitUsage {
		t.Errorf("a fault without a name: %d", code)
	}
}
