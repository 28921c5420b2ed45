package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/mayflydb/mayfly/internal/laboratory"
)

// newDatabase creates a database for one test on the PostgreSQL server that MAYFLY_POSTGRES names, and
// returns its URL. It skips the test if the variable is not set.
func newDatabase(t *testing.T) string {
	t.Helper()
	server := os.Getenv("MAYFLY_POSTGRES")
	if server == "" {
		t.Skip("MAYFLY_POSTGRES names no PostgreSQL")
	}
	name := fmt.Sprintf("mayfly_cmd_%d", os.Getpid())
	execute := func(sql string) {
		t.Helper()
		c, err := pgx.Connect(t.Context(), server)
		if err == nil {
			_, err = c.Exec(t.Context(), sql)
			_ = c.Close(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	execute("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)")
	execute("CREATE DATABASE " + name)
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	at.Path = "/" + name
	return at.String()
}

// TestServersOfOneDatabase runs two server processes on one database: what one writes the other reads,
// messages go to one receiver, and after the end of one process the other continues.
func TestServersOfOneDatabase(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	var servers [2]*mayflyServerUnderTest
	var starting sync.WaitGroup
	for i := range servers {
		dir := t.TempDir()
		starting.Go(func() { servers[i] = spawn(t, "--data", dir, "--engine", database) })
	}
	starting.Wait()
	a, b := servers[0], servers[1]
	expect := func(s *mayflyServerUnderTest, want int, method, path, body string, headers ...string) {
		t.Helper()
		if status, text := s.do(t, method, path, body, headers...); status != want {
			t.Fatalf("%s %s: %d, want %d: %s", method, path, status, want, text)
		}
	}
	const key = "x-ms-documentdb-partitionkey"
	expect(a, http.StatusCreated, http.MethodPost, "/dbs", `{"id":"d"}`)
	expect(b, http.StatusCreated, http.MethodPost, "/dbs/d/colls",
		`{"id":"c","partitionKey":{"paths":["/id"]},"defaultTtl":-1}`)
	for i := range 20 {
		id := fmt.Sprint(i)
		expect(servers[i%2], http.StatusCreated, http.MethodPost, "/dbs/d/colls/c/docs", `{"id":"`+id+`"}`,
			key, `["`+id+`"]`)
		expect(servers[1-i%2], http.StatusOK, http.MethodGet, "/dbs/d/colls/c/docs/"+id, "", key, `["`+id+`"]`)
	}

	const messages = 60
	on := func(s *mayflyServerUnderTest, args ...string) string {
		t.Helper()
		code, out, errs := mayfly(t, append(args, "--url", "http://"+s.host)...)
		if code != 0 {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
		return out
	}
	on(a, "queue", "create", "q")
	for i := range messages {
		on(servers[i%2], "queue", "send", "q", fmt.Sprintf("<%d>", i))
	}
	received := make([]string, 4)
	var receiving sync.WaitGroup
	for i := range received {
		receiving.Go(func() {
			for {
				out := on(servers[i%2], "queue", "receive", "q", "--count", "7")
				if !strings.Contains(out, "<") {
					return
				}
				received[i] += out
			}
		})
	}
	receiving.Wait()
	all := strings.Join(received, "")
	for i := range messages {
		if n := strings.Count(all, fmt.Sprintf("<%d>", i)); n != 1 {
			t.Errorf("message %d was received %d times", i, n)
		}
	}

	if _, ours := a.do(t, http.MethodGet, "/_mayfly/cert.pem", ""); !strings.Contains(ours, "CERTIFICATE") {
		t.Errorf("the certificate is %q", ours)
	} else if _, theirs := b.do(t, http.MethodGet, "/_mayfly/cert.pem", ""); theirs != ours {
		t.Error("the servers have several certificates to trust")
	}
	listed := on(a, "servers")
	for _, want := range []string{a.host, b.host, "reaper", "indexing", "splitting"} {
		if !strings.Contains(listed, want) {
			t.Errorf("no %q among the servers:\n%s", want, listed)
		}
	}
	if code, _, errs := mayfly(t, "migrate", "--from", database, "--to", t.TempDir()); code != exitLocked {
		t.Errorf("a migration beside two servers: exit code %d: %s", code, errs)
	}
	if err := a.proc.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = a.proc.Wait()
	expect(b, http.StatusOK, http.MethodGet, "/dbs/d/colls/c/docs/0", "", key, `["0"]`)
	expect(b, http.StatusCreated, http.MethodPost, "/dbs/d/colls/c/docs", `{"id":"later"}`, key, `["later"]`)
	on(b, "queue", "send", "q", "later")
	if err := b.proc.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := b.proc.Wait(); err != nil {
		t.Errorf("%v: %s", err, b.stderr)
	}
	code, out, errs := mayfly(t, "check", "--engine", database)
	if code != 0 || !strings.Contains(out, "21 documents") || !strings.Contains(out, "1 message:") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// TestServersOfFolder checks that `mayfly servers` lists only the server itself if it shares its data with
// no other server.
func TestServersOfFolder(t *testing.T) {
	b := boot(t, "--memory")
	code, out, errs := mayfly(t, "servers", "--url", "http://"+b.host)
	lines := strings.Split(out, "\n")
	port := b.host[strings.LastIndex(b.host, ":"):]
	if code != 0 || len(lines) != 3 || !strings.Contains(lines[1], port+"/") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	var answer laboratory.ServerList
	_, text := b.do(t, http.MethodGet, "/_mayfly/servers", "")
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Servers) != 1 ||
		!answer.Servers[0].Self || answer.Servers[0].Version == "" {
		t.Errorf("%s: %v", text, err)
	}
}
