package httpapi

import (
	"context"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/testdisk"
)

// changes opens Mayfly's stream of changes (/_mayfly/changes, server-sent events) and returns the lines
// after the first event, which must be "ready".
func (w *serverUnderTest) changes(ctx context.Context, base, query string) <-chan string {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", base+"/_mayfly/changes"+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.sign(r)
	lines := w.events(r)
	if name, _, data := event(w.t, lines); name != "ready" || data != "{}" {
		w.t.Fatal(name, data)
	}
	return lines
}

// TestChangesStream checks that each kind of change causes an event on the stream of changes, even after
// the followed container was deleted, and that changes of other containers cause none.
func TestChangesStream(t *testing.T) {
	w := newServerUnderTest(t)
	w.container(hashed + `,"defaultTtl":60`)
	w.do("POST", "/dbs/d/colls", `{"id":"other",`+hashed+`}`).want(201)
	base, stop := w.listen()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	lines := w.changes(ctx, base, "?container=d/c")
	all := w.changes(ctx, base, "")
	// want waits for an event. There may be others before it, except an event without.
	want := func(lines <-chan string, name, without string) {
		t.Helper()
		if testdisk.Postgres(t) { // each second something may have changed that no other server has reported
			without = "none"
		}
		for {
			select {
			case line := <-lines:
				if line == "event: "+name {
					return
				}
				if line == "event: "+without {
					t.Fatalf("%s before %s", line, name)
				}
			default: // the server pauses behind each event
				w.wall.Advance(50 * time.Millisecond)
				runtime.Gosched()
			}
		}
	}
	w.do("POST", "/dbs/d/colls/other/docs", `{"id":"1","pk":"p"}`, pk(`["p"]`)...).want(201)
	w.do("POST", "/_mayfly/entities", `{"path":"q"}`).want(201)
	want(lines, "messages", "items")
	w.upsertTTL("a", "").want(201)
	want(lines, "items", "catalog")
	w.do("POST", queueQ+"send", `{"text":"x"}`).want(201)
	want(lines, "messages", "items")
	want(all, "messages", "items")
	w.do("DELETE", "/dbs/d/colls/c", "").want(204)
	want(lines, "catalog", "messages")
	w.container(hashed)
	want(lines, "catalog", "messages")
	w.upsertTTL("b", "").want(201)
	want(lines, "items", "messages")
	w.do("GET", "/_mayfly/changes?container=x", "").fails(400, 0, "database/id")
	stop()
	for range lines {
	}
	for range all {
	}
}
