package httpapi

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// TestStrangeMessages: one message that no document can be made of as it is, or that names a moment that
// nobody can write, keeps nobody from the others.
func TestStrangeMessages(t *testing.T) {
	w := newWorld(t)
	w.do("POST", "/_mayfly/entities", `{"path":"q"}`).want(201)
	const q = "/_mayfly/entities/q/"
	texts := []string{strings.Repeat("[", 200) + strings.Repeat("]", 200), "1e999", strings.Repeat("9", 400),
		`{"a":1,"a":2}`, `"\ud800"`, `{"fits":true}`, "no JSON"}
	for _, text := range texts {
		w.do("POST", q+"send", `{"text":`+strconv.Quote(text)+`}`).want(201)
	}
	w.do("POST", q+"query", `{"query":"SELECT VALUE COUNT(1) FROM c"}`).want(200).has("rows", "[7]")
	w.do("POST", q+"query", `{"query":"SELECT VALUE c.sequenceNumber FROM c WHERE c.body.fits"}`).want(200).
		has("rows", "[6]")
	w.do("POST", q+"query", `{"query":"SELECT VALUE IS_DEFINED(c.body) FROM c"}`).want(200).
		has("rows", "[false,false,false,true,true,true,false]")
	w.do("POST", q+"query", `{"query":"SELECT VALUE LENGTH(c.text) FROM c"}`).want(200).
		has("rows", "[400,5,400,13,8,13,7]")

	far := message.New([]byte("x"))
	far.SetScheduled(time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	far.Set("when", wire.AppendTimestamp(nil, -1<<62))
	if err := w.setup.server.Queues.Send(t.Context(), "q", []*message.Message{far}, nil); err != nil {
		t.Fatal(err)
	}
	w.do("POST", q+"peek", `{"from":8}`).want(200).has("messages.0.scheduled", `"9999-12-31T23:59:59.999Z"`).
		has("messages.0.properties.when", `"0000-01-01T00:00:00Z"`)
	w.do("POST", q+"query", `{"query":"SELECT VALUE COUNT(1) FROM c"}`).want(200).has("rows", "[8]")

	// What is taken away is in the answer.
	old := message.New([]byte("y"))
	old.SetOwnTTL(int64(290*365*24*time.Hour/time.Millisecond), w.setup.server.Queues.Now().UnixMilli())
	list := []*message.Message{old}
	if err := w.setup.server.Queues.Send(t.Context(), "q", list, nil); err != nil {
		t.Fatal(err)
	}
	w.do("POST", q+"receive", `{"count":100}`).want(200)
	e, err := w.setup.server.Queues.Get(t.Context(), "q")
	if err != nil || e.Counts.Active != 0 || e.Properties.DefaultTTL != queue.Forever {
		t.Errorf("%+v %v", e.Counts, err)
	}
}
