package bus

import (
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/wire"
)

// next returns an attach frame that requests the next available session of "talks". patience is the
// client's time limit in milliseconds; 0: none is sent.
func next(name string, patience uint32) *frame.Attach {
	a := sessionOf(name, nil)
	if patience > 0 {
		a.Properties = wire.Map{{Key: wire.Symbol(timeoutName), Value: patience}}
	}
	return a
}

// sessionOf returns an attach frame that requests a session of "talks". value is the value of the session
// filter.
func sessionOf(name string, value any) *frame.Attach {
	from := source("talks")
	from.Filter = wire.Map{{Key: wire.Symbol(sessionFilter), Value: value}}
	return &frame.Attach{Name: name, Receiver: true, SndSettleMode: frame.SenderUnsettled,
		RcvSettleMode: frame.ReceiverSecond, Source: from, Target: target("here")}
}

// TestSessionFilter checks that a client can lock a session by its id or the next available one, and that
// the filter in the answer has the form of that in the request.
func TestSessionFilter(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "talks", withSessions)
	w.send("talks", "s1:a", "s2:b", "s1:c")
	c := w.dial(1 << 16)
	ask := func(handle uint32, a *frame.Attach, want any) {
		t.Helper()
		a.Handle = handle
		c.say(0, a)
		got := await[*frame.Attach](c)
		if got.Source == nil {
			t.Fatalf("refused: %+v", await[*frame.Detach](c))
		}
		if v, _ := got.Source.Filter.Get(sessionFilter); v != want {
			t.Errorf("the filter is %#v, not %#v", v, want)
		}
		until, _ := got.Properties.Get(lockedUntil)
		if n, ok := until.(int64); !ok || n < ticks(w.q.Now()) {
			t.Errorf("locked until %#v", until)
		}
	}
	ask(0, next("first", 0), "s1")
	described := uint64(0x13700000000C)
	ask(1, sessionOf("second", wire.Described{Descriptor: described}),
		wire.Described{Descriptor: described, Value: "s2"})
	refused := func(a *frame.Attach, condition wire.Symbol) {
		t.Helper()
		a.Handle = 9
		c.say(0, a)
		if got := await[*frame.Attach](c); got.Source != nil || got.Target != nil {
			t.Errorf("a link that is refused has %+v", got)
		}
		d := await[*frame.Detach](c)
		if d.Error == nil || d.Error.Condition != condition || !d.Closed {
			t.Errorf("refused with %+v", d.Error)
		}
		c.say(0, &frame.Detach{Handle: 9, Closed: true})
	}
	refused(sessionOf("taken", "s1"), condSessionNotLockable)
	refused(next("none", 1), condTimeout)
	refused(sessionOf("odd", int32(7)), condArgument)

	c.credit(0, 0, 10, false)
	for _, want := range []string{"s1:a", "s1:c"} {
		if _, m := c.delivered(); textOf(m) != want {
			t.Errorf("got %q", textOf(m))
		}
	}
	// Who has gone gives the session back; who waits gets it.
	c.say(0, &frame.Attach{Name: "waits", Handle: 3, Receiver: true, RcvSettleMode: frame.ReceiverSecond,
		Source: next("", 0).Source, Target: target("here")})
	c.say(0, &frame.Detach{Handle: 1, Closed: true})
	if got := await[*frame.Attach](c); got.Handle != 3 || got.Source == nil {
		t.Errorf("who waits gets %+v", got)
	}
	// Who has gone before he got one leaves nothing behind.
	a := next("gone", 0)
	a.Handle = 4
	c.say(0, a)
	c.say(0, &frame.Detach{Handle: 4, Closed: true})
	if got := await[*frame.Attach](c); got.Handle != 4 || got.Source != nil {
		t.Errorf("who has gone gets %+v", got)
	}
	await[*frame.Detach](c)
}

// TestSessionLost checks that the link is detached with the error of Service Bus when its session lock
// expires.
func TestSessionLost(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "talks", withSessions)
	c := w.dial(1 << 16)
	c.say(0, sessionOf("s", "one"))
	await[*frame.Attach](c)
	w.advance(2 * entity.Defaults(entity.Queue).LockDuration)
	d := await[*frame.Detach](c)
	if d.Error == nil || d.Error.Condition != condSessionLockLost ||
		!strings.Contains(d.Error.Description, "TrackingId:") {
		t.Errorf("%+v", d)
	}
}
