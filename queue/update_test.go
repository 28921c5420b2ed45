package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
)

// TestUpdateWithoutChange checks that an update which changes no property ends neither locks nor receivers.
func TestUpdateWithoutChange(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("q")
	w.queue("s", sessions)
	w.send("q", msg("A"))
	w.send("s", msg("B", of("1")))
	plain, held := w.receiver(
		entity.Address{Entity: "q"},
		ReceiverOptions{},
	), w.receiver(
		entity.Address{Entity: "s"},
		session("1"),
	)
	first, err := plain.TryReceive(w.ctx, 1)
	w.must(err)
	second, err := held.TryReceive(w.ctx, 1)
	w.must(err)
	w.at(time.Second)
	for _, name := range []string{"q", "s"} {
		e, err := w.q.Get(w.ctx, name)
		w.must(err)
		e.Properties.AuthorizationRules = []byte{}
		after, err := w.q.Update(w.ctx, name, e.Properties)
		if w.must(err); !after.Updated.Equal(start.Add(time.Second)) {
			t.Errorf("%s was updated at %v", name, after.Updated)
		}
	}
	w.must(plain.Err())
	w.must(held.Err())
	w.settle("q", first[0], SettlementRequest{Outcome: Complete})
	w.settle("s", second[0], SettlementRequest{Outcome: Complete})

	w.send("q", msg("C"))
	third, err := plain.TryReceive(w.ctx, 1)
	w.must(err)
	w.update("q", func(p *entity.Properties) { p.UserMetadata = "x" })
	w.loses("q", third[0], SettlementRequest{Outcome: Complete})
}

// TestImmutable checks that a change of an immutable property is refused with Service Bus's error text.
func TestImmutable(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.create(entity.Topic, "t", entity.Defaults(entity.Topic))
	for path, c := range map[string]struct {
		kind   entity.Kind
		change func(*entity.Properties)
		want   string
	}{
		"q": {entity.Queue, sessions, "The value for the RequiresSession property of an existing Queue " +
			"cannot " +
			"be changed"},
		"t": {entity.Topic, func(p *entity.Properties) { p.EnablePartitioning = true },
			"Partitioning cannot be changed for Topic. "},
		"t/Subscriptions/s": {entity.Subscription, sessions,
			"The value for the RequiresSession property of an existing Subscription cannot be changed"},
		"u": {entity.Topic, func(p *entity.Properties) { p.RequiresDuplicateDetection = true },
			"The value for the RequiresDuplicateDetection property of an existing Topic cannot be changed"},
	} {
		if path != "t" {
			w.create(c.kind, path, entity.Defaults(c.kind))
		}
		p := entity.Defaults(c.kind)
		c.change(&p)
		_, err := w.q.Update(w.ctx, path, p)
		if w.fails(err, entity.CodeArgument); !strings.HasPrefix(err.Error(), "SubCode=40000. "+c.want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestPartitionedSize checks that the maximum size of a partitioned entity is 16 times the requested size,
// and that an update with that size is accepted and leaves it unchanged.
func TestPartitionedSize(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	partitioned := func(mb int32) entity.Properties {
		p := entity.Defaults(entity.Queue)
		p.EnablePartitioning, p.MaxSizeMB = true, mb
		return p
	}
	for asked, want := range map[int32]int32{0: 16_384, 1024: 16_384, 3072: 49_152, 5120: 81_920,
		16_384: 16_384} {
		name := fmt.Sprint("q", asked)
		e, err := w.q.Create(w.ctx, entity.Queue, name, partitioned(asked))
		if w.must(err); e.Properties.MaxSizeMB != want {
			t.Errorf("%d is told as %d", asked, e.Properties.MaxSizeMB)
		}
		again, err := w.q.Update(w.ctx, name, e.Properties)
		if w.must(err); again.Properties.MaxSizeMB != want {
			t.Errorf("%d sent back is told as %d", want, again.Properties.MaxSizeMB)
		}
	}
	_, err := w.q.Create(w.ctx, entity.Queue, "odd", partitioned(1000))
	w.fails(err, entity.CodeArgumentOutOfRange)
	plain := entity.Defaults(entity.Queue)
	plain.MaxSizeMB = 16_384
	_, err = w.q.Create(w.ctx, entity.Queue, "plain", plain)
	w.fails(err, entity.CodeArgumentOutOfRange)
}

// TestMessageSizes checks which values of MaxMessageSizeInKilobytes are accepted: the 256 KB of the
// Standard tier, and the range of the Premium tier.
func TestMessageSizes(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	for kb, ok := range map[int32]bool{0: true, 256: true, 1024: true, 102_400: true, 1: false, 257: false,
		1023: false, 102_401: false, -1: false} {
		p := entity.Defaults(entity.Topic)
		p.MaxMessageKB = kb
		_, err := w.q.Create(w.ctx, entity.Topic, fmt.Sprint("t", kb), p)
		if ok {
			w.must(err)
			continue
		}
		if w.fails(err, entity.CodeArgumentOutOfRange); !strings.Contains(err.Error(),
			"value for 'MaxMessageSizeInKilobytes' must be between 1024 and 102400") {
			t.Errorf("%d: %v", kb, err)
		}
	}
}

// TestAccessed checks the time of the last access to an entity: a new queue or topic has none, an update
// is no access, and a send is one.
func TestAccessed(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("q")
	w.create(entity.Topic, "t", entity.Defaults(entity.Topic))
	w.create(entity.Subscription, "t/Subscriptions/s", entity.Defaults(entity.Subscription))
	accessed := func(path string) time.Time {
		e, err := w.q.Get(w.ctx, path)
		w.must(err)
		return e.Accessed
	}
	w.update("q", func(p *entity.Properties) { p.UserMetadata = "x" })
	w.reopen()
	if !accessed("q").IsZero() || !accessed("t").IsZero() || !accessed("t/Subscriptions/s").Equal(start) {
		t.Errorf("new entities were used at %v, %v, %v", accessed("q"), accessed("t"),
			accessed("t/Subscriptions/s"))
	}
	w.at(time.Second)
	w.send("q", msg("A"))
	if got := accessed("q"); !got.Equal(start.Add(time.Second)) {
		t.Errorf("a queue that was sent to was used at %v", got)
	}
}

// TestTextOfForwardTargets checks that ForwardTo and ForwardDeadLettersTo are returned as the client wrote
// them, except for slashes at the ends and the case of scheme and host.
func TestTextOfForwardTargets(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("To/Here")
	for written, want := range map[string]string{"to/here": "to/here", "/TO/here/": "TO/here",
		"SB://Ns.Example/To/HERE":       "sb://ns.example/To/HERE",
		"http://localhost:5300/to/here": "http://localhost:5300/to/here"} {
		name := fmt.Sprintf("q%x", want)
		w.queue(name, forwarding(written), func(p *entity.Properties) { p.ForwardDeadLettersTo = written })
		e, err := w.q.Get(w.ctx, name)
		if w.must(err); e.Properties.ForwardTo != want || e.Properties.ForwardDeadLettersTo != want {
			t.Errorf("%q is told as %q and %q", written, e.Properties.ForwardTo,
				e.Properties.ForwardDeadLettersTo)
		}
		w.send(name, msg("A"))
		w.settle("to/here", w.expect("to/here", "A")[0], SettlementRequest{Outcome: Complete})
	}
	p := standard()
	p.ForwardTo = "sb://localhost/absent"
	_, err := w.q.Create(w.ctx, entity.Queue, "q", p)
	w.fails(err, entity.CodeArgument)
}

// TestForwardToItself checks that an existing queue may forward its messages to itself, and that the limit
// of four forwardings then dead-letters a message.
func TestForwardToItself(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	p := standard()
	p.ForwardTo = "q"
	_, err := w.q.Create(w.ctx, entity.Queue, "q", p)
	w.fails(err, entity.CodeArgument) // it is not there yet
	w.queue("q")
	w.update("q", forwarding("sb://localhost/q"))
	w.send("q", msg("A"))
	w.shows("q", "")
	w.dead("q", "A:MaxTransferHopCountExceeded")
	w.update("q", forwarding("q"), func(p *entity.Properties) { p.ForwardDeadLettersTo = "q" })
	w.shows("q", "")
}

// TestForwardSessions checks that a queue with sessions can forward its messages, and that the messages of
// each session keep their order.
func TestForwardSessions(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("to")
	w.queue("q", sessions)
	w.send("q", msg("A", of("1")), msg("B", of("2")), msg("C", of("1")))
	r := w.receiver(entity.Address{Entity: "q"}, session("1"))
	w.update("q", sessions, forwarding("to"))
	<-r.Ended()
	w.send("q", msg("D", of("2")))
	for i := range 3 * maxForward {
		w.send("q", msg("x", of(fmt.Sprint("more", i%2))))
	}
	list := w.take(entity.Address{Entity: "to"}, ReceiverOptions{Mode: ReceiveAndDelete})
	at := make(map[string]int)
	for i, d := range list {
		if body := textOf(d); body != "x" {
			at[body] = i
		}
	}
	if len(at) != 4 || at["A"] > at["C"] || at["B"] > at["D"] {
		t.Errorf("the messages arrived at %v", at)
	}
	if id, _ := list[at["A"]].Message.SessionID(); id != "1" {
		t.Errorf("A is of the session %q", id)
	}
	w.shows("q", "")
	w.queue("end")
	w.update("q", sessions, forwarding("end"))
	w.queue("again", sessions, forwarding("q"))
	w.send("again", msg("E", of("1")))
	w.expect("end", "E")
}

// TestIdleWhileForwarding checks that an entity which forwards its messages is not deleted as idle. A
// queue returns the AutoDeleteOnIdle that was set, and a subscription returns the maximum.
func TestIdleWhileForwarding(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("to")
	p := idle(entity.Queue)
	p.ForwardTo = "to"
	w.create(entity.Queue, "q", p)
	w.create(entity.Topic, "t", entity.Defaults(entity.Topic))
	s := idle(entity.Subscription)
	s.ForwardTo = "to"
	w.create(entity.Subscription, "t/Subscriptions/s", s)
	w.at(time.Hour)
	e, err := w.q.Get(w.ctx, "q")
	if w.must(err); e.Properties.AutoDeleteOnIdle != p.AutoDeleteOnIdle {
		t.Errorf("the queue's AutoDeleteOnIdle is %v", e.Properties.AutoDeleteOnIdle)
	}
	e, err = w.q.Get(w.ctx, "t/Subscriptions/s")
	if w.must(err); e.Properties.AutoDeleteOnIdle != entity.Forever {
		t.Errorf("the subscription's AutoDeleteOnIdle is %v", e.Properties.AutoDeleteOnIdle)
	}
	w.change("q", idle(entity.Queue))
	w.at(time.Hour + 5*time.Minute)
	_, err = w.q.Get(w.ctx, "q")
	w.fails(err, entity.CodeEntityNotFound)
}

// TestEmptySession checks that a message with an empty session id may have any partition key.
func TestEmptySession(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("q")
	m := msg("A", of(""))
	m.SetPartitionKey("k")
	w.send("q", m)
	w.expect("q", "A")
}

// TestRuleTexts checks that the errors for missing rules, and for rules and subscriptions that exist
// already, have Service Bus's texts.
func TestRuleTexts(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.create(entity.Topic, "News", entity.Defaults(entity.Topic))
	w.create(entity.Subscription, "news/subscriptions/All", entity.Defaults(entity.Subscription))
	path := "news/Subscriptions/all"
	_, err := w.q.CreateRule(w.ctx, path, entity.Rule{Name: "red"})
	w.must(err)
	_, err = w.q.CreateRule(w.ctx, path, entity.Rule{Name: "red"})
	if w.fails(err, entity.CodeRuleExists); !strings.HasPrefix(err.Error(),
		"The messaging entity 'Topic:News|All|red' already exists. ") {
		t.Error(err)
	}
	err = w.q.DeleteRule(w.ctx, path, "blue")
	if w.fails(err, entity.CodeRuleNotFound); !strings.HasPrefix(err.Error(),
		"The messaging entity 'Topic:News|All|blue' could not be found. ") {
		t.Error(err)
	}
	_, err = w.q.Create(w.ctx, entity.Subscription, path, entity.Defaults(entity.Subscription))
	if w.fails(err, entity.CodeEntityExists); !strings.HasPrefix(err.Error(),
		"The messaging entity 'Topic:News|all' already exists. ") {
		t.Error(err)
	}
}

// TestDeadLetterSource checks that a forwarded dead letter contains the name of its source queue in lower
// case, as in Service Bus.
func TestDeadLetterSource(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("Errors")
	w.queue("Sales.Orders", func(p *entity.Properties) { p.ForwardDeadLettersTo = "Errors" })
	w.send("Sales.Orders", msg("A"))
	w.settle("Sales.Orders", w.expect("Sales.Orders", "A")[0], SettlementRequest{Outcome: DeadLetter})
	if b := w.expect("Errors", "A")[0].Broker; b.DeadLetterSource != "sales.orders" {
		t.Errorf("the source is %q", b.DeadLetterSource)
	}
}
