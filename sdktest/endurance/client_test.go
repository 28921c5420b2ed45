//go:build long

package endurance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/sdktest"
)

var binary string // of the server

func TestMain(m *testing.M) { os.Exit(sdktest.RunTests(&binary, m.Run)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// startServer starts a server with data in the folder dir, Service Bus and the given further arguments, and
// creates the database d. c is a client of documents, and q one of Service Bus's management and messages,
// whose token is valid for the given time. At the end of the test the server is killed if it still runs, and
// its output is shown if the test has failed or the server has had a panic.
func startServer(t *testing.T, dir string, valid time.Duration, args ...string) (s *sdktest.Server, c, q *client) {
	t.Helper()
	port, err := sdktest.FreePort()
	must(t, err)
	s = &sdktest.Server{Bin: binary, Args: append([]string{"--log-level", "warn", "--data", dir, "--servicebus",
		"--servicebus-port", "off", "--servicebus-admin-port", strconv.Itoa(port), "--servicebus-tls-port", "off",
		"--servicebus-admin-tls-port", "off"}, args...)}
	must(t, s.Start(t.Context()))
	t.Cleanup(func() {
		if s.Running() {
			must(t, s.Kill())
		}
		if out := s.Output(); t.Failed() || strings.Contains(out, "panic") {
			t.Errorf("the server's output:\n%.20000s", out)
		}
	})
	c = newClient(s.URL("http"), "Bearer "+sdktest.EmulatorKey)
	q = newClient(fmt.Sprintf("http://127.0.0.1:%d/", port),
		access.Sign(access.EmulatorKey(), "http://localhost/", time.Now().Add(valid)))
	c.want(t, 201, "POST", "dbs", `{"id":"d"}`)
	return s, c, q
}

// deviations collects what a client has found that differs from its model.
type deviations struct{ texts []string }

// add adds the text, with the name of the part of the test before it. Only the first twenty are kept.
func (d *deviations) add(part, format string, args ...any) {
	if len(d.texts) < 20 {
		d.texts = append(d.texts, part+": "+fmt.Sprintf(format, args...))
	}
}

// report fails the test for each deviation, and forgets them.
func (d *deviations) report(t *testing.T) {
	t.Helper()
	for _, text := range d.texts {
		t.Error(text)
	}
	d.texts = nil
}

// pause waits for the time d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// answerTime is the maximum time in which the server must answer a request.
const answerTime = 40 * time.Second

// client sends requests to one server.
type client struct {
	http http.Client
	base string
	auth string
}

func newClient(base, auth string) *client {
	return &client{http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}, base, auth}
}

// httpResponse is a complete HTTP response with its body.
type httpResponse struct {
	status int
	header http.Header
	body   []byte
}

// location returns the path, without the first slash, of the URL in the header Location.
func (a httpResponse) location() (string, error) {
	at, err := url.Parse(a.header.Get("Location"))
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(at.Path, "/"), nil
}

// do sends a request and returns the response. headers are alternately names and values. A body that ends
// early is an error.
func (c *client) do(ctx context.Context, method, path, body string, headers ...string) (a httpResponse,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	req.Header.Set("Authorization", c.auth)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.http.Do(req)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	a.status, a.header = res.StatusCode, res.Header
	a.body, err = io.ReadAll(res.Body)
	return a, err
}

// want sends a request and returns the response. It fails the test unless the response has the given status.
// headers are alternately names and values.
func (c *client) want(t *testing.T, status int, method, path, body string, headers ...string) httpResponse {
	t.Helper()
	a, err := c.do(t.Context(), method, path, body, headers...)
	must(t, err)
	if a.status != status {
		t.Fatalf("%s %s: %d, want %d: %.300s", method, path, a.status, status, a.body)
	}
	return a
}
