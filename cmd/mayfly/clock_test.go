package main

import (
	"strings"
	"testing"
)

func TestClockCommand(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--virtual-clock")
	b.makeContainer(t)
	for _, step := range []struct {
		args string
		code int
		out  string // or what stderr has
	}{
		{"--freeze --set 2090-01-01T00:00:00Z", 0, "2090-01-01T00:00:00Z  frozen\n"},
		{"", 0, "2090-01-01T00:00:00Z  frozen\n"},
		{"--db db", 0, "2090-01-01T00:00:00Z  frozen, the server's\n"},
		{"--db db --advance 1d12h --settle", 0, "2090-01-02T12:00:00Z  frozen, the database's own\n"},
		{"--set 3786912030", 0, "2090-01-01T00:00:30Z  frozen\n"},
		{"--db db", 0, "2090-01-02T12:00:00Z  frozen, the database's own\n"},
		{"--db db --follow", 0, "2090-01-01T00:00:30Z  frozen, the server's\n"},
		{"--set 1999-01-01T00:00:00Z", exitFailed, "a database,"},
		{"--advance 1y", exitFailed, "400 Bad Request"},
		{"--db none", exitFailed, "404 Not Found"},
		{"--freeze --resume", exitUsage, "contradict"},
		{"--follow", exitUsage, "--db"},
		{"--db db --follow --freeze", exitUsage, "cannot be combined"},
		{"--settle", exitUsage, "change"},
		{"now", exitUsage, "is too much"},
	} {
		code, out, errs := mayfly(t, append([]string{"clock", "--url", "http://" + b.host}, strings.Fields(step.args)...)...)
		if code != step.code || code == 0 && out != step.out || code != 0 && (out != "" || !strings.Contains(errs, step.out)) {
			t.Errorf("clock %s: %d %s%s", step.args, code, out, errs)
		}
	}
	if _, out, _ := mayfly(t, "clock", "--url", "http://"+b.host, "--rate", "60"); !strings.HasSuffix(out, "  rate 60\n") {
		t.Error(out)
	}
	b.stop(t)
	real := boot(t, "--memory")
	if code, out, errs := mayfly(t, "clock", "--url", "http://"+real.host); code != 0 || !strings.HasSuffix(out, "  the system's clock\n") {
		t.Error(code, out, errs)
	}
	if code, _, errs := mayfly(t, "clock", "--url", "http://"+real.host, "--freeze"); code != exitFailed || !strings.Contains(errs, "403 Forbidden") {
		t.Error(code, errs)
	}
}
