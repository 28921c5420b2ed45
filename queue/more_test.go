package queue

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/message"
)

func sessions(p *Properties) { p.RequiresSession = true }

func deduped(window time.Duration) func(*Properties) {
	return func(p *Properties) { p.RequiresDuplicateDetection, p.DuplicateDetectionWindow = true, window }
}

func session(id string) ReceiverOptions { return ReceiverOptions{Session: &SessionRequest{ID: id}} }

func nextSession() ReceiverOptions { return ReceiverOptions{Session: &SessionRequest{Next: true}} }

// TestScheduled are the cases of scheduled messages.
func TestScheduled(t *testing.T) {
	m, s := time.Minute, time.Second
	for name, play := range map[string]func(w *world){
		"in its time": func(w *world) {
			w.queue("q")
			w.send("q", msg("A", due(5*m), lives(10*m)))
			w.at(5*m - s)
			w.expect("q", "")
			if d := w.shows("q", "A"); d[0].Broker.State != int32(scheduled) {
				w.t.Fatal(d[0].Broker)
			}
			w.at(5 * m)
			d := w.expect("q", "A")
			if !d[0].Broker.EnqueuedTime.Equal(start.Add(5*m)) || d[0].Broker.SequenceNumber != 2 {
				w.t.Fatal(d[0].Broker)
			}
			w.settle("q", d[0], Settlement{Outcome: Release})
			w.at(15*m - s)
			w.settle("q", w.expect("q", "A")[0], Settlement{Outcome: Release})
			w.at(15 * m)
			w.expect("q", "")
		},
		"its life begins then, whoever looks when": func(w *world) {
			w.queue("q", byDefault(m))
			w.send("q", msg("A", due(5*m), lives(10*m)))
			w.at(6 * m)
			w.expect("q", "")
		},
		"in the order of their times": func(w *world) {
			w.queue("q")
			w.send("q", msg("A", due(2*m)), msg("B", due(m)), msg("C"), msg("D", due(-m)))
			w.at(2 * m)
			w.expect("q", "C D B A")
		},
		"cancelled": func(w *world) {
			w.queue("q")
			list := []*message.Message{msg("A", due(m)), msg("B", due(m))}
			n, err := w.q.Schedule(w.ctx, "q", list, nil)
			w.must(err)
			w.fails(w.q.CancelScheduled(w.ctx, "q", []int64{n[0], 99}), CodeMessageNotFound)
			w.must(w.q.CancelScheduled(w.ctx, "q", n[:1]))
			w.fails(w.q.CancelScheduled(w.ctx, "q", n[:1]), CodeMessageNotFound)
			w.at(m)
			w.expect("q", "B")
			w.fails(w.q.CancelScheduled(w.ctx, "q", n[1:]), CodeMessageNotFound)
		},
		"without a time": func(w *world) {
			w.queue("q")
			_, err := w.q.Schedule(w.ctx, "q", []*message.Message{msg("A")}, nil)
			w.fails(err, CodeArgument)
		},
		"while nobody is there": func(w *world) {
			w.queue("q")
			w.send("q", msg("A", due(m), lives(m)))
			w.must(w.h.Close())
			w.base.Advance(10 * m)
			w.open()
			d := w.expect("q", "A")
			if !d[0].Broker.EnqueuedTime.Equal(start.Add(10 * m)) {
				w.t.Fatal(d[0].Broker.EnqueuedTime)
			}
		},
		"many at once": func(w *world) {
			w.queue("q")
			var list []*message.Message
			for i := range 1000 {
				list = append(list, msg(fmt.Sprint(i), due(m)))
			}
			w.send("q", list...)
			w.at(m)
			w.sweep()
			r := w.receiver(Address{Entity: "q"}, ReceiverOptions{Mode: ReceiveAndDelete})
			for i := 0; i < 1000; {
				d, err := r.TryReceive(w.ctx, 300)
				w.must(err)
				for _, one := range d {
					if string(one.Message.Body) != fmt.Sprint(i) {
						w.t.Fatalf("%s, not %d", one.Message.Body, i)
					}
					i++
				}
			}
		},
	} {
		both(t, name, play)
	}
}

func both(t *testing.T, name string, play func(w *world)) {
	for _, tidy := range []bool{false, true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			w.tidy = tidy
			play(w)
		})
	}
}

// TestDeferred are the cases of deferred messages.
func TestDeferred(t *testing.T) {
	a := Address{Entity: "q"}
	for name, play := range map[string]func(w *world){
		"by its number": func(w *world) {
			w.queue("q", lockFor(10*time.Second), attempts(2))
			w.send("q", msg("A", lives(5*time.Second)), msg("B"))
			d := w.expect("q", "A B")
			w.settle("q", d[0], Settlement{Outcome: Defer, Modify: []message.Property{{Name: "x", Value: "1"}}})
			w.settle("q", d[1], Settlement{Outcome: Complete})
			w.at(time.Hour)
			w.sweep()
			w.expect("q", "")
			w.shows("q", "A")
			_, err := w.q.ReceiveDeferred(w.ctx, a, []int64{1, 2}, PeekLock, nil)
			w.fails(err, CodeMessageNotFound)
			for _, want := range []string{"A", "A+1", "A+2"} {
				list, err := w.q.ReceiveDeferred(w.ctx, a, []int64{1}, PeekLock, nil)
				w.must(err)
				if texts(list) != want || list[0].Message.Properties["x"] != "1" {
					w.t.Fatal(texts(list), list[0].Message.Properties)
				}
				_, err = w.q.ReceiveDeferred(w.ctx, a, []int64{1}, PeekLock, nil)
				w.fails(err, CodeMessageNotFound)
				w.settle("q", list[0], Settlement{Outcome: Abandon})
				w.expect("q", "")
			}
			list, err := w.q.ReceiveDeferred(w.ctx, a, []int64{1}, PeekLock, nil)
			w.must(err)
			w.at(time.Hour + 10*time.Second)
			w.fails(w.q.Settle(w.ctx, a, list[0].Token, Settlement{}, nil), CodeMessageLockLost)
			list, err = w.q.ReceiveDeferred(w.ctx, a, []int64{1}, ReceiveAndDelete, nil)
			w.must(err)
			if texts(list) != "A+4" {
				w.t.Fatal(texts(list))
			}
			w.shows("q", "")
		},
		"to the dead letters": func(w *world) {
			w.queue("q")
			w.send("q", msg("A"))
			w.settle("q", w.expect("q", "A")[0], Settlement{Outcome: Defer})
			list, err := w.q.ReceiveDeferred(w.ctx, a, []int64{1}, PeekLock, nil)
			w.must(err)
			w.settle("q", list[0], Settlement{Outcome: DeadLetter})
			w.dead("q", "A:<nil>")
		},
	} {
		both(t, name, play)
	}
}

// TestDuplicates: what was accepted within the window is accepted and dropped.
func TestDuplicates(t *testing.T) {
	w := newWorld(t, Options{})
	w.queue("q", deduped(time.Minute))
	w.send("q", msg("X"), msg("X"))
	w.at(30 * time.Second)
	w.send("q", msg("X"))
	w.settle("q", w.expect("q", "X")[0], Settlement{Outcome: Complete})
	w.reopen()
	w.send("q", msg("X"))
	w.at(61 * time.Second)
	w.send("q", msg("X"), msg("Y", due(2*time.Minute)))
	w.send("q", msg("Y"))
	if d := w.expect("q", "X"); d[0].Broker.SequenceNumber != 2 {
		t.Fatal(d[0].Broker.SequenceNumber)
	}
	w.at(10 * time.Minute)
	w.sweep()
	w.expect("q", "X+1 Y")
}

// TestSessions are the cases of sessions.
func TestSessions(t *testing.T) {
	a := Address{Entity: "q"}
	s := time.Second
	for name, play := range map[string]func(w *world){
		"each to one receiver": func(w *world) {
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
			w.fails(err, CodeTimeout)
			_, err = w.q.OpenReceiver(w.ctx, a, session("1"))
			w.fails(err, CodeSessionCannotBeLocked)
			r1.Close()
			if texts(w.take(a, session("1"))) != "A C" {
				w.t.Fatal("not counted")
			}
		},
		"lapsed": func(w *world) {
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
			w.fails(w.q.Settle(w.ctx, a, d[0].Token, Settlement{}, nil), CodeSessionLockLost)
			w.sweep()
			<-r.Ended()
			_, err = r.TryReceive(w.ctx, 1)
			w.fails(err, CodeSessionLockLost)
			if got := texts(w.take(a, session("1"))); got != "A+1 B" {
				w.t.Fatal(got)
			}
		},
		"state": func(w *world) {
			w.queue("q", sessions)
			r := w.receiver(a, session("1"))
			w.must(r.SetSessionState(w.ctx, []byte("x")))
			r.Close()
			w.fails(r.SetSessionState(w.ctx, nil), CodeCancelled)
			w.reopen()
			r = w.receiver(a, session("1"))
			got, err := r.SessionState(w.ctx)
			w.must(err)
			if string(got) != "x" {
				w.t.Fatal(got)
			}
			w.at(10 * s)
			w.must(r.SetSessionState(w.ctx, []byte("y")))
			for at, want := range map[time.Duration]string{9 * s: "1", 10 * s: ""} {
				changed := start.Add(at)
				ids, err := w.q.Sessions(w.ctx, a, &changed, 0, 10)
				w.must(err)
				if strings.Join(ids, " ") != want {
					w.t.Fatal(ids, want)
				}
			}
			w.must(r.SetSessionState(w.ctx, nil))
			if got, err = r.SessionState(w.ctx); got != nil || err != nil {
				w.t.Fatal(got, err)
			}
		},
		"listed": func(w *world) {
			w.queue("q", sessions)
			w.send("q", msg("A", of("b")), msg("B", of("a")), msg("C", of("a")), msg("D", of("c\x00")))
			ids, err := w.q.Sessions(w.ctx, a, nil, 1, 10)
			w.must(err)
			if strings.Join(ids, " ") != "b c\x00" {
				w.t.Fatalf("%q", ids)
			}
		},
		"without one": func(w *world) {
			w.queue("q", sessions)
			w.queue("plain")
			w.fails(w.q.Send(w.ctx, "q", []*message.Message{msg("A")}, nil), CodeNotAllowed)
			_, err := w.q.OpenReceiver(w.ctx, a, ReceiverOptions{})
			w.fails(err, CodeNotAllowed)
			_, err = w.q.OpenReceiver(w.ctx, Address{Entity: "plain"}, nextSession())
			w.fails(err, CodeNotAllowed)
		},
		"in order, the abandoned first": func(w *world) {
			w.queue("q", sessions)
			w.send("q", msg("A", of("1")), msg("B", of("1")), msg("C", of("1")))
			r := w.receiver(a, session("1"))
			d, err := r.TryReceive(w.ctx, 2)
			w.must(err)
			w.settle("q", d[0], Settlement{Outcome: Abandon})
			d, err = r.TryReceive(w.ctx, 2)
			w.must(err)
			if texts(d) != "A+1 C" {
				w.t.Fatal(texts(d))
			}
		},
		"oldest head first, expired ones aside": func(w *world) {
			w.queue("q", sessions)
			w.send("q", msg("A", of("1"), lives(s)), msg("B", of("2")), msg("C", of("1")), msg("D", of("3"), lives(s)))
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
			w.fails(err, CodeTimeout)
			r2.Close()
		},
	} {
		both(t, name, play)
	}
}

// TestWaiting: who waits is woken, first come first served, by whatever brings a message.
func TestWaiting(t *testing.T) {
	a := Address{Entity: "q"}
	s := time.Second
	for name, c := range map[string]struct {
		set   []func(*Properties)
		o     ReceiverOptions
		first func(w *world)
		then  func(w *world)
		want  string
	}{
		"sent": {then: func(w *world) { w.send("q", msg("A")) }, want: "A"},
		"a lock lapses": {
			set:   []func(*Properties){lockFor(10 * s)},
			first: func(w *world) { w.send("q", msg("A")); w.expect("q", "A") },
			then:  func(w *world) { w.at(10 * s) }, want: "A+1"},
		"its time comes": {
			first: func(w *world) { w.send("q", msg("A", due(s))) },
			then:  func(w *world) { w.at(s) }, want: "A"},
		"in a session": {set: []func(*Properties){sessions}, o: session("1"),
			then: func(w *world) { w.send("q", msg("A", of("1"))) }, want: "A"},
		"the next session": {set: []func(*Properties){sessions}, o: nextSession(),
			then: func(w *world) { w.send("q", msg("A", of("1"))) }, want: "A"},
		"a session that is released": {set: []func(*Properties){sessions, lockFor(10 * s)}, o: nextSession(),
			first: func(w *world) { w.send("q", msg("A", of("1"))); w.receiver(a, session("1")) },
			then:  func(w *world) { w.at(10 * s) }, want: "A"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
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

// waitUntil returns when somebody waits in a store.
func waitUntil(w *world, a Address) {
	w.t.Helper()
	s, err := w.q.store(a)
	w.must(err)
	for n := 0; n == 0; {
		s.mu.Lock()
		n = s.place.waiters.idle.Len() + s.free.idle.Len()
		for _, l := range s.sessions {
			n += l.place.waiters.idle.Len()
		}
		s.mu.Unlock()
	}
}

// TestEnded: receivers end with what they receive from.
func TestEnded(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(w *world)
		want Code
	}{
		"deleted":  {func(w *world) { w.must(w.q.StandDelete(w.ctx, "q")) }, CodeEntityNotFound},
		"disabled": {func(w *world) { w.update("q", func(p *Properties) { p.Status = ReceiveDisabled }) }, CodeEntityDisabled},
		"stopped":  {func(w *world) { w.reopen() }, CodeCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			w.queue("q")
			r := w.receiver(Address{Entity: "q"}, ReceiverOptions{})
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

// TestBatchDelete: the oldest go, but for locked and scheduled ones.
func TestBatchDelete(t *testing.T) {
	w := newWorld(t, Options{})
	a := Address{Entity: "q"}
	w.queue("q")
	w.send("q", msg("A"), msg("B"), msg("C", due(time.Hour)))
	d := w.expect("q", "A B")
	w.settle("q", d[1], Settlement{Outcome: Release})
	w.at(time.Second)
	w.send("q", msg("D"))
	n, err := w.q.DeleteMessages(w.ctx, a, start.Add(time.Second), 10, nil)
	w.must(err)
	w.shows("q", "A C D")
	if n != 1 {
		t.Fatal(n)
	}
	w.settle("q", d[0], Settlement{Outcome: Release})
	w.expect("q", "A D")
}

// TestDropLocks: with the option the messages of a receiver that is gone are there again at once, else their locks last.
func TestDropLocks(t *testing.T) {
	for _, drop := range []bool{false, true} {
		w := newWorld(t, Options{DropLocksOnDisconnect: drop})
		w.queue("q")
		w.send("q", msg("A"))
		d := w.expect("q", "A")
		err := w.q.Settle(w.ctx, Address{Entity: "q"}, d[0].Token, Settlement{Outcome: Release}, nil)
		if drop {
			w.fails(err, CodeMessageLockLost)
		} else {
			w.must(err)
		}
		w.expect("q", "A")
	}
}

// TestLazyExpiry: what has expired lies where it is until somebody receives.
func TestLazyExpiry(t *testing.T) {
	w := newWorld(t, Options{LazyExpiry: true})
	w.queue("q")
	w.send("q", msg("A", lives(time.Second)))
	w.at(time.Hour)
	w.sweep()
	w.shows("q", "A")
	w.expect("q", "")
	w.shows("q", "")
}
