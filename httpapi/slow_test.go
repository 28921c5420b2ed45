package httpapi

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// tickingClock is a clock that each call of Now advances by a millisecond.
type tickingClock struct{ *ttl.VirtualClock }

func (w tickingClock) Now() time.Time {
	w.Advance(time.Millisecond)
	return w.VirtualClock.Now()
}

// TestSlowQuery checks that a page of a query that takes longer than Options.SlowQuery is logged with its
// plan and measurements, and that a quicker one is not.
func TestSlowQuery(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	slow := func(limit time.Duration) *serverUnderTest {
		log.Reset()
		return newServerUnderTest(t, func(s *serverUnderTestOptions) {
			s.server.Logger = slog.New(slog.NewJSONHandler(&log, nil))
			s.server.SlowQuery, s.server.Wall = limit, tickingClock{ttl.NewManual(start)}
		})
	}
	const text = `SELECT * FROM c WHERE c.user = @user AND c.n >= @n`
	ask := func(w *serverUnderTest) *testResponse {
		w.container("")
		for _, id := range []string{"1", "2", "3"} {
			w.do("POST", docs, `{"id":"`+id+`","pk":"a","user":"ada","n":`+id+`}`).want(201)
		}
		body := `{"query":"` + text +
			`","parameters":[{"name":"@user","value":"ada"},{"name":"@n","value":2}]}`
		return w.do("POST", docs, body, queryHeaders("x-ms-activity-id", testActivity)...)
	}
	a := ask(slow(time.Millisecond)).want(200)
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, log.String())
	}
	for name, want := range map[string]any{"msg": "slow query", "level": "WARN", "activity": testActivity,
		"database": "d", "container": "c", "query": text, "parameters": "@user string, @n number",
		"rows": 2.0, "continued": false} {
		if line[name] != want {
			t.Errorf("%s is %v, want %v", name, line[name], want)
		}
	}
	plan, _ := line["plan"].(string)
	if !strings.Contains(plan, "user") || !strings.Contains(plan, "index entries") {
		t.Errorf("the plan is %q", plan)
	}
	charge := a.header.Get("X-Ms-Request-Charge")
	if !strings.Contains(log.String(), `"charge":`+charge+",") ||
		line["documents"].(float64) < 2 || line["entries"].(float64) <= 0 || line["took"].(float64) < 1e6 {
		t.Errorf("%v, charge %s", line, charge)
	}

	ask(slow(time.Hour)).want(200)
	if log.Len() > 0 {
		t.Errorf("a quick query is told: %s", log.String())
	}
	ask(slow(0)).want(200)
	if log.Len() > 0 {
		t.Errorf("a query is told where none is to be: %s", log.String())
	}
}

// TestSlowQueryThatFails checks that a slow query that fails is logged with its error.
func TestSlowQueryThatFails(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := newServerUnderTest(t, func(s *serverUnderTestOptions) {
		s.server.Logger = slog.New(slog.NewTextHandler(&log, nil))
		s.server.SlowQuery, s.server.Wall = time.Millisecond, tickingClock{ttl.NewManual(start)}
	})
	w.container("")
	w.do("POST", docs, `{"query":"SELECT * FROM"}`, queryHeaders()...).want(400)
	line := log.String()
	if !strings.Contains(line, `msg="slow query"`) || !strings.Contains(line, "error=") {
		t.Errorf("log %q", line)
	}
}
