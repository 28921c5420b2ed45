package queue

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

func forwarding(to string) func(*entity.Properties) {
	return func(p *entity.Properties) { p.ForwardTo = to }
}

func deadTo(to string) func(*entity.Properties) {
	return func(p *entity.Properties) { p.ForwardDeadLettersTo = to }
}

// chain creates queues q1 to qn. Each but the last forwards its messages to the next one.
func (w *testQueueHost) chain(n int) {
	w.t.Helper()
	w.queue(fmt.Sprintf("q%d", n))
	for i := n - 1; i > 0; i-- {
		w.queue(fmt.Sprintf("q%d", i), forwarding(fmt.Sprintf("Q%d", i+1)))
	}
}

func TestForward(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("other", func(p *entity.Properties) { p.DefaultTTL = time.Minute })
	w.queue("q", forwarding("OTHER"))
	w.at(time.Second)
	w.send("q", msg("0"), msg("A", lives(time.Hour)), msg("B", due(10*time.Second), lives(10*time.Second)))
	w.shows("q", "B")
	list := w.expect("other", "0 A")
	if b := list[1].Broker; b.EnqueuedSequenceNumber != 2 || b.SequenceNumber != 2 || b.TTL != 60_000 ||
		b.EnqueuedTime != start.Add(time.Second).UnixMilli() {
		t.Errorf("A is %+v", b)
	}
	w.at(19 * time.Second)
	w.sweep()
	if b := w.shows("other", "0 A B")[2].Broker; b.EnqueuedTime != start.Add(10*time.Second).UnixMilli() {
		t.Errorf("B is %+v", b)
	}
	w.at(20 * time.Second)
	w.sweep()
	w.shows("other", "0 A")
	w.shows("q", "")
	if _, err := w.q.OpenReceiver(w.ctx, entity.Address{Entity: "q"},
		ReceiverOptions{}); entity.ErrorCodeOf(err) != entity.CodeNotAllowed {
		t.Errorf("a receiver of what is forwarded: %v", err)
	}
}

// TestForwardHops checks that a message is forwarded at most four times, and that the fifth forwarding
// dead-letters it in the queue in which it then is.
func TestForwardHops(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.chain(6)
	w.send("q1", msg("A"))
	w.dead("q5", "A:MaxTransferHopCountExceeded")
	w.expect("q6", "")
	w.send("q2", msg("B"))
	if b := w.expect("q6", "B")[0].Broker; b.EnqueuedSequenceNumber != 2 || b.SequenceNumber != 1 {
		t.Errorf("B is %+v", b)
	}
	w.queue("ring")
	w.queue("ring2", forwarding("ring"))
	w.update("ring", forwarding("ring2"))
	w.send("ring", msg("C"))
	w.dead("ring", "C:MaxTransferHopCountExceeded")
}

// TestForwardRefused checks that a message is dead-lettered in its source queue if the target of the
// forwarding does not accept it, and with which reason.
func TestForwardRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuse func(w *testQueueHost)
		want   string
	}{
		"gone": {func(w *testQueueHost) { w.remove("to") }, "MessagingEntityNotFoundException"},
		"disabled": {func(w *testQueueHost) { w.update("to", withStatus(entity.Disabled)) },
			"MessagingEntityDisabledException"},
		"sends disabled": {func(w *testQueueHost) { w.update("to", withStatus(entity.SendDisabled)) },
			"MessagingEntityDisabledException"},
		"too large": {func(w *testQueueHost) {
			s, err := w.q.store(w.ctx, entity.Address{Entity: "to"})
			w.must(err)
			p := *s.e.properties.Load()
			p.MaxMessageKB = 1
			s.e.properties.Store(&p)
		},
			"MessageSizeExceededException"},
		"full": {func(w *testQueueHost) {
			s, err := w.q.store(w.ctx, entity.Address{Entity: "to"})
			w.must(err)
			p := *s.e.properties.Load()
			p.MaxSizeMB = 0
			s.e.properties.Store(&p)
		}, "QuotaExceededException"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestHost(t, Options{})
			w.queue("to")
			w.queue("q", forwarding("to"))
			c.refuse(w)
			large := msg("A")
			large.SetString("padding", strings.Repeat("x", 2000))
			w.send("q", large)
			w.shows("q", "")
			w.dead("q", "A:"+c.want)
		})
	}
}

func withStatus(s entity.Status) func(*entity.Properties) {
	return func(p *entity.Properties) { p.Status = s }
}

// TestForwardOfExistingMessages turns forwarding on for a queue that has messages: these are forwarded, and
// the receivers of the queue end and lose their locks.
func TestForwardOfExistingMessages(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("to")
	w.queue("q")
	w.send("q", msg("A"), msg("B", lives(time.Second)), msg("C"), msg("D"))
	r := w.receiver(entity.Address{Entity: "q"}, ReceiverOptions{})
	list, err := r.TryReceive(w.ctx, 1)
	w.must(err)
	w.at(time.Second)
	w.update("q", forwarding("to"))
	<-r.Ended()
	w.loses("q", list[0], SettlementRequest{Outcome: Complete})
	if d := w.expect("to", "A C D"); d[0].Broker.EnqueuedTime != start.Add(time.Second).UnixMilli() {
		t.Errorf("A is %+v", d[0].Broker)
	}
}

// TestForwardDeadLetters checks that ForwardDeadLettersTo moves dead letters to another queue, where they
// name their source, and that dead letters which that queue cannot accept move to the transfer dead-letter
// queue.
func TestForwardDeadLetters(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("errors")
	w.queue("q", deadTo("errors"), flagged, attempts(1))
	w.send("q", msg("A", lives(time.Second)), msg("B"))
	w.at(time.Second)
	w.sweep()
	w.settle("q", w.expect("q", "B")[0], SettlementRequest{Outcome: Abandon})
	w.dead("q", "")
	w.at(90 * time.Minute)
	list := w.expect("errors", "B")
	if d := list[0]; d.Broker.DeadLetterSource != "q" ||
		propertyOf(d, "DeadLetterReason") != "MaxDeliveryCountExceeded" {
		t.Errorf("B is %+v", d.Broker)
	}
	w.remove("errors")
	w.send("q", msg("C"))
	w.settle("q", w.expect("q", "C")[0], SettlementRequest{Outcome: DeadLetter})
	got, err := w.q.Peek(
		w.ctx,
		entity.Address{Entity: "q", Sub: entity.TransferDeadLetters},
		PeekOptions{Max: 10, MaxBytes: 1 << 20},
	)
	w.must(err)
	if len(got) != 1 || propertyOf(got[0], "DeadLetterReason") != "MessagingEntityNotFoundException" {
		t.Errorf("dead letters of transfers: %s", texts(got))
	}
	e, err := w.q.Get(w.ctx, "q")
	if w.must(err); e.Counts != (entity.MessageCounts{TransferDeadLetter: 1}) {
		t.Errorf("%+v", e.Counts)
	}
}

// TestForwardLockedDeadLetter checks that a dead letter which a receiver has locked is forwarded as soon
// as its lock ends.
func TestForwardLockedDeadLetter(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("errors")
	w.queue("q", attempts(1))
	w.send("q", msg("A"))
	w.settle("q", w.expect("q", "A")[0], SettlementRequest{Outcome: Abandon})
	w.change("q", func() entity.Properties {
		p := standard()
		p.ForwardDeadLettersTo, p.Status = "errors", entity.ReceiveDisabled
		return p
	}())
	w.expect("errors", "A")
	w.queue("r")
	w.send("r", msg("B"))
	w.settle("r", w.expect("r", "B")[0], SettlementRequest{Outcome: DeadLetter})
	s, err := w.q.store(w.ctx, entity.Address{Entity: "r", Sub: entity.DeadLetters})
	w.must(err)
	d := w.take(entity.Address{Entity: "r", Sub: entity.DeadLetters}, ReceiverOptions{})
	p := *s.e.properties.Load()
	p.ForwardDeadLettersTo = "errors" // an update would end the lock
	s.e.properties.Store(&p)
	w.must(
		w.q.Settle(
			w.ctx,
			entity.Address{Entity: "r", Sub: entity.DeadLetters},
			d[0].Token,
			SettlementRequest{Outcome: Abandon},
			nil,
		),
	)
	w.sweep()
	w.expect("errors", "B")
}

// TestForwardToDeduped checks that the target of a forwarding with duplicate detection drops duplicates.
func TestForwardToDeduped(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("to", deduped(time.Minute))
	w.queue("q", forwarding("to"))
	w.send("q", msg("A"), msg("A"), msg("B"))
	w.shows("q", "")
	w.expect("to", "A B")
}

// TestForwardToSessions checks that a message without a session id is dead-lettered in the target of the
// forwarding if the target requires sessions.
func TestForwardToSessions(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("to", sessions)
	w.queue("q", forwarding("to"))
	w.send("q", msg("A"), msg("B", of("s")))
	w.dead("to", "A:Session id is null")
	if list := w.take(entity.Address{Entity: "to"}, session("s")); texts(list) != "B" {
		t.Errorf("received %s", texts(list))
	}
}

// TestForwardInTransaction checks that a message sent in a transaction is forwarded after the commit.
func TestForwardInTransaction(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("to")
	w.queue("q", forwarding("to"))
	tx, err := w.q.Begin(w.ctx)
	w.must(err)
	w.must(w.q.Send(w.ctx, address("q"), []*message.Message{msg("A")}, tx))
	w.shows("to", "")
	w.must(tx.Commit(w.ctx))
	w.expect("to", "A")
}

// TestCrashWhileForwarding simulates crashes while messages are forwarded through a chain of queues. After
// each crash, all messages must reach the last queue, each once and in order.
func TestCrashWhileForwarding(t *testing.T) {
	t.Parallel()
	const messages = 150
	w := newTestHost(t, Options{})
	w.chain(4)
	var sending sync.WaitGroup
	var sent []*testdisk.EngineStorage
	sending.Go(func() {
		for i := range messages {
			list := []*message.Message{msg(fmt.Sprint(i))}
			if err := w.q.Send(w.ctx, address("q1"), list, nil); err != nil {
				t.Error(err)
			}
		}
	})
	for range 15 {
		sent = append(sent, w.fs.CrashClone(vfs.CrashCloneCfg{}))
	}
	sending.Wait()
	for _, fs := range append(sent, w.fs.CrashClone(vfs.CrashCloneCfg{})) {
		c := &testQueueHost{t: w.t, ctx: w.ctx, fs: fs, base: w.base, opts: w.opts}
		c.open()
		c.sweep()
		for _, q := range []string{"q1", "q2", "q3"} {
			c.shows(q, "")
		}
		list, err := c.q.Peek(c.ctx, entity.Address{Entity: "q4"}, PeekOptions{Max: 10000, MaxBytes: 1 << 30})
		c.must(err)
		for i, d := range list {
			if textOf(d) != fmt.Sprint(i) || d.Broker.EnqueuedSequenceNumber != int64(i+1) {
				t.Errorf("message %d is %s, first number %d", i, textOf(d), d.Broker.EnqueuedSequenceNumber)
			}
		}
		c.check()
		c.must(c.h.Close())
	}
	w.sweep()
	if e, err := w.q.Get(w.ctx, "q4"); err != nil || e.Counts.Active != messages {
		t.Errorf("%+v, %v", e.Counts, err)
	}
}
