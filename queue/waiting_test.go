package queue

import (
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
)

// TestWaiting checks that a waiting receiver wakes up for everything that makes a message or a session
// available: a send, a lapsed lock, or the due time of a scheduled message.
func TestWaiting(t *testing.T) {
	t.Parallel()
	a := entity.Address{Entity: "q"}
	s := time.Second
	for name, c := range map[string]struct {
		set   []func(*entity.Properties)
		o     ReceiverOptions
		first func(w *testQueueHost)
		then  func(w *testQueueHost)
		want  string
	}{
		"sent": {then: func(w *testQueueHost) { w.send("q", msg("A")) }, want: "A"},
		"a lock lapses": {
			set:   []func(*entity.Properties){lockFor(10 * s)},
			first: func(w *testQueueHost) { w.send("q", msg("A")); w.expect("q", "A") },
			then:  func(w *testQueueHost) { w.at(10 * s) }, want: "A+1"},
		"its time comes": {
			first: func(w *testQueueHost) { w.send("q", msg("A", due(s))) },
			then:  func(w *testQueueHost) { w.at(s) }, want: "A"},
		"in a session": {set: []func(*entity.Properties){sessions}, o: session("1"),
			then: func(w *testQueueHost) { w.send("q", msg("A", of("1"))) }, want: "A"},
		"the next session": {set: []func(*entity.Properties){sessions}, o: nextSession(),
			then: func(w *testQueueHost) { w.send("q", msg("A", of("1"))) }, want: "A"},
		"a session that is released": {
			set: []func(*entity.Properties){sessions, lockFor(10 * s)}, o: nextSession(),
			first: func(w *testQueueHost) { w.send("q", msg("A", of("1"))); w.receiver(a, session("1")) },
			then:  func(w *testQueueHost) { w.at(10 * s) }, want: "A"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestHost(t, Options{})
			w.queue("q", c.set...)
			if c.first != nil {
				c.first(w)
			}
			type result struct {
				list []Delivery
				err  error
			}
			got := make(chan result)
			go func() {
				var res result
				r, err := w.q.OpenReceiver(w.ctx, a, c.o)
				if res.err = err; err == nil {
					defer r.Close()
					res.list, res.err = r.Receive(w.ctx, 10)
				}
				got <- res
			}()
			waitUntil(w, a)
			c.then(w)
			res := <-got
			w.must(res.err)
			if texts(res.list) != c.want {
				t.Fatal(texts(res.list))
			}
		})
	}
}

// waitUntil returns as soon as a receiver waits for messages of the store with this address.
func waitUntil(w *testQueueHost, a entity.Address) {
	w.t.Helper()
	s, err := w.q.store(w.ctx, a)
	w.must(err)
	for n := 0; n == 0; {
		s.mu.Lock()
		n = s.cursor.Waiters.Len() + s.free.Len()
		for _, l := range s.sessions {
			n += l.cursor.Waiters.Len()
		}
		s.mu.Unlock()
	}
}

func noReceivers(p *entity.Properties) { p.Status = entity.ReceiveDisabled }

// TestReceiverEndErrors checks with which error receivers end when their queue is deleted or disabled, or the
// server stops.
func TestReceiverEndErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(w *testQueueHost)
		want entity.ErrorCode
	}{
		"deleted":  {func(w *testQueueHost) { w.remove("q") }, entity.CodeEntityNotFound},
		"disabled": {func(w *testQueueHost) { w.update("q", noReceivers) }, entity.CodeEntityDisabled},
		"stopped":  {func(w *testQueueHost) { w.reopen() }, entity.CodeCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestHost(t, Options{})
			w.queue("q")
			r := w.receiver(entity.Address{Entity: "q"}, ReceiverOptions{})
			got := make(chan error)
			go func() {
				_, err := r.Receive(w.ctx, 1)
				got <- err
			}()
			c.end(w)
			w.fails(<-got, c.want)
			<-r.Ended()
			w.fails(r.Err(), c.want)
		})
	}
}
