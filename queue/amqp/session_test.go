package amqp

import (
	"fmt"
	"testing"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// ended fails the test unless the next frame is an End with the error condition want, or without an error
// if want is "".
func (c *testClient) ended(want string) {
	c.t.Helper()
	e := expect[*frame.End](c)
	if got := e.Error; got == nil && want != "" || got != nil && string(got.Condition) != want {
		c.t.Fatalf("ended with %+v, not %q", got, want)
	}
}

// TestSession checks that sessions begin and end, that a protocol error in one session does not affect
// another, and that a channel can be used again.
func TestSession(t *testing.T) {
	c := begun(t, &fixedAttachResponseHandler{}, 100)
	c.send(5, &frame.Begin{IncomingWindow: 1, OutgoingWindow: 1})
	if b := expect[*frame.Begin](c); b.RemoteChannel != frame.Some(5) {
		t.Errorf("%+v", b)
	}
	c.send(5, &frame.Transfer{Handle: 3, DeliveryID: frame.Some(0)})
	c.ended(string(frame.CondUnattachedHandle))
	c.send(5, &frame.Flow{Handle: frame.Some(3), LinkCredit: frame.Some(1)}) // the client does not know yet
	c.send(5, &frame.End{})
	c.send(5, &frame.Begin{})
	if b := expect[*frame.Begin](c); b.RemoteChannel != frame.Some(5) {
		t.Errorf("the channel is not free again: %+v", b)
	}
	c.send(0, &frame.Flow{IncomingWindow: 9, Echo: true})
	f := expect[*frame.Flow](c)
	if f.Handle.Set || f.NextIncomingID != frame.Some(7) || f.IncomingWindow != incomingWindow {
		t.Errorf("%+v", f)
	}
	c.send(0, &frame.Flow{Handle: frame.Some(4), LinkCredit: frame.Some(1)})
	c.ended(string(frame.CondUnattachedHandle))
	c.send(0, &frame.End{})
	c.send(5, &frame.End{})
	c.ended("")
	c.send(5, &frame.End{}) // once more, which harms nobody
	c.send(5, &frame.Begin{})
	expect[*frame.Begin](c)
	c.send(5, &frame.Begin{})
	c.failed(string(frame.CondFraming))
}

// TestIncomingWindow checks that the server renews the session's incoming window when half of it is used.
func TestIncomingWindow(t *testing.T) {
	s := newChannelSink()
	c := begun(t, &fixedAttachResponseHandler{answer: AcceptedLink{Sink: s, Credit: 10}}, 100)
	c.attach(false)
	for i := range incomingWindow / 2 { // of one message
		c.send(0, &frame.Transfer{Handle: 1, DeliveryID: frame.Some(0), More: true})
		if i < incomingWindow/2-1 {
			continue
		}
		f := expect[*frame.Flow](c)
		if f.Handle.Set || f.IncomingWindow != incomingWindow ||
			f.NextIncomingID != frame.Some(7+uint32(i)+1) {
			t.Errorf("behind %d transfers: %+v", i+1, f)
		}
	}
}

// TestOutgoingWindow checks that the server sends no more transfers than the client's window allows, even
// if the link has more credit.
func TestOutgoingWindow(t *testing.T) {
	s := newChannelSource("a", "b", "c", "d", "e")
	c := begun(t, &fixedAttachResponseHandler{answer: AcceptedLink{Source: s}}, 2)
	c.attach(true)
	take := func(want ...string) {
		t.Helper()
		for _, text := range want {
			f := <-c.frames
			if got := string(f.payload); got != text {
				t.Fatalf("%T %q, not %q", f.body, got, text)
			}
		}
		c.send(0, &frame.Flow{Handle: frame.Some(1), NextIncomingID: frame.Some(0), Echo: true})
		if f, ok := (<-c.frames).body.(*frame.Flow); !ok {
			t.Fatal("more comes than the window takes")
		} else if want := fmt.Sprint(5 - f.DeliveryCount.Value); fmt.Sprint(f.LinkCredit.Value) != want {
			t.Errorf("the credit is %d, not %s", f.LinkCredit.Value, want)
		}
	}
	c.send(0, &frame.Flow{Handle: frame.Some(1), NextIncomingID: frame.Some(0), IncomingWindow: 2,
		DeliveryCount: frame.Some(0), LinkCredit: frame.Some(5)})
	take("a", "b")
	c.send(0, &frame.Flow{NextIncomingID: frame.Some(2), IncomingWindow: 1})
	take("c")
	c.send(0, &frame.Flow{NextIncomingID: frame.Some(3), IncomingWindow: 10})
	for _, text := range []string{"d", "e"} {
		if f := <-c.frames; string(f.payload) != text {
			t.Fatalf("%T %q, not %q", f.body, f.payload, text)
		}
	}
}
