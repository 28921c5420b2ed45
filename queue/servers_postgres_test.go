package queue

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine/postgres"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/pgschema"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/ttl"
)

// newServersOfOneDatabase returns two servers, each with an engine of its own, over one PostgreSQL database.
// They use the clocks of the database and of the machine.
func newServersOfOneDatabase(t *testing.T) (a, b *testQueueHost) {
	t.Helper()
	url, schema := pgschema.URL(t), pgschema.New(t)
	server := func() *testQueueHost {
		w := &testQueueHost{t: t, ctx: t.Context(), q: New(Options{})}
		e, err := postgres.Open(w.ctx, postgres.Options{URL: url, Schema: schema, AllowUnsafe: true,
			Logger: slog.New(slog.DiscardHandler)})
		w.must(err)
		w.h, err = host.Open(w.ctx, e, host.Options{ManualReaper: true}, w.q.Tenant())
		w.must(err)
		t.Cleanup(func() { w.must(w.h.Close()) })
		return w
	}
	a, b = server(), server()
	t.Cleanup(b.check)
	return a, b
}

// TestWaitsOfOneDatabase checks that a receiver that waits on one server gets a message sent on another
// server soon: half of the waits must end within 100 ms, since PostgreSQL notifies the servers of changes.
// Without notifications a server looks once a second, and half of the waits would take more than 400 ms.
func TestWaitsOfOneDatabase(t *testing.T) {
	t.Parallel()
	const waits = 50
	for name, c := range map[string]struct {
		set func(*entity.Properties)
		o   ReceiverOptions
	}{
		"receive": {func(*entity.Properties) {}, ReceiverOptions{Mode: ReceiveAndDelete}},
		"session": {sessions, ReceiverOptions{Mode: ReceiveAndDelete, Session: &SessionRequest{Next: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newServersOfOneDatabase(t)
			a.queue("q", c.set)
			passed := make([]time.Duration, waits)
			for i := range passed {
				got := make(chan string, 1)
				go func() { got <- a.waitForOne("q", c.o) }()
				waitUntil(a, address("q"))
				text := fmt.Sprint(i)
				b.send("q", msg(text, of(text)))
				began := ttl.SystemClock{}.Now()
				is := <-got
				passed[i] = ttl.SystemClock{}.Now().Sub(began)
				if is != text {
					t.Fatalf("message %d: %s", i, is)
				}
			}
			slices.Sort(passed)
			median, greatest := passed[waits/2], passed[waits-1]
			t.Logf("waits end %v after the message is sent in the median, %v at most", median, greatest)
			if median > 100*time.Millisecond {
				t.Errorf("a wait ends %v after the message is sent; all: %v", median, passed)
			}
		})
	}
}

// waitForOne opens a receiver, waits for one message, and returns its text. If a step fails, it returns
// the text of the error.
func (w *testQueueHost) waitForOne(queue string, o ReceiverOptions) string {
	r, err := w.q.OpenReceiver(w.ctx, address(queue), o)
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	list, err := r.Receive(w.ctx, 1)
	if err != nil {
		return err.Error()
	}
	return texts(list)
}
