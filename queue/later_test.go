package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

func sessions(p *entity.Properties) { p.RequiresSession = true }

func deduped(window time.Duration) func(*entity.Properties) {
	return func(p *entity.Properties) {
		p.RequiresDuplicateDetection, p.DuplicateDetectionWindow = true, window
	}
}

func session(id string) ReceiverOptions { return ReceiverOptions{Session: &SessionRequest{ID: id}} }

func nextSession() ReceiverOptions { return ReceiverOptions{Session: &SessionRequest{Next: true}} }

// TestScheduled checks scheduled messages: when they become active, in which order, and when they expire.
func TestScheduled(t *testing.T) {
	t.Parallel()
	m, s := time.Minute, time.Second
	for name, play := range map[string]func(w *testQueueHost){
		"in its time": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A", due(5*m), lives(10*m)))
			w.at(5*m - s)
			w.expect("q", "")
			if d := w.shows("q", "A"); d[0].Broker.State != message.Scheduled {
				w.t.Fatal(d[0].Broker)
			}
			w.at(5 * m)
			d := w.expect("q", "A")
			if d[0].Broker.EnqueuedTime != start.Add(5*m).UnixMilli() || d[0].Broker.SequenceNumber != 2 {
				w.t.Fatal(d[0].Broker)
			}
			w.settle("q", d[0], SettlementRequest{Outcome: Release})
			w.at(15*m - s)
			w.settle("q", w.expect("q", "A")[0], SettlementRequest{Outcome: Release})
			w.at(15 * m)
			w.expect("q", "")
		},
		"its life begins then, whoever looks when": func(w *testQueueHost) {
			w.queue("q", byDefault(m))
			w.send("q", msg("A", due(5*m), lives(10*m)))
			w.at(6 * m)
			w.expect("q", "")
		},
		"in the order of their times": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A", due(2*m)), msg("B", due(m)), msg("C"), msg("D", due(-m)))
			w.at(2 * m)
			w.expect("q", "C D B A")
		},
		"cancelled": func(w *testQueueHost) {
			w.queue("q")
			list := []*message.Message{msg("A", due(m)), msg("B", due(m))}
			n, err := w.q.Schedule(w.ctx, address("q"), list, nil)
			w.must(err)
			w.fails(w.q.CancelScheduled(w.ctx, address("q"), []int64{n[0], 99}, nil),
				entity.CodeMessageNotFound)
			w.must(w.q.CancelScheduled(w.ctx, address("q"), n[:1], nil))
			w.fails(w.q.CancelScheduled(w.ctx, address("q"), n[:1], nil), entity.CodeMessageNotFound)
			w.at(m)
			w.expect("q", "B")
			w.fails(w.q.CancelScheduled(w.ctx, address("q"), n[1:], nil), entity.CodeMessageNotFound)
		},
		"without a time": func(w *testQueueHost) {
			w.queue("q")
			_, err := w.q.Schedule(w.ctx, address("q"), []*message.Message{msg("A")}, nil)
			w.fails(err, entity.CodeArgument)
		},
		"while nobody is there": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A", due(m), lives(m)))
			w.must(w.h.Close())
			w.base.Advance(10 * m)
			w.open()
			d := w.expect("q", "A")
			if d[0].Broker.EnqueuedTime != start.Add(10*m).UnixMilli() {
				w.t.Fatal(d[0].Broker.EnqueuedTime)
			}
		},
		"many at once": func(w *testQueueHost) {
			w.queue("q")
			var list []*message.Message
			for i := range 1000 {
				list = append(list, msg(fmt.Sprint(i), due(m)))
			}
			w.send("q", list...)
			w.at(m)
			w.sweep()
			r := w.receiver(entity.Address{Entity: "q"}, ReceiverOptions{Mode: ReceiveAndDelete})
			for i := 0; i < 1000; {
				d, err := r.TryReceive(w.ctx, 300)
				w.must(err)
				for _, one := range d {
					if textOf(one) != fmt.Sprint(i) {
						w.t.Fatalf("%s, not %d", textOf(one), i)
					}
					i++
				}
			}
		},
	} {
		both(t, name, play)
	}
}

func both(t *testing.T, name string, play func(w *testQueueHost)) {
	for _, tidy := range []bool{false, true} {
		t.Run(name, func(t *testing.T) {
			w := newTestHost(t, Options{})
			w.tidy = tidy
			play(w)
		})
	}
}

// TestDeferred checks that deferred messages do not expire and are received only by their sequence numbers,
// and that deliveries of them are counted and settled like others.
func TestDeferred(t *testing.T) {
	t.Parallel()
	a := entity.Address{Entity: "q"}
	for name, play := range map[string]func(w *testQueueHost){
		"by its number": func(w *testQueueHost) {
			w.queue("q", lockFor(10*time.Second), attempts(2))
			w.send("q", msg("A", lives(5*time.Second)), msg("B"))
			d := w.expect("q", "A B")
			w.settle("q", d[0],
				SettlementRequest{Outcome: Defer, Modify: []message.ApplicationProperty{property("x", "1")}})
			w.settle("q", d[1], SettlementRequest{Outcome: Complete})
			w.at(time.Hour)
			w.sweep()
			w.expect("q", "")
			w.shows("q", "A+1")
			_, err := w.q.ReceiveDeferred(w.ctx, a, []int64{1, 2}, PeekLock, nil)
			w.fails(err, entity.CodeMessageNotFound)
			for _, want := range []string{"A+1", "A+2", "A+3"} {
				list, err := w.q.ReceiveDeferred(w.ctx, a, []int64{1}, PeekLock, nil)
				w.must(err)
				if texts(list) != want || propertyOf(list[0], "x") != "1" {
					w.t.Fatal(texts(list), propertyOf(list[0], "x"))
				}
				_, err = w.q.ReceiveDeferred(w.ctx, a, []int64{1}, PeekLock, nil)
				w.fails(err, entity.CodeMessageNotFound)
				w.settle("q", list[0], SettlementRequest{Outcome: Abandon})
				w.expect("q", "")
			}
			list, err := w.q.ReceiveDeferred(w.ctx, a, []int64{1}, PeekLock, nil)
			w.must(err)
			w.at(time.Hour + 10*time.Second)
			w.fails(w.q.Settle(w.ctx, a, list[0].Token, SettlementRequest{}, nil), entity.CodeMessageLockLost)
			list, err = w.q.ReceiveDeferred(w.ctx, a, []int64{1}, ReceiveAndDelete, nil)
			w.must(err)
			if texts(list) != "A+5" {
				w.t.Fatal(texts(list))
			}
			w.shows("q", "")
		},
		"to the dead letters": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A"))
			w.settle("q", w.expect("q", "A")[0], SettlementRequest{Outcome: Defer})
			list, err := w.q.ReceiveDeferred(w.ctx, a, []int64{1}, PeekLock, nil)
			w.must(err)
			w.settle("q", list[0], SettlementRequest{Outcome: DeadLetter})
			w.dead("q", "A:<nil>")
		},
		"deferred again and again": func(w *testQueueHost) {
			w.queue("q", attempts(3))
			w.send("q", msg("A"))
			w.settle("q", w.expect("q", "A")[0], SettlementRequest{Outcome: Defer})
			for _, want := range []string{"A+1", "A+2"} {
				list, err := w.q.ReceiveDeferred(w.ctx, a, []int64{1}, PeekLock, nil)
				w.must(err)
				if texts(list) != want || list[0].Broker.State != message.Deferred {
					w.t.Fatal(texts(list), list[0].Broker.State)
				}
				w.settle("q", list[0], SettlementRequest{Outcome: Defer})
			}
			w.dead("q", "A:MaxDeliveryCountExceeded")
		},
		"at the last delivery": func(w *testQueueHost) {
			w.queue("q", attempts(1))
			w.send("q", msg("A"))
			w.settle("q", w.expect("q", "A")[0], SettlementRequest{Outcome: Defer,
				Modify: []message.ApplicationProperty{property("x", "1")}})
			w.dead("q", "A:MaxDeliveryCountExceeded")
			w.shows("q", "")
			_, err := w.q.ReceiveDeferred(w.ctx, a, []int64{1}, PeekLock, nil)
			w.fails(err, entity.CodeMessageNotFound)
		},
		"of a dead letter nothing is counted": func(w *testQueueHost) {
			w.queue("q", attempts(1))
			w.send("q", msg("A"))
			w.settle("q", w.expect("q", "A")[0], SettlementRequest{Outcome: DeadLetter})
			dead := entity.Address{Entity: "q", Sub: entity.DeadLetters}
			d := w.take(dead, ReceiverOptions{})
			w.must(w.q.Settle(w.ctx, dead, d[0].Token, SettlementRequest{Outcome: Defer}, nil))
			list, err := w.q.ReceiveDeferred(w.ctx, dead, []int64{1}, PeekLock, nil)
			w.must(err)
			if texts(list) != "A" {
				w.t.Fatal(texts(list))
			}
		},
	} {
		both(t, name, play)
	}
}

// TestDuplicates checks that a queue with duplicate detection accepts and drops a message whose id it has
// accepted within the window.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("q", deduped(time.Minute))
	w.send("q", msg("X"), msg("X"))
	w.at(30 * time.Second)
	w.send("q", msg("X"))
	w.settle("q", w.expect("q", "X")[0], SettlementRequest{Outcome: Complete})
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

// TestScheduledNumbers checks that Schedule returns a different sequence number for each message, even for
// duplicates, which are dropped, and for messages that are due already.
func TestScheduledNumbers(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("q", deduped(time.Minute))
	w.create(entity.Topic, "t", standard())
	w.create(entity.Subscription, "t/Subscriptions/s", standard())
	scheduled := func(path string, list ...*message.Message) []int64 {
		t.Helper()
		numbers, err := w.q.Schedule(w.ctx, address(path), list, nil)
		w.must(err)
		return numbers
	}
	first := scheduled("q", msg("X", due(time.Hour)), msg("X", due(time.Hour)))
	second := scheduled("q", msg("X", due(time.Hour)), msg("X", due(-time.Hour)), msg("Y", due(-time.Hour)))
	if got := append(first, second...); !slices.Equal(got, []int64{1, 2, 3, 4, 5}) {
		t.Fatal(got)
	}
	w.fails(
		w.q.CancelScheduled(w.ctx, address("q"), []int64{2}, nil),
		entity.CodeMessageNotFound,
	)
	w.shows("q", "X Y")
	w.must(w.q.CancelScheduled(w.ctx, address("q"), []int64{1}, nil))
	w.shows("q", "Y")
	third := scheduled("t", msg("A", due(-time.Hour)), msg("B", due(time.Hour)))
	if !slices.Equal(third, []int64{1, 2}) {
		t.Fatal(third)
	}
	w.expect("t/Subscriptions/s", "A")
}

// TestStateOfActivatedMessage checks that a message that was scheduled is received with the state Scheduled,
// also from a subscription, but not after it was forwarded. Peek shows it as active.
func TestStateOfActivatedMessage(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("q")
	w.create(entity.Topic, "t", standard())
	w.create(entity.Subscription, "t/Subscriptions/s", standard())
	w.queue("end")
	w.queue("via", func(p *entity.Properties) { p.ForwardTo = "end" })
	for _, entity := range []string{"q", "t", "via"} {
		w.send(entity, msg("A", due(time.Minute)), msg("B"), msg("C", due(-time.Minute)))
	}
	w.at(time.Minute)
	w.sweep()
	for entity, want := range map[string]string{"q": "B0 C0 A2", "t/Subscriptions/s": "B0 C0 A2",
		"end": "B0 C0 A0"} {
		var got []string
		for _, d := range w.lock(entity) {
			got = append(got, textOf(d)+fmt.Sprint(d.Broker.State))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, not %s", entity, got, want)
		}
		for _, d := range w.shows(entity, "B C A") {
			if d.Broker.State != message.Active {
				t.Errorf("%s: a peek shows state %d of %s", entity, d.Broker.State, textOf(d))
			}
		}
	}
}

// TestBatchDelete checks that DeleteMessages deletes the messages enqueued before a time, except those
// that are locked or scheduled.
func TestBatchDelete(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	a := entity.Address{Entity: "q"}
	w.queue("q")
	w.send("q", msg("A"), msg("B"), msg("C", due(time.Hour)))
	d := w.expect("q", "A B")
	w.settle("q", d[1], SettlementRequest{Outcome: Release})
	w.at(time.Second)
	w.send("q", msg("D"))
	n, err := w.q.DeleteMessages(w.ctx, a, start.Add(time.Second), 10, nil)
	w.must(err)
	w.shows("q", "A C D")
	if n != 1 {
		t.Fatal(n)
	}
	w.settle("q", d[0], SettlementRequest{Outcome: Release})
	w.expect("q", "A D")
}

// TestReceiveNumber checks that ReceiveNumber locks the message with this sequence number, fails if the
// message is locked, scheduled or missing, and that a released message is available in its old place.
func TestReceiveNumber(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	a := entity.Address{Entity: "q"}
	w.queue("q")
	w.send("q", msg("A"), msg("B"), msg("C"), msg("D", due(time.Hour)), msg("E", lives(time.Minute)))
	none := func(number int64) {
		t.Helper()
		_, err := w.q.ReceiveNumber(w.ctx, a, number)
		w.fails(err, entity.CodeMessageNotFound)
	}
	d, err := w.q.ReceiveNumber(w.ctx, a, 2)
	w.must(err)
	if textOf(d) != "B" {
		t.Fatal(textOf(d))
	}
	none(2)
	none(4)
	none(9)
	w.settle("q", d, SettlementRequest{Outcome: Release})
	first := w.expect("q", "A B C E")
	none(1)
	for _, d := range first {
		w.settle("q", d, SettlementRequest{Outcome: Release})
	}
	w.at(2 * time.Minute)
	none(5)
	d, err = w.q.ReceiveNumber(w.ctx, a, 3)
	w.must(err)
	w.settle("q", d, SettlementRequest{Outcome: Complete})
	w.expect("q", "A B")
	none(3)
	w.queue("s", func(p *entity.Properties) { p.RequiresSession = true })
	_, err = w.q.ReceiveNumber(w.ctx, entity.Address{Entity: "s"}, 1)
	w.fails(err, entity.CodeNotAllowed)
}

// TestDropLocks checks that the locks of a closed receiver end at once with Options.DropLocksOnDisconnect,
// and remain valid without it.
func TestDropLocks(t *testing.T) {
	t.Parallel()
	for _, drop := range []bool{false, true} {
		w := newTestHost(t, Options{DropLocksOnDisconnect: drop})
		w.queue("q")
		w.send("q", msg("A"))
		d := w.expect("q", "A")
		err := w.q.Settle(w.ctx, entity.Address{Entity: "q"}, d[0].Token,
			SettlementRequest{Outcome: Release}, nil)
		if drop {
			w.fails(err, entity.CodeMessageLockLost)
		} else {
			w.must(err)
		}
		w.expect("q", "A")
	}
}

// TestLazyExpiry checks that, with Options.LazyExpiry, the reaper leaves expired messages in place until a
// client receives from the queue.
func TestLazyExpiry(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{LazyExpiry: true})
	w.queue("q")
	w.send("q", msg("A", lives(time.Second)))
	w.at(time.Hour)
	w.sweep()
	w.shows("q", "A")
	w.expect("q", "")
	w.shows("q", "")
}
