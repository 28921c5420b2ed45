package queue

import (
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/sharedengine"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/ttl"
)

// sharedEngineHandle is the engine through which one of several servers accesses the engine that they
// share.
type sharedEngineHandle struct {
	engine.Engine
	engine.Getter
}

func (sharedEngineHandle) Shared() bool { return true }

// newServers returns two servers that share one engine and one clock.
func newServers(t *testing.T, o Options) (a, b *testQueueHost) {
	t.Helper()
	disk := testdisk.NewCrashable(t)
	e, err := disk.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shared, err := sharedengine.Share(e)
	if err != nil {
		t.Fatal(err)
	}
	base := ttl.NewManual(start)
	server := func() *testQueueHost {
		w := &testQueueHost{t: t, ctx: t.Context(), fs: disk, base: base, opts: o, q: New(o)}
		handle := shared.Handle()
		w.h, err = host.Open(w.ctx, sharedEngineHandle{handle, handle.(engine.Getter)},
			host.Options{Clock: ttl.NewVirtualClock(base), ManualReaper: true}, w.q.Tenant())
		w.must(err)
		t.Cleanup(func() { w.must(w.h.Close()) })
		return w
	}
	a, b = server(), server()
	t.Cleanup(b.check)
	return a, b
}

// pass moves the clock of all servers of the test forward by d.
func (w *testQueueHost) pass(d time.Duration) { w.base.Advance(d) }

// TestServers checks that what one server does to messages and entities takes effect for the next
// operation of another server.
func TestServers(t *testing.T) {
	t.Parallel()
	q, s := entity.Address{Entity: "q"}, time.Second
	for name, play := range map[string]func(a, b *testQueueHost){
		"an entity is found at once": func(a, b *testQueueHost) {
			a.queue("q")
			b.send("q", msg("A"))
			a.expect("q", "A")
			b.expect("q", "")
			b.remove("q")
			a.fails(a.q.Send(a.ctx, q, []*message.Message{msg("B")}, nil), entity.CodeEntityNotFound)
		},
		"a message has one holder": func(a, b *testQueueHost) {
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
		"the other server settles": func(a, b *testQueueHost) {
			a.queue("q")
			a.send("q", msg("A"), msg("B"), msg("C"), msg("D"))
			d := a.expect("q", "A B C D")
			b.settle("q", d[0], SettlementRequest{Outcome: Complete})
			a.loses("q", d[0], SettlementRequest{Outcome: Complete})
			b.settle("q", d[1], SettlementRequest{Outcome: Abandon})
			a.loses("q", d[1], SettlementRequest{Outcome: Complete})
			b.settle("q", d[2], SettlementRequest{Outcome: Defer})
			b.settle("q", d[3], SettlementRequest{Outcome: DeadLetter})
			a.dead("q", "D:<nil>")
			e := a.expect("q", "B+1")
			got, err := a.q.ReceiveDeferred(a.ctx, q, []int64{d[2].Broker.SequenceNumber}, PeekLock, nil)
			a.must(err)
			_, err = b.q.ReceiveDeferred(a.ctx, q, []int64{d[2].Broker.SequenceNumber}, PeekLock, nil)
			b.fails(err, entity.CodeMessageNotFound)
			b.settle("q", got[0], SettlementRequest{})
			b.settle("q", e[0], SettlementRequest{})
			a.shows("q", "")
		},
		"a lock lapses and is renewed elsewhere": func(a, b *testQueueHost) {
			a.queue("q", lockFor(10*s))
			a.send("q", msg("A"), msg("B"))
			d := a.expect("q", "A B")
			b.pass(6 * s)
			_, err := b.q.RenewLocks(b.ctx, q, []message.UUID{d[1].Token})
			b.must(err)
			b.pass(4 * s)
			b.expect("q", "A+1")
			a.loses("q", d[0], SettlementRequest{})
			a.settle("q", d[1], SettlementRequest{})
		},
		"a server is killed": func(a, b *testQueueHost) {
			a.queue("q", lockFor(10*s))
			a.send("q", msg("A"), msg("B"))
			a.expect("q", "A B")
			a.must(a.h.Close()) // it ends no locks
			b.expect("q", "")
			b.pass(10 * s)
			b.expect("q", "A+1 B+1")
		},
		"sessions": func(a, b *testQueueHost) {
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
			a.fails(a.q.Settle(a.ctx, q, list[0].Token, SettlementRequest{}, nil), entity.CodeSessionLockLost)
			a.must(a.q.Settle(a.ctx, q, got[0].Token, SettlementRequest{}, nil))
			next.Close()
			last := a.receiver(q, nextSession())
			got, err = last.TryReceive(a.ctx, 9)
			a.must(err)
			if texts(got) != "B" {
				a.t.Fatal(texts(got))
			}
		},
		"deleted, but for what is locked": func(a, b *testQueueHost) {
			a.queue("q")
			a.send("q", msg("A"), msg("B"))
			r := a.receiver(q, ReceiverOptions{})
			_, err := r.TryReceive(a.ctx, 1)
			a.must(err)
			b.pass(s)
			n, err := b.q.DeleteMessages(b.ctx, q, start.Add(s), 1, nil)
			b.must(err)
			if n != 1 {
				b.t.Fatal(n)
			}
			b.shows("q", "A")
		},
		"described sessions": func(a, b *testQueueHost) {
			a.queue("q", sessions)
			a.send("q", msg("A", of("1")), msg("B", of("1")))
			r := a.receiver(q, session("1"))
			_, err := r.TryReceive(a.ctx, 1)
			a.must(err)
			list, err := b.q.InspectSessions(b.ctx, q, 0, 9)
			b.must(err)
			if len(list) != 1 || list[0].Messages != 2 || !list[0].Locked {
				b.t.Fatal(list)
			}
		},
		"scheduled": func(a, b *testQueueHost) {
			a.queue("q")
			a.send("q", msg("A", due(s)), msg("B", due(2*s)))
			b.pass(s)
			b.expect("q", "A")
			a.pass(s)
			a.expect("q", "B")
			b.expect("q", "")
		},
		"forwards": func(a, b *testQueueHost) {
			a.queue("to")
			b.queue("q", func(p *entity.Properties) { p.ForwardTo = "to" })
			a.send("q", msg("A"))
			b.send("q", msg("B"))
			b.expect("to", "A B")
			a.update("q")
			b.send("q", msg("C"))
			b.expect("q", "C")
		},
		"what a server that has ended has not forwarded": func(a, b *testQueueHost) {
			a.queue("to")
			a.queue("q", func(p *entity.Properties) { p.ForwardTo = "to" })
			m, err := b.q.dataset()
			b.must(err)
			b.must(m.learn(b.ctx))
			e, list, err := a.q.accept(a.ctx, q, []*message.Message{msg("A")})
			a.must(err)
			_, err = e.m.transact(a.ctx, [][]byte{e.scope}, func(w *messageTx) error {
				_, err := w.enqueueAll(e, list)
				return err
			})
			a.must(err)
			a.must(a.h.Close())
			b.sweep()
			b.sweep()
			b.expect("to", "A")
		},
		"rules": func(a, b *testQueueHost) {
			a.create(entity.Topic, "t", standard())
			a.create(entity.Subscription, "t/Subscriptions/s", standard())
			b.send("t", msg("A"))
			f, err := rule.NewCorrelationFilter(rule.CorrelationFilter{Label: "x"})
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
		"properties": func(a, b *testQueueHost) {
			a.queue("q", lockFor(10*s))
			b.send("q", msg("A"))
			d := b.expect("q", "A")
			a.update("q", lockFor(30*s), attempts(1))
			b.loses("q", d[0], SettlementRequest{})
			d = b.expect("q", "A")
			if got := d[0].Broker.LockedUntil; got != start.Add(30*s).UnixMilli() {
				b.t.Fatal(got)
			}
			b.settle("q", d[0], SettlementRequest{Outcome: Abandon})
			a.dead("q", "A:MaxDeliveryCountExceeded")
			a.update("q", func(p *entity.Properties) { p.Status = entity.SendDisabled })
			b.fails(b.q.Send(b.ctx, q, []*message.Message{msg("B")}, nil), entity.CodeEntityDisabled)
		},
		"idle": func(a, b *testQueueHost) {
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
		"transactions": func(a, b *testQueueHost) {
			a.queue("q", lockFor(10*s))
			a.send("q", msg("A"), msg("B"))
			d := b.expect("q", "A B")
			tx, err := a.q.Begin(a.ctx)
			a.must(err)
			a.must(a.q.Settle(a.ctx, q, d[0].Token, SettlementRequest{}, tx))
			b.loses("q", d[0], SettlementRequest{})
			a.must(tx.Commit(a.ctx))
			tx, err = a.q.Begin(a.ctx)
			a.must(err)
			a.must(a.q.Settle(a.ctx, q, d[1].Token, SettlementRequest{}, tx))
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
