package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// mortals starts a server with a virtual clock and a container that records expiry events, with n items
// that have expired but are not purged, since the reaper is paused. run runs a command on that container.
func mortals(t *testing.T, n int) (b *mayflyServerUnderTest,
	run func(verb string, args ...string) (int, string,
		string)) {
	t.Helper()
	b = boot(t, "--memory", "--virtual-clock", "--webhook-allow", "127.0.0.1")
	b.must(t, 200, "PUT", "/_mayfly/clock", `{"freeze":true}`)
	b.makeContainer(t)
	b.must(t, 200, "PUT", "/dbs/db/colls/c", `{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":-1}`)
	b.must(t, 200, "PATCH", "/_mayfly/dbs/db/colls/c/settings", `{"expiryEvents":{}}`)
	b.must(t, 200, "PUT", "/_mayfly/dbs/db/colls/c/reaper", `{"paused":true}`)
	for i := range n {
		b.must(t, 201, "POST", "/dbs/db/colls/c/docs", fmt.Sprintf(`{"id":"i%d","pk":"p%d","ttl":1}`, i, i))
	}
	b.must(t, 200, "PUT", "/_mayfly/clock", `{"advance":"1s"}`)
	return b, func(verb string, args ...string) (int, string, string) {
		return mayfly(t, append([]string{verb, "--url", "http://" + b.host, "--db", "db", "--container", "c"}, args...)...)
	}
}

func TestReaperCommand(t *testing.T) {
	t.Parallel()
	b, run := mortals(t, 6)
	for _, step := range []struct {
		args []string
		want string // in the output, with single blanks
	}{
		{nil, "paused true paused everywhere false purged 0 backlog 6 oldest 0 s"},
		{[]string{"step"}, "1 purged"},
		{[]string{"step", "2"}, "2 purged"},
		{[]string{"set", `{"delay":{"seconds":9},"starved":{"perSecond":3}}`}, "paused true paused everywhere false delay 9 s starved 3 a second purged 3 backlog 3 oldest 0 s"},
		{[]string{"set", `{"delay":{"min":1,"max":2,"seed":3},"starved":{"perSecond":0}}`},
			"paused true paused everywhere false delay 1 to 2 s, seed 3 starved while requests are being served purged 3 backlog 3 oldest 0 s"},
		{[]string{"run"}, "3 purged"},
		{[]string{"resume"}, "paused false paused everywhere false delay 1 to 2 s, seed 3 starved while requests are being served purged 6 backlog 0"},
	} {
		if code, out, errs := run("reaper", step.args...); code != 0 || strings.Join(strings.Fields(out), " ") != step.want {
			t.Errorf("reaper %v: %d %s%s, want %s", step.args, code, out, errs, step.want)
		}
	}
	for _, step := range [][2]string{{"pause", "paused everywhere true"}, {"resume", "paused everywhere false"}, {"run", "0 purged"}} {
		code, out, errs := mayfly(t, "reaper", "--url", "http://"+b.host, step[0])
		if code != 0 || strings.Join(strings.Fields(out), " ") != step[1] {
			t.Errorf("reaper %s everywhere: %d %s%s", step[0], code, out, errs)
		}
	}
	for _, args := range [][]string{{"sleep"}, {"step", "0"}, {"step", "x"}, {"set"}, {"set", "{"}, {"run", "now"}} {
		if code, out, _ := run("reaper", args...); code != exitUsage || out != "" {
			t.Errorf("reaper %v: %d %s", args, code, out)
		}
	}
	if code, _, errs := run("reaper", "set", `{"delay":1}`); code != exitFailed || !strings.Contains(errs, "400 Bad Request") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestEventsCommand(t *testing.T) {
	b, run := mortals(t, 3)
	sent := make(chan string, 10)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Events []struct{ ID string } }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		for _, e := range body.Events {
			sent <- e.ID
		}
	}))
	t.Cleanup(endpoint.Close)
	// The reaper meets what has died when it comes round; the webhook reports when that was.
	b.must(t, 200, "PATCH", "/_mayfly/dbs/db/colls/c/settings", `{"expiryEvents":{"webhooks":[{"url":"`+endpoint.URL+`"}]}}`)
	got := map[string]bool{}
	for range 3 {
		got[<-sent] = true
	}
	confirmed := `mayfly_webhook_delivered_events_total{container="c",database="db",url="` + endpoint.URL + `"} 3`
	for !strings.Contains(b.must(t, 200, "GET", "/_mayfly/metrics", ""), confirmed) { // it is stored first
		runtime.Gosched()
	}
	text := b.must(t, 403, "PATCH", "/_mayfly/dbs/db/colls/c/settings", `{"expiryEvents":{"webhooks":[{"url":"http://169.254.169.254/latest"}]}}`)
	if !strings.Contains(text, "--webhook-allow") || !strings.Contains(b.must(t, 200, "GET", "/_mayfly/dbs/db/colls/c/settings", ""), endpoint.URL) {
		t.Errorf("a webhook that is not allowed: %s", text)
	}
	if refused := b.must(t, 200, "GET", "/_mayfly/metrics", ""); !strings.Contains(refused, `mayfly_webhook_refused{container="c",database="db",url="`+endpoint.URL+`"} 0`) {
		t.Errorf("metrics:\n%s", refused)
	}
	code, out, errs := run("events")
	if code != 0 || strings.Count(out, "\n") != 3 || len(got) != 3 || !strings.HasPrefix(out, `{"id":"i`) {
		t.Fatalf("%v; %d %s%s", got, code, out, errs)
	}
	position, found := strings.CutPrefix(strings.TrimSpace(errs), "position ")
	if code, out, errs := run("events", "--after", position); code != 0 || out != "" || !found || errs != "position "+position+"\n" {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if code, _, errs := run("events", "--after", "x"); code != exitFailed || !strings.Contains(errs, "400 Bad Request") {
		t.Errorf("%d %s", code, errs)
	}
	if code, _, _ := run("events", "--container", ""); code != exitUsage {
		t.Errorf("%d", code)
	}
}
