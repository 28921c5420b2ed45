package main

import (
	"net/http"
	"strings"
	"testing"
)

// TestMigrateFolder migrates a data folder to another folder while a server uses it, and from there to a
// third one without a server. It checks that invalid migrations are refused.
func TestMigrateFolder(t *testing.T) {
	t.Parallel()
	a, b := t.TempDir()+"/a", t.TempDir()+"/b"
	create := func(s *mayflyServerUnderTest, id string) {
		t.Helper()
		if status, text := s.do(t, http.MethodPost, "/dbs", `{"id":"`+id+`"}`); status != http.StatusCreated {
			t.Fatalf("%d %s", status, text)
		}
	}
	s := boot(t, "--data", a)
	create(s, "first")
	s.stop(t)
	s = boot(t, "--data", a, "--migrate-to", b)
	create(s, "second")
	s.stderr.await(t, "everything is copied")
	create(s, "third")
	if code := s.stop(t); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.stderr)
	}
	for _, args := range [][]string{{"serve", "--port", "0", "--data", a}, {"check", a}} {
		if code, _, errs := mayfly(t, args...); code != exitData || !strings.Contains(errs, "--reopen") ||
			!strings.Contains(errs, "--data") {
			t.Errorf("%v of a store that has moved: exit code %d, %s", args, code, errs)
		}
	}
	if code, out, errs := mayfly(t, "migrate", "--from", a, "--to", b, "--compare"); code != 0 {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	if code, out, errs := mayfly(t, "check", b); code != 0 || !strings.Contains(out, "3 databases") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	if code, _, errs := mayfly(t, "migrate", "--from", b, "--to", a); code != exitData {
		t.Errorf("to a folder with a store: exit code %d, %s", code, errs)
	}
	c := t.TempDir() + "/c"
	if code, out, errs := mayfly(t, "migrate", "--from", b, "--to", c); code != 0 {
		t.Fatalf("exit code %d, %s%s", code, out, errs)
	}
	s = boot(t, "--data", c)
	create(s, "fourth")
	s.stop(t)
	if code, out, _ := mayfly(t, "migrate", "--from", b, "--to", c, "--compare"); code != exitFailed ||
		!strings.Contains(out, "differ") {
		t.Errorf("of two that differ: exit code %d, %s", code, out)
	}
	code, _, errs := mayfly(t, "check", "--engine", c)
	if code == 0 || !strings.Contains(errs, "postgres://") {
		t.Errorf("a folder for a database: exit code %d, %s", code, errs)
	}
	if code, _, errs := mayfly(t, "migrate", "--from", b, "--reopen"); code != 0 {
		t.Errorf("exit code %d, %s", code, errs)
	}
	boot(t, "--data", b)
	if code, _, errs := mayfly(t, "migrate", "--from", b, "--to", t.TempDir()); code != exitLocked ||
		!strings.Contains(errs, "--migrate-to") {
		t.Errorf("of a server's folder: exit code %d, %s", code, errs)
	}
	for _, args := range [][]string{
		{"--from", c}, {"--to", c}, {"--from", c, "--to", c}, {"--from", "nowhere", "--to", c},
	} {
		if code, _, errs := mayfly(t, append([]string{"migrate"}, args...)...); code != exitUsage {
			t.Errorf("migrate %v: exit code %d, %s", args, code, errs)
		}
	}
}
