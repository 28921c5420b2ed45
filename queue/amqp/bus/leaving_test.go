package bus

import (
	"testing"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// endings returns the ways, by name, in which a client ends its use of a link: detach, end of the session,
// close of the connection. Each waits for the server's answer.
func endings() map[string]func(c *testClient, handle uint32) {
	return map[string]func(c *testClient, handle uint32){
		"detach": func(c *testClient, handle uint32) {
			c.say(0, &frame.Detach{Handle: handle, Closed: true})
			await[*frame.Detach](c)
		},
		"end": func(c *testClient, _ uint32) {
			c.say(0, &frame.End{})
			await[*frame.End](c)
		},
		"close": func(c *testClient, _ uint32) {
			c.say(0, &frame.Close{})
			await[*frame.Close](c)
		},
	}
}

// TestOperationsSentBeforeDetach checks that messages and settlements that a client has sent before it
// detaches, ends its session or closes the connection have taken effect when it gets the answer.
func TestOperationsSentBeforeDetach(t *testing.T) {
	for name, leave := range endings() {
		w := newServiceBusUnderTest(t)
		c := w.attached("a", "b", "c")
		for id := range uint32(3) {
			c.say(0, &frame.Disposition{Receiver: true, First: id, Settled: true, State: &frame.Accepted{}})
		}
		leave(c, 0)
		w.shows("q", "")
		c = w.dial(1 << 16)
		c.sender(0, "q")
		for id, text := range []string{"d", "e", "f"} {
			c.say(0, &frame.Transfer{DeliveryID: frame.Some(uint32(id)), DeliveryTag: []byte{1},
				Settled: true}, message.New([]byte(text)).AppendBare(nil)...)
		}
		leave(c, 0)
		if w.shows("q", "d e f"); t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestSessionLockAfterDetach checks that the lock of a session is free for the next client as soon as the
// server has answered the end of the previous client's link.
func TestSessionLockAfterDetach(t *testing.T) {
	for name, leave := range endings() {
		w := newServiceBusUnderTest(t)
		w.create(entity.Queue, "talks", withSessions)
		for range 20 {
			c := w.dial(1 << 16)
			c.say(0, sessionOf("s", "one"))
			if a := await[*frame.Attach](c); a.Source == nil {
				t.Fatalf("%s: %v", name, await[*frame.Detach](c).Error)
			}
			leave(c, 0)
		}
	}
}

// TestReuseOfHandlesAndChannels checks that a client can use a handle or a channel again right after its
// detach or end, before the answer has arrived.
func TestReuseOfHandlesAndChannels(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	c.receiver(0, "q")
	c.credit(0, 0, 5, false)
	c.say(0, &frame.Detach{Handle: 0, Closed: true})
	c.say(0, &frame.Attach{Name: "again", Receiver: true, Source: source("q"), Target: target("here")})
	await[*frame.Detach](c)
	if a := await[*frame.Attach](c); a.Name != "again" || a.Source == nil {
		t.Errorf("%+v", a)
	}
	c.say(0, &frame.End{})
	c.say(0, &frame.Begin{IncomingWindow: 10, OutgoingWindow: 10, HandleMax: 10})
	await[*frame.End](c)
	await[*frame.Begin](c)
	if a := c.receiver(0, "q"); a.Source == nil {
		t.Errorf("%+v", a)
	}
}
