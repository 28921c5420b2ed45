package queue

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// TestServersCompete receives the messages of a queue on two servers at the same time, and checks that
// each message is received once.
func TestServersCompete(t *testing.T) {
	t.Parallel()
	const messages = 1000
	for name, mode := range map[string]ReceiveMode{"locked": PeekLock, "deleted": ReceiveAndDelete} {
		t.Run(name, func(t *testing.T) {
			a, b := newServers(t, Options{})
			a.queue("q")
			for i := range messages / 100 {
				var list []*message.Message
				for j := range 100 {
					list = append(list, msg(fmt.Sprint(100*i+j)))
				}
				a.send("q", list...)
			}
			var mu sync.Mutex
			got := make(map[string]int)
			var working sync.WaitGroup
			for i := range 6 {
				from, settles := a, b
				if i%2 == 1 {
					from, settles = b, a
				}
				working.Go(func() {
					for {
						list := from.take(address("q"), ReceiverOptions{Mode: mode})
						if len(list) == 0 {
							return
						}
						mu.Lock()
						for _, d := range list {
							got[textOf(d)]++
						}
						mu.Unlock()
						for _, d := range list {
							if mode == PeekLock {
								settles.settle("q", d, SettlementRequest{})
							}
						}
					}
				})
			}
			working.Wait()
			for text, n := range got {
				if n != 1 {
					t.Errorf("%s was received %d times", text, n)
				}
			}
			if len(got) != messages {
				t.Errorf("%d of %d messages were received", len(got), messages)
			}
			b.shows("q", "")
		})
	}
}

// TestServersWakeReceivers checks that a receiver that waits for a message or a session on one server wakes
// up when another server sends a message or deletes the queue.
func TestServersWakeReceivers(t *testing.T) {
	t.Parallel()
	plain := func(*entity.Properties) {}
	for name, c := range map[string]struct {
		set  func(*entity.Properties)
		o    ReceiverOptions
		then func(b *testQueueHost)
		want string
	}{
		"sent": {plain, ReceiverOptions{}, func(b *testQueueHost) { b.send("q", msg("A")) }, "A"},
		"next session": {sessions, nextSession(),
			func(b *testQueueHost) { b.send("q", msg("A", of("1"))) }, "A"},
		"deleted": {plain, ReceiverOptions{}, func(b *testQueueHost) { b.remove("q") }, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newServers(t, Options{})
			a.queue("q", c.set)
			m, err := a.q.dataset()
			a.must(err)
			m.watcher.Stop() // the test looks itself
			got := make(chan string)
			go func() {
				r, err := a.q.OpenReceiver(a.ctx, address("q"), c.o)
				var list []Delivery
				if err == nil {
					defer r.Close()
					list, err = r.Receive(a.ctx, 10)
				}
				if entity.ErrorCodeOf(err) == entity.CodeEntityNotFound && err != nil {
					got <- "gone"
					return
				}
				got <- texts(list)
			}()
			waitUntil(a, address("q"))
			c.then(b)
			a.must(m.watcher.look(a.ctx))
			if is := <-got; is != c.want {
				t.Fatal(is)
			}
		})
	}
}

// TestServersChangeEntities lets two servers create and delete subscriptions of a topic, and update the
// topic, at the same time, and checks that both have the same subscriptions afterwards.
func TestServersChangeEntities(t *testing.T) {
	t.Parallel()
	const each = 15
	a, b := newServers(t, Options{})
	a.create(entity.Topic, "t", standard())
	var working sync.WaitGroup
	for i, w := range []*testQueueHost{a, b} {
		working.Go(func() {
			for n := range each {
				path := fmt.Sprint("t/Subscriptions/s", i, ".", n)
				if _, err := w.q.Create(w.ctx, entity.Subscription, path, standard()); err != nil {
					t.Error(err)
				}
				if _, err := w.q.Update(w.ctx, "t", standard()); err != nil {
					t.Error(err)
				}
				if err := w.q.Send(w.ctx, address("t"), []*message.Message{msg("A")}, nil); err != nil {
					t.Error(err)
				}
				if n%3 == 0 {
					if err := w.q.Delete(w.ctx, path); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	working.Wait()
	describe := func(w *testQueueHost) (lines string) {
		list, err := w.q.List(w.ctx, entity.Subscription, "t", 0, 100)
		w.must(err)
		for _, e := range list {
			lines += fmt.Sprintln(e.Path, e.Counts.Active, e.Updated)
		}
		return lines
	}
	one, two := describe(a), describe(b)
	if one != two || strings.Count(one, "\n") != 2*each*2/3 {
		t.Errorf("one server has\n%s\nthe other\n%s", one, two)
	}
	a.send("t", msg("last"))
	if got := describe(b); got == one {
		t.Error("the last message has not arrived")
	}
}

// TestServerKilled ends a server that has locked messages. Another server must receive these messages
// after their locks have lapsed, with one failed delivery.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	const messages = 200
	a, b := newServers(t, Options{})
	a.queue("q", lockFor(10*time.Second))
	for i := range messages {
		a.send("q", msg(fmt.Sprint(i)))
	}
	var mu sync.Mutex
	locked := make(map[string]bool)
	var receiving sync.WaitGroup
	half := make(chan struct{}, 1)
	for range 3 {
		r, err := a.q.OpenReceiver(a.ctx, address("q"), ReceiverOptions{})
		a.must(err)
		receiving.Go(func() {
			for {
				list, err := r.TryReceive(a.ctx, 3)
				if err != nil || len(list) == 0 {
					return
				}
				mu.Lock()
				for _, d := range list {
					locked[textOf(d)] = true
				}
				if len(locked) > messages/2 {
					select {
					case half <- struct{}{}:
					default:
					}
				}
				mu.Unlock()
			}
		})
	}
	<-half
	a.must(a.h.Close())
	receiving.Wait()
	got := b.lock("q")
	b.pass(10 * time.Second)
	for list := b.lock("q"); len(list) > 0; list = b.lock("q") {
		got = append(got, list...)
	}
	failed := 0
	there := make(map[string]bool)
	for _, d := range got {
		if there[textOf(d)] = true; locked[textOf(d)] && d.Broker.DeliveryCount == 1 {
			failed++
		}
	}
	if len(there) != messages || failed != len(locked) {
		t.Errorf("%d messages of %d, %d failed deliveries of %d", len(there), messages, failed, len(locked))
	}
}
