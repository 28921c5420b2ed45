package probe_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly/internal/probe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestProbes checks the responses to probes in each phase of a server, on two listeners.
func TestProbes(t *testing.T) {
	var listeners []net.Listener
	for range 2 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, ln)
	}
	var s probe.HealthCheckServer
	s.Start(listeners)
	expect := func(method, path string, code int, body string) {
		t.Helper()
		for _, ln := range listeners {
			got, text := ask(t, method, "http://"+ln.Addr().String()+path)
			if got != code || body != "" && text != body {
				t.Errorf("%s %s: %d %s, want %d %s", method, path, got, text, code, body)
			}
		}
	}
	both := func(code int, body string) {
		t.Helper()
		expect("GET", "/alive", 200, `{"status":"alive"}`)
		expect("GET", "/ready", code, body)
		expect("GET", "/status", code, body)
	}
	both(503, `{"status":"starting"}`)
	s.Serving(func(ctx context.Context) error {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the check has no deadline")
		}
		return nil
	})
	both(200, `{"status":"ready"}`)
	expect("HEAD", "/ready", 200, "")
	expect("POST", "/ready", 405, "")
	expect("GET", "/", 404, "")
	expect("GET", "/ready/x", 404, "")
	s.Serving(func(context.Context) error { return errors.New("the disk is full") })
	both(503, `{"status":"failing","reason":"the disk is full"}`)
	s.Stopping()
	both(503, `{"status":"stopping"}`)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// failingListener is a listener whose Accept always fails. Accept first closes the channel asked, so that a
// test notices the call.
type failingListener struct {
	net.Listener
	asked chan struct{}
}

var errAccept = errors.New("no descriptors")

func (f failingListener) Accept() (net.Conn, error) {
	close(f.asked)
	return nil, errAccept
}

// TestListenerFails checks that Close returns the error with which a listener has failed.
func TestListenerFails(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := failingListener{ln, make(chan struct{})}
	var s probe.HealthCheckServer
	s.Start([]net.Listener{f})
	<-f.asked
	if err := s.Close(); !errors.Is(err, errAccept) {
		t.Error(err)
	}
}

func ask(t *testing.T, method, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, strings.TrimSpace(string(body))
}
