package sdktest

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// Who listens to expiries: a follower of the stream and a webhook's endpoint. And a client for Mayfly's own
// surface.

// listen follows the container's stream of expiry events from the last received event on, until the
// connection breaks or ctx ends.
func (g *observedContainer) listen(ctx context.Context, t *testing.T, s *Server) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL("http")+g.path()+"/events", nil)
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+EmulatorKey)
	req.Header.Set("Accept", "text/event-stream")
	if g.position != "" {
		req.Header.Set("Last-Event-ID", g.position)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return // killed before it answered
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		t.Errorf("%s: %s: %s", g.name, res.Status, body)
		return
	}
	var kind, id, data string
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			kind = value
		case "id":
			id = value
		case "data":
			data = value
		case "": // the end of an event, or a comment
			if kind == "" {
				continue
			}
			var e expiryEvent
			if err := json.Unmarshal([]byte(data), &e); err != nil || kind != "expired" || id == "" {
				t.Errorf("%s: event %q, id %q, %s: %v", g.stream.name, kind, id, data, err)
				return
			}
			g.stream.follow(e)
			g.position = id
			kind, id, data = "", "", ""
		}
	}
}

const hookSecret = "s3cret"

// webhookEndpoint is an HTTP handler that receives the expiry events that webhooks send. Each container
// has a path of its own.
type webhookEndpoint struct {
	t     *testing.T
	yards map[string]*observedContainer
	posts atomic.Int64
}

func newWebhookEndpoint(t *testing.T, yards []*observedContainer) *webhookEndpoint {
	o := &webhookEndpoint{t: t, yards: map[string]*observedContainer{}}
	for _, g := range yards {
		o.yards["/"+g.name] = g
	}
	return o
}

// ServeHTTP checks and records a batch of events, and confirms it. It does not confirm the second batch of
// all, so that the server must send that one again.
func (o *webhookEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the server was killed while it was sending
	}
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write(body)
	var batch struct {
		Database, Container string
		Lost                bool
		Events              []expiryEvent
	}
	err = json.Unmarshal(body, &batch)
	g := o.yards[r.URL.Path]
	if err != nil || g == nil || r.Method != http.MethodPost || batch.Container != g.name || batch.Database != "db" || batch.Lost ||
		r.Header.Get("X-Mayfly-Signature") != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
		o.t.Errorf("webhook: %s %s %v: %s: %v", r.Method, r.URL, r.Header, body, err)
	} else {
		g.posts.follow(batch.Events...)
	}
	if o.posts.Add(1) == 2 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// laboratory sends a request to Mayfly's own API and returns the body of the response. It fails the test
// unless the status is 200.
func laboratory(t *testing.T, s *Server, method, path, body string) []byte {
	t.Helper()
	answer, err := request(t.Context(), s, method, path, body)
	must(t, err)
	return answer
}

// request sends a request to Mayfly's own API and returns the body of the response. It returns an error
// unless the status is 200.
func request(ctx context.Context, s *Server, method, path, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.URL("http")+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+EmulatorKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, path, res.Status, answer)
	}
	return answer, err
}
