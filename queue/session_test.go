package queue

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// TestSessions checks sessions: their locks, the order of their messages, and their state.
func TestSessions(t *testing.T) {
	t.Parallel()
	a := entity.Address{Entity: "q"}
	s := time.Second
	for name, play := range map[string]func(w *testQueueHost){
		"each to one receiver": func(w *testQueueHost) {
			w.queue("q", sessions)
			w.send("q", msg("A", of("1")), msg("B", of("2")), msg("C", of("1")))
			r1, r2 := w.receiver(a, nextSession()), w.receiver(a, nextSession())
			for r, want := range map[*Receiver]string{r1: "A C", r2: "B"} {
				d, err := r.TryReceive(w.ctx, 10)
				w.must(err)
				if texts(d) != want {
					w.t.Fatal(texts(d), want)
				}
			}
			ctx, cancel := context.WithTimeout(w.ctx, 10*time.Millisecond)
			defer cancel()
			_, err := w.q.OpenReceiver(ctx, a, nextSession())
			w.fails(err, entity.CodeTimeout)
			_, err = w.q.OpenReceiver(w.ctx, a, session("1"))
			w.fails(err, entity.CodeSessionCannotBeLocked)
			r1.Close()
			if texts(w.take(a, session("1"))) != "A C" {
				w.t.Fatal("not counted")
			}
		},
		"lapsed": func(w *testQueueHost) {
			w.queue("q", sessions, lockFor(10*s), attempts(2))
			w.send("q", msg("A", of("1")), msg("B", of("1")))
			r := w.receiver(a, session("1"))
			d, err := r.TryReceive(w.ctx, 1)
			w.must(err)
			w.at(8 * s)
			until, err := r.RenewSession(w.ctx)
			w.must(err)
			if !until.Equal(start.Add(18 * s)) {
				w.t.Fatal(until)
			}
			w.at(18 * s)
			w.fails(w.q.Settle(w.ctx, a, d[0].Token, SettlementRequest{}, nil), entity.CodeSessionLockLost)
			w.sweep()
			<-r.Ended()
			_, err = r.TryReceive(w.ctx, 1)
			w.fails(err, entity.CodeSessionLockLost)
			if got := texts(w.take(a, session("1"))); got != "A+1 B" {
				w.t.Fatal(got)
			}
		},
		"state": func(w *testQueueHost) {
			w.queue("q", sessions)
			r := w.receiver(a, session("1"))
			w.must(r.SetSessionState(w.ctx, []byte("x"), nil))
			r.Close()
			w.fails(r.SetSessionState(w.ctx, nil, nil), entity.CodeCancelled)
			w.reopen()
			r = w.receiver(a, session("1"))
			got, err := r.SessionState(w.ctx)
			w.must(err)
			if string(got) != "x" {
				w.t.Fatal(got)
			}
			w.at(10 * s)
			w.must(r.SetSessionState(w.ctx, []byte("y"), nil))
			for at, want := range map[time.Duration]string{9 * s: "1", 10 * s: ""} {
				changed := start.Add(at)
				ids, err := w.q.Sessions(w.ctx, a, &changed, 0, 10)
				w.must(err)
				if strings.Join(ids, " ") != want {
					w.t.Fatal(ids, want)
				}
			}
			for _, nothing := range [][]byte{nil, {}} {
				w.must(r.SetSessionState(w.ctx, []byte("z"), nil))
				w.must(r.SetSessionState(w.ctx, nothing, nil))
				if got, err = r.SessionState(w.ctx); got != nil || err != nil {
					w.t.Fatal(got, err)
				}
			}
		},
		"listed": func(w *testQueueHost) {
			w.queue("q", sessions)
			w.send("q", msg("A", of("b")), msg("B", of("a")), msg("C", of("a")), msg("D", of("c\x00")))
			for _, id := range []string{"b", "bb", "d"} {
				w.must(w.receiver(a, session(id)).SetSessionState(w.ctx, []byte("x"), nil))
			}
			for skip, want := range []string{"a b bb", "b bb c\x00", "bb c\x00 d", "c\x00 d", "d", ""} {
				ids, err := w.q.Sessions(w.ctx, a, nil, skip, 3)
				w.must(err)
				if strings.Join(ids, " ") != want {
					w.t.Fatalf("%q, not %q", ids, want)
				}
			}
		},
		"locked to the end of time": func(w *testQueueHost) {
			w.queue("q", sessions)
			w.send("q", msg("A", of("1")), msg("B", of("1")))
			r := w.receiver(a, session("1"))
			d, err := r.TryReceive(w.ctx, 2)
			w.must(err)
			w.settle("q", d[0], SettlementRequest{Outcome: Defer})
			more, err := w.q.ReceiveDeferred(w.ctx, a, []int64{1}, PeekLock, r)
			w.must(err)
			if one, two := d[1].Broker.LockedUntil, more[0].Broker.LockedUntil; one != message.LastMoment ||
				two != message.LastMoment {
				w.t.Fatal(one, two)
			}
			if _, until, _ := r.Session(); !until.Equal(start.Add(time.Minute)) {
				w.t.Fatal(until)
			}
		},
		"without one": func(w *testQueueHost) {
			w.queue("q", sessions)
			w.queue("plain")
			w.fails(w.q.Send(w.ctx, address("q"), []*message.Message{msg("A")}, nil), entity.CodeNotAllowed)
			_, err := w.q.OpenReceiver(w.ctx, a, ReceiverOptions{})
			w.fails(err, entity.CodeNotAllowed)
			_, err = w.q.OpenReceiver(w.ctx, entity.Address{Entity: "plain"}, nextSession())
			w.fails(err, entity.CodeNotAllowed)
			if !strings.Contains(err.Error(), "Ensure RequiresSession is set to true") {
				w.t.Error(err) // clients look for this part of the service's message
			}
		},
		"in order, the abandoned first": func(w *testQueueHost) {
			w.queue("q", sessions)
			w.send("q", msg("A", of("1")), msg("B", of("1")), msg("C", of("1")))
			r := w.receiver(a, session("1"))
			d, err := r.TryReceive(w.ctx, 2)
			w.must(err)
			w.settle("q", d[0], SettlementRequest{Outcome: Abandon})
			d, err = r.TryReceive(w.ctx, 2)
			w.must(err)
			if texts(d) != "A+1 C" {
				w.t.Fatal(texts(d))
			}
		},
		"oldest head first, expired ones aside": func(w *testQueueHost) {
			w.queue("q", sessions)
			w.send("q", msg("A", of("1"), lives(s)), msg("B", of("2")), msg("C", of("1")))
			w.send("q", msg("D", of("3"), lives(s)))
			w.tidy = false
			w.at(s)
			r := w.receiver(a, nextSession())
			if id, _, _ := r.Session(); id != "1" && id != "2" {
				w.t.Fatal(id)
			}
			r2 := w.receiver(a, nextSession())
			ctx, cancel := context.WithCancel(w.ctx)
			cancel()
			_, err := w.q.OpenReceiver(ctx, a, nextSession())
			w.fails(err, entity.CodeTimeout)
			r2.Close()
		},
	} {
		both(t, name, play)
	}
}
