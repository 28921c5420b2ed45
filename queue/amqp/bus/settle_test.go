package bus

import (
	"bytes"
	"testing"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// settles sends a state for the delivery with this id and returns the state with which the server answers.
func (c *testClient) settles(id uint32, s frame.DeliveryState) frame.DeliveryState {
	c.t.Helper()
	c.say(0, &frame.Disposition{Receiver: true, First: id, Last: frame.Some(id), State: s})
	d := await[*frame.Disposition](c)
	if d.First != id || d.Last.Or(id) != id || d.Settled == isState[*frame.Transactional](d.State) ||
		d.Receiver {
		c.t.Fatalf("the answer to a settlement of %d is %+v", id, d)
	}
	return d.State
}

// refused fails the test unless s is a rejection with this error condition.
func refused(t *testing.T, s frame.DeliveryState, condition wire.Symbol) {
	t.Helper()
	if r, ok := s.(*frame.Rejected); !ok || r.Error == nil || r.Error.Condition != condition {
		t.Errorf("the state is %+v, not a rejection by %s", s, condition)
	}
}

// attached creates the queue "q" with messages of these texts, and returns a client that has received all
// of them, unsettled, on handle 0.
func (w *serviceBusUnderTest) attached(texts ...string) *testClient {
	w.t.Helper()
	w.create(entity.Queue, "q")
	w.send("q", texts...)
	c := w.dial(1 << 16)
	c.receiver(0, "q")
	c.credit(0, 0, uint32(len(texts)), false)
	for range texts {
		c.delivered()
	}
	return c
}

// TestOutcomes checks each outcome by which a client settles a message: its effect, and that the server
// confirms it with the same state.
func TestOutcomes(t *testing.T) {
	w := newServiceBusUnderTest(t)
	c := w.attached("a", "b", "c", "d", "e")
	modify := wire.Map{{Key: wire.Symbol("x"), Value: int32(7)}, {Key: "y", Value: "z"}}
	if s := c.settles(0, &frame.Accepted{}); !isState[*frame.Accepted](s) {
		t.Errorf("completed: %+v", s)
	}
	if s := c.settles(1, &frame.Released{}); !isState[*frame.Released](s) {
		t.Errorf("released: %+v", s)
	}
	s := c.settles(2, &frame.Modified{DeliveryFailed: true, Annotations: modify})
	if !isState[*frame.Modified](s) {
		t.Errorf("abandoned: %+v", s)
	}
	s = c.settles(3, &frame.Modified{UndeliverableHere: true, Annotations: modify})
	if m, ok := s.(*frame.Modified); !ok || !m.UndeliverableHere {
		t.Errorf("deferred: %+v", s)
	}
	s = c.settles(4, &frame.Rejected{Error: &frame.Error{Condition: condDeadLetter, Info: wire.Map{
		{Key: wire.Symbol(propReason), Value: "why"}, {Key: wire.Symbol(propDescription), Value: "because"},
		{Key: wire.Symbol("x"), Value: true}}}})
	if r, ok := s.(*frame.Rejected); !ok || r.Error != nil { // K19
		t.Errorf("dead: %+v", s)
	}
	w.shows("q", "b c d")
	w.shows("q/$DeadLetterQueue", "e")

	c.credit(0, 5, 10, false)
	for _, want := range []struct {
		text  string
		count uint32
		x     any
	}{{"b", 0, nil}, {"c", 1, int32(7)}} {
		got := c.sections()
		header := got[0x70].(wire.List)
		if text := got[0x75]; string(text.([]byte)) != want.text || header[4] != want.count {
			t.Errorf("received %s %v, not %v", text, header, want)
		}
		properties, _ := got[0x74].(wire.Map)
		if x, _ := properties.Get("x"); x != want.x {
			t.Errorf("%s: the property is %v", want.text, x)
		}
	}
	c.receiver(1, "q/$DeadLetterQueue")
	c.credit(1, 0, 1, false)
	properties := c.sections()[0x74].(wire.Map)
	for name, want := range map[string]any{propReason: "why", propDescription: "because", "x": true} {
		if v, _ := properties.Get(name); v != want {
			t.Errorf("%s is %v", name, v)
		}
	}
}

// sections waits for the next delivery and returns the sections of its message as AMQP values, by their
// descriptors.
func (c *testClient) sections() map[uint64]any {
	c.t.Helper()
	_, f := awaitFrame[*frame.Transfer](c)
	list := make(map[uint64]any)
	for left := f.payload; len(left) > 0; {
		code, _, value, rest, err := wire.SplitDescribed(left)
		if err != nil {
			c.t.Fatal(err)
		}
		if list[code], _, err = wire.Value(value); err != nil {
			c.t.Fatal(err)
		}
		left = rest
	}
	return list
}

// TestLockLost checks that a settlement after the lock has expired is refused, and that the message is
// delivered again with a failed delivery counted.
func TestLockLost(t *testing.T) {
	w := newServiceBusUnderTest(t)
	c := w.attached("a")
	w.advance(2 * entity.Defaults(entity.Queue).LockDuration)
	refused(t, c.settles(0, &frame.Accepted{}), condMessageLockLost)
	c.credit(0, 1, 1, false)
	if m := c.sections(); m[0x70].(wire.List)[4] != uint32(1) {
		t.Errorf("the header is %v", m[0x70])
	}
}

// TestSettledByClient checks that a settlement that the client has sent as settled takes effect and is not
// answered.
func TestSettledByClient(t *testing.T) {
	w := newServiceBusUnderTest(t)
	c := w.attached("a", "b")
	c.say(0, &frame.Disposition{Receiver: true, First: 0, Settled: true, State: &frame.Accepted{}})
	c.say(0, &frame.Disposition{Receiver: true, First: 0, State: &frame.Received{}}) // says nothing
	if s := c.settles(1, &frame.Accepted{}); !isState[*frame.Accepted](s) {
		t.Errorf("%+v", s)
	}
	w.shows("q", "")
}

// TestReceiveAndDelete checks that messages received in receive-and-delete mode are sent settled and are
// deleted.
func TestReceiveAndDelete(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	w.send("q", "a")
	c := w.dial(1 << 16)
	a := c.receiver(0, "q", func(a *frame.Attach) {
		a.SndSettleMode, a.RcvSettleMode = frame.SenderSettled, frame.ReceiverFirst
	})
	if a.SndSettleMode != frame.SenderSettled || a.RcvSettleMode != frame.ReceiverFirst {
		t.Errorf("the modes are %d %d", a.SndSettleMode, a.RcvSettleMode)
	}
	c.credit(0, 0, 1, false)
	transfer, f := awaitFrame[*frame.Transfer](c)
	if !transfer.Settled || len(transfer.DeliveryTag) == 0 || len(transfer.DeliveryTag) > 32 {
		t.Errorf("%+v", transfer)
	}
	m, err := message.Parse(f.payload)
	if err != nil || textOf(m) != "a" {
		t.Errorf("got %q %v", textOf(m), err)
	}
	for _, b := range [][]byte{[]byte("x-opt-lock-token"), []byte("x-opt-locked-until")} {
		if bytes.Contains(f.payload, b) {
			t.Errorf("without a lock there is %s", b)
		}
	}
	w.shows("q", "")
}

// TestMaxDeliveries checks that a message that was abandoned MaxDeliveryCount times is dead-lettered while
// the receiver stays attached.
func TestMaxDeliveries(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q", func(p *entity.Properties) { p.MaxDeliveryCount = 3 })
	w.send("q", "a")
	c := w.dial(1 << 16)
	c.receiver(0, "q")
	c.credit(0, 0, 100, false)
	for id := range uint32(3) {
		if _, m := c.delivered(); textOf(m) != "a" {
			t.Fatal(textOf(m))
		}
		c.say(0, &frame.Disposition{Receiver: true, First: id, Settled: true,
			State: &frame.Modified{DeliveryFailed: true}})
	}
	w.send("q", "b")
	if _, m := c.delivered(); textOf(m) != "b" {
		t.Errorf("the receiver gets %q", textOf(m))
	}
	c.settles(3, &frame.Accepted{}) // is answered after all before it
	w.shows("q/$DeadLetterQueue", "a")
}

// TestSettlementFails checks that the server detaches the link if it cannot settle a message, and does not
// reject the settlement, since clients treat a delivery whose settlement was rejected as settled.
func TestSettlementFails(t *testing.T) {
	w := newServiceBusUnderTest(t)
	c := w.attached("a")
	w.broken.Store(true)
	c.say(0, &frame.Disposition{Receiver: true, First: 0, State: &frame.Accepted{}})
	f, ok := c.next()
	if d, is := f.body.(*frame.Detach); !ok || !is || d.Error == nil || !d.Closed {
		t.Errorf("the answer is %+v", f.body)
	}
	w.broken.Store(false)
}
