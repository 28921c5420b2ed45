package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/httpapi"
)

// TestHealthPort checks the port for health probes: it reports "ready" while the server serves requests,
// and "not ready" while the server waits for running requests at its end.
func TestHealthPort(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--health-port", "0")
	m := regexp.MustCompile(`answering health probes" address=(\S+)`).FindStringSubmatch(b.stderr.String())
	if m == nil {
		t.Fatalf("the log: %s", b.stderr)
	}
	probe := func(path string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+m[1]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		status, body := send(t, http.DefaultClient, req)
		return fmt.Sprint(status, " ", strings.TrimSpace(body))
	}
	until := func(path, want string) {
		t.Helper()
		for got := ""; got != want; {
			got = probe(path)
			if got != want && !strings.Contains(got, "starting") && !strings.Contains(got, "ready") {
				t.Fatalf("%s: %s, want %s", path, got, want)
			}
		}
	}
	until("/ready", `200 {"status":"ready"}`)
	until("/status", `200 {"status":"ready"}`)

	b.makeContainer(t)
	body, finish := io.Pipe()
	underWay, answered := make(chan struct{}), make(chan int)
	trace := &httptrace.ClientTrace{Got100Continue: func() { close(underWay) }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "PATCH",
		"http://"+b.host+"/_mayfly/dbs/db/colls/c/settings", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Expect", "100-continue")
	req.Header.Set("Authorization", "Bearer "+httpapi.EmulatorKey)
	go func() {
		status, _ := send(t, client(nil), req)
		answered <- status
	}()
	<-underWay
	b.cancel()
	until("/ready", `503 {"status":"stopping"}`)
	if got := probe("/alive"); got != `200 {"status":"alive"}` {
		t.Errorf("/alive: %s", got)
	}
	if _, err := finish.Write([]byte("{")); err != nil {
		t.Error(err)
	}
	finish.Close()
	if status := <-answered; status != 400 {
		t.Errorf("the request that was under way: %d", status)
	}
	if code := b.stop(t); code != 0 {
		t.Errorf("exit code %d: %s", code, b.stderr)
	}
	if c, err := net.Dial("tcp", m[1]); err == nil {
		c.Close()
		t.Error("the port is open after the end")
	}
}

// TestHealthPortWhileOpening checks that health probes report a server as alive but not ready until it
// serves requests.
func TestHealthPortWhileOpening(t *testing.T) {
	t.Parallel()
	flags, err := parse([]string{"--memory", "--port", "0", "--health-port", "0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	s := &serveCommandState{flags: flags, log: newLogger(&log, "info", "text")}
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.server.Close()
	m := regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(log.String())
	for path, want := range map[string]int{"/alive": 200, "/ready": 503, "/status": 503} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+m[1]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := send(t, http.DefaultClient, req); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// TestHealthPortTaken checks that the server starts with a warning if the port for health probes is in
// use.
func TestHealthPortTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	b := boot(t, "--memory", "--health-port", fmt.Sprint(portOf(taken)))
	if !strings.Contains(b.stderr.String(), "the port for health probes is not available") {
		t.Errorf("the log: %s", b.stderr)
	}
	b.must(t, 200, "GET", "/_mayfly/readyz", "")
}
