package queue

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/crashdisk"
	"github.com/mayflydb/mayfly/internal/doors"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/trips"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/ttl"
)

// sharedDoor is one server's door to an engine that several servers share.
type sharedDoor struct {
	engine.Engine
	engine.Getter
}

func (sharedDoor) Shared() bool { return true }

// newServers returns two servers over one engine, with one clock.
func newServers(t *testing.T, o Options) (a, b *world) {
	t.Helper()
	disk := crashdisk.New()
	e, err := pebble.Open(t.Context(), pebble.Options{Dir: "data", FS: disk, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	shared, err := doors.Share(e)
	if err != nil {
		t.Fatal(err)
	}
	base := ttl.NewManual(start)
	server := func() *world {
		w := &world{t: t, ctx: t.Context(), fs: disk, base: base, opts: o, q: New(o)}
		door := shared.Door()
		w.h, err = host.Open(w.ctx, sharedDoor{door, door.(engine.Getter)},
			host.Options{Clock: ttl.NewVirtual(base), ManualReaper: true}, w.q.Tenant())
		w.must(err)
		t.Cleanup(func() { w.must(w.h.Close()) })
		return w
	}
	a, b = server(), server()
	t.Cleanup(b.check)
	return a, b
}

// pass moves the clock of all servers.
func (w *world) pass(d time.Duration) { w.base.Advance(d) }

// TestServers: what one server does to messages and entities holds for the next operation of another.
func TestServers(t *testing.T) {
	q, s := entity.Address{Entity: "q"}, time.Second
	for name, play := range map[string]func(a, b *world){
		"an entity is found at once": func(a, b *world) {
			a.queue("q")
			b.send("q", msg("A"))
			a.expect("q", "A")
			b.expect("q", "")
			b.remove("q")
			a.fails(a.q.Send(a.ctx, q, []*message.Message{msg("B")}, nil), entity.CodeEntityNotFound)
		},
		"a message has one holder": func(a, b *world) {
			a.queue("q")
			a.send("q", msg("A"), msg("B"), msg("C"))
			r := a.receiver(q, ReceiverOptions{})
			list, err := r.TryReceive(a.ctx, 2)
			a.must(err)
			if texts(list) != "A B" {
				a.t.Fatal(texts(list))
			}
			b.expect("q", "C")
			a.expect("q", "")
		},
		"the other server settles": func(a, b *world) {
			a.queue("q")
			a.send("q", msg("A"), msg("B"), msg("C"), msg("D"))
			d := a.expect("q", "A B C D")
			b.settle("q", d[0], Settlement{Outcome: Complete})
			a.loses("q", d[0], Settlement{Outcome: Complete})
			b.settle("q", d[1], Settlement{Outcome: Abandon})
			a.loses("q", d[1], Settlement{Outcome: Complete})
			b.settle("q", d[2], Settlement{Outcome: Defer})
			b.settle("q", d[3], Settlement{Outcome: DeadLetter})
			a.dead("q", "D:<nil>")
			e := a.expect("q", "B+1")
			got, err := a.q.ReceiveDeferred(a.ctx, q, []int64{d[2].Broker.SequenceNumber}, PeekLock, nil)
			a.must(err)
			_, err = b.q.ReceiveDeferred(a.ctx, q, []int64{d[2].Broker.SequenceNumber}, PeekLock, nil)
			b.fails(err, entity.CodeMessageNotFound)
			b.settle("q", got[0], Settlement{})
			b.settle("q", e[0], Settlement{})
			a.shows("q", "")
		},
		"a lock lapses and is renewed elsewhere": func(a, b *world) {
			a.queue("q", lockFor(10*s))
			a.send("q", msg("A"), msg("B"))
			d := a.expect("q", "A B")
			b.pass(6 * s)
			_, err := b.q.RenewLocks(b.ctx, q, []message.UUID{d[1].Token})
			b.must(err)
			b.pass(4 * s)
			b.expect("q", "A+1")
			a.loses("q", d[0], Settlement{})
			a.settle("q", d[1], Settlement{})
		},
		"a server is killed": func(a, b *world) {
			a.queue("q", lockFor(10*s))
			a.send("q", msg("A"), msg("B"))
			a.expect("q", "A B")
			a.must(a.h.Close()) // it ends no locks
			b.expect("q", "")
			b.pass(10 * s)
			b.expect("q", "A+1 B+1")
		},
		"sessions": func(a, b *world) {
			a.queue("q", sessions, lockFor(10*s))
			a.send("q", msg("A", of("1")), msg("B", of("1")), msg("C", of("2")))
			r := a.receiver(q, session("1"))
			_, err := b.q.OpenReceiver(b.ctx, q, session("1"))
			b.fails(err, entity.CodeSessionCannotBeLocked)
			other := b.receiver(q, nextSession())
			if id, _, ok := other.Session(); id != "2" || !ok {
				b.t.Fatal(id, ok)
			}
			list, err := r.TryReceive(a.ctx, 1)
			a.must(err)
			a.must(r.SetSessionState(a.ctx, []byte("x"), nil))
			b.pass(10 * s) // both locks lapse
			<-r.Ended()
			next := b.receiver(q, session("1"))
			state, err := next.SessionState(b.ctx)
			b.must(err)
			got, err := next.TryReceive(b.ctx, 9)
			b.must(err)
			if texts(got) != "A+1 B" || string(state) != "x" {
				b.t.Fatal(texts(got), state)
			}
			a.fails(a.q.Settle(a.ctx, q, list[0].Token, Settlement{}, nil), entity.CodeSessionLockLost)
			a.must(a.q.Settle(a.ctx, q, got[0].Token, Settlement{}, nil))
			next.Close()
			last := a.receiver(q, nextSession())
			got, err = last.TryReceive(a.ctx, 9)
			a.must(err)
			if texts(got) != "B" {
				a.t.Fatal(texts(got))
			}
		},
		"scheduled": func(a, b *world) {
			a.queue("q")
			a.send("q", msg("A", due(s)), msg("B", due(2*s)))
			b.pass(s)
			b.expect("q", "A")
			a.pass(s)
			a.expect("q", "B")
			b.expect("q", "")
		},
		"forwards": func(a, b *world) {
			a.queue("to")
			b.queue("q", func(p *entity.Properties) { p.ForwardTo = "to" })
			a.send("q", msg("A"))
			b.send("q", msg("B"))
			b.expect("to", "A B")
			a.update("q")
			b.send("q", msg("C"))
			b.expect("q", "C")
		},
		"rules": func(a, b *world) {
			a.create(entity.Topic, "t", standard())
			a.create(entity.Subscription, "t/Subscriptions/s", standard())
			b.send("t", msg("A"))
			f, err := rule.NewCorrelation(rule.Correlation{Label: "x"})
			a.must(err)
			_, err = a.q.UpdateRule(a.ctx, "t/Subscriptions/s", entity.Rule{Name: DefaultRule, Filter: f})
			a.must(err)
			b.send("t", msg("B"))
			a.create(entity.Subscription, "t/Subscriptions/other", standard())
			b.send("t", msg("C"))
			b.expect("t/Subscriptions/s", "A")
			b.expect("t/Subscriptions/other", "C")
			b.remove("t/Subscriptions/other")
			a.send("t", msg("D", func(m *message.Message) { m.SetText(message.Subject, "x") }))
			b.expect("t/Subscriptions/s", "D")
		},
		"properties": func(a, b *world) {
			a.queue("q", lockFor(10*s))
			b.send("q", msg("A"))
			d := b.expect("q", "A")
			a.update("q", lockFor(30*s), attempts(1))
			b.loses("q", d[0], Settlement{})
			d = b.expect("q", "A")
			if got := d[0].Broker.LockedUntil; got != start.Add(30*s).UnixMilli() {
				b.t.Fatal(got)
			}
			b.settle("q", d[0], Settlement{Outcome: Abandon})
			a.dead("q", "A:MaxDeliveryCountExceeded")
			a.update("q", func(p *entity.Properties) { p.Status = entity.SendDisabled })
			b.fails(b.q.Send(b.ctx, q, []*message.Message{msg("B")}, nil), entity.CodeEntityDisabled)
		},
		"idle": func(a, b *world) {
			a.queue("q", func(p *entity.Properties) { p.AutoDeleteOnIdle = 5 * time.Minute })
			a.queue("other", func(p *entity.Properties) { p.AutoDeleteOnIdle = 5 * time.Minute })
			b.expect("q", "")
			b.pass(4 * time.Minute)
			b.expect("q", "")
			m, err := b.q.dataset()
			b.must(err)
			b.must(m.storeUses(b.ctx, m.in.Clock().Millis()))
			b.pass(2 * time.Minute)
			m, err = a.q.dataset()
			a.must(err)
			a.must(m.idler.delete(a.ctx))
			a.send("q", msg("A"))
			_, err = b.q.Get(b.ctx, "other")
			b.fails(err, entity.CodeEntityNotFound)
			b.pass(7 * time.Minute)
			a.must(m.idler.delete(a.ctx))
			_, err = b.q.Get(b.ctx, "q")
			b.fails(err, entity.CodeEntityNotFound)
		},
		"transactions": func(a, b *world) {
			a.queue("q", lockFor(10*s))
			a.send("q", msg("A"), msg("B"))
			d := b.expect("q", "A B")
			tx, err := a.q.Begin(a.ctx)
			a.must(err)
			a.must(a.q.Settle(a.ctx, q, d[0].Token, Settlement{}, tx))
			b.loses("q", d[0], Settlement{})
			a.must(tx.Commit(a.ctx))
			tx, err = a.q.Begin(a.ctx)
			a.must(err)
			a.must(a.q.Settle(a.ctx, q, d[1].Token, Settlement{}, tx))
			a.must(a.h.Close()) // with the transaction
			b.pass(10 * s)
			b.expect("q", "")
			b.pass(maxTransaction*time.Millisecond - 10*s)
			b.expect("q", "B+1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newServers(t, Options{})
			play(a, b)
		})
	}
}

// TestServersCompete: receivers of two servers get each message once.
func TestServersCompete(t *testing.T) {
	const messages = 1000
	for name, mode := range map[string]Mode{"locked": PeekLock, "deleted": ReceiveAndDelete} {
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
								settles.settle("q", d, Settlement{})
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

// TestServersWake: who waits on one server is woken by what another server does.
func TestServersWake(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*entity.Properties)
		o    ReceiverOptions
		then func(b *world)
		want string
	}{
		"sent":         {func(*entity.Properties) {}, ReceiverOptions{}, func(b *world) { b.send("q", msg("A")) }, "A"},
		"next session": {sessions, nextSession(), func(b *world) { b.send("q", msg("A", of("1"))) }, "A"},
		"deleted":      {func(*entity.Properties) {}, ReceiverOptions{}, func(b *world) { b.remove("q") }, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newServers(t, Options{})
			a.queue("q", c.set)
			m, err := a.q.dataset()
			a.must(err)
			m.watcher.stop() // the test looks itself
			got := make(chan string)
			go func() {
				r, err := a.q.OpenReceiver(a.ctx, address("q"), c.o)
				var list []Delivery
				if err == nil {
					defer r.Close()
					list, err = r.Receive(a.ctx, 10)
				}
				if entity.CodeOf(err) == entity.CodeEntityNotFound && err != nil {
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

// TestTripsOfLocks counts the round trips to a shared engine.
func TestTripsOfLocks(t *testing.T) {
	e, err := pebble.Open(t.Context(), pebble.Options{Dir: "data", FS: crashdisk.New(), Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	counted := trips.Over(e)
	w := &world{t: t, ctx: t.Context(), base: ttl.NewManual(start), q: New(Options{})}
	w.h, err = host.Open(w.ctx, sharedDoor{counted, counted},
		host.Options{Clock: ttl.NewVirtual(w.base), ManualReaper: true}, w.q.Tenant())
	w.must(err)
	defer func() { w.must(w.h.Close()) }()
	w.queue("q")
	w.queue("s", sessions)
	for range 1000 {
		w.send("q", msg("A"))
		w.send("s", msg("A", of("1")))
	}
	m, err := w.q.dataset()
	w.must(err)
	m.watcher.stop()
	plain, bySession := w.receiver(address("q"), ReceiverOptions{}), w.receiver(address("s"), session("1"))
	var d []Delivery
	for _, c := range []struct {
		name, want string
		do         func()
	}{
		{"send", "1 begin, 1 commit", func() { w.send("q", msg("A")) }},
		{"receive", "2 get, 1 scan, 1 begin, 1 commit", func() {
			d, err = plain.TryReceive(w.ctx, 100)
			w.must(err)
		}},
		{"renew", "1 begin, 1 commit", func() {
			_, err := w.q.RenewLocks(w.ctx, address("q"), tokensOf(d))
			w.must(err)
		}},
		{"complete", "1 begin, 1 commit", func() { w.settle("q", d[0], Settlement{}) }},
		{"abandon", "1 begin, 1 commit", func() { w.settle("q", d[1], Settlement{Outcome: Abandon}) }},
		{"receive in a session", "3 get, 2 scan, 1 begin, 1 commit", func() {
			d, err = bySession.TryReceive(w.ctx, 100)
			w.must(err)
		}},
		{"complete in a session", "1 get, 1 begin, 1 commit", func() { w.settle("s", d[0], Settlement{}) }},
		{"release a session", "2 get, 4 scan, 2 begin, 2 commit", func() { bySession.Close() }},
	} {
		counted.Take()
		c.do()
		if got := counted.Take().String(); got != c.want {
			t.Errorf("%s takes %s, not %s", c.name, got, c.want)
		}
	}
}

// TestServersChange: two servers change entities at the same time, and agree on them afterwards.
func TestServersChange(t *testing.T) {
	const each = 15
	a, b := newServers(t, Options{})
	a.create(entity.Topic, "t", standard())
	var working sync.WaitGroup
	for i, w := range []*world{a, b} {
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
	describe := func(w *world) (lines string) {
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

// TestServerKilled: what a server has locked when it ends comes back once the locks lapse, as failed deliveries.
func TestServerKilled(t *testing.T) {
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
	for list := got; len(list) > 0; got = append(got, list...) {
		list = b.lock("q")
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
