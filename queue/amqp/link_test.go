package amqp

import (
	"bytes"
	"errors"
	"testing"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// attach attaches a link with handle 1 on channel 0 and checks the server's response. If receiver is
// false, the client is the sender and must get credit.
func (c *testClient) attach(receiver bool) {
	c.t.Helper()
	c.send(0, &frame.Attach{Name: "link", Handle: 1, Receiver: receiver, Source: &frame.Source{},
		Target: &frame.Target{}})
	a := expect[*frame.Attach](c)
	if a.Name != "link" || a.Handle != 1 || a.Receiver == receiver {
		c.t.Fatalf("%+v", a)
	}
	if !receiver {
		if f := expect[*frame.Flow](c); f.Handle != frame.Some(1) || f.LinkCredit.Value == 0 {
			c.t.Fatalf("%+v", f)
		}
	}
}

// transfer sends a transfer frame with the delivery id and the payload text. more is set if further frames
// of the same message follow.
func (c *testClient) transfer(id uint32, more bool, text string) {
	c.send(0, &frame.Transfer{Handle: 1, DeliveryID: frame.Some(id), DeliveryTag: []byte{byte(id)},
		More: more}, []byte(text)...)
}

// accepted fails the test unless the next frame is a disposition that accepts the delivery id.
func (c *testClient) accepted(id uint32) {
	c.t.Helper()
	d := expect[*frame.Disposition](c)
	if _, ok := d.State.(*frame.Accepted); !ok || !d.Receiver || !d.Settled || d.First != id {
		c.t.Fatalf("%+v", d)
	}
}

// TestAttachRefused checks that the server refuses a link, as the handler says, by an attach without
// source and target and then a detach with the error.
func TestAttachRefused(t *testing.T) {
	for want, err := range map[string]error{
		string(frame.CondNotFound): &frame.Error{Condition: frame.CondNotFound},
		string(frame.CondInternal): errors.New("a defect"),
	} {
		c := begun(t, &fixedAttachResponseHandler{err: err}, 100)
		c.send(0, &frame.Attach{Name: "link", Handle: 1, Target: &frame.Target{}})
		if a := expect[*frame.Attach](c); a.Source != nil || a.Target != nil {
			t.Errorf("%+v", a)
		}
		c.detached(want)
	}
}

// TestSink checks that the sink of a link gets complete messages in their order, without aborted ones and
// those that are too large, and that the client gets the outcome of each message.
func TestSink(t *testing.T) {
	s := newChannelSink()
	c := begun(t, &fixedAttachResponseHandler{answer: AcceptedLink{Sink: s, MaxMessageSize: 10}}, 100)
	c.attach(false)
	c.transfer(0, false, "whole")
	c.accepted(0)
	c.transfer(1, true, "two ")
	c.transfer(1, false, "pieces")
	c.accepted(1)
	c.transfer(2, true, "aborted")
	c.send(0, &frame.Transfer{Handle: 1, Aborted: true})
	c.transfer(3, true, "far too")
	c.transfer(3, false, " large")
	d := expect[*frame.Disposition](c)
	if r, ok := d.State.(*frame.Rejected); !ok || d.First != 3 || r.Error == nil ||
		r.Error.Condition != frame.CondMessageSize {
		t.Errorf("%+v", d)
	}
	c.send(0, &frame.Transfer{Handle: 1, DeliveryID: frame.Some(4), Settled: true}, []byte("told not")...)
	c.transfer(5, false, "last")
	c.accepted(5)
	for _, want := range []string{"whole", "two pieces", "told not", "last"} {
		if m := <-s.got; string(m.Payload) != want || m.Settled != (want == "told not") {
			t.Errorf("%q, not %q", m.Payload, want)
		}
	}
	c.send(0, &frame.Detach{Handle: 1, Closed: true})
	c.detached("")
	<-s.gone
	c.send(0, &frame.Detach{Handle: 1, Closed: true}) // once more, which harms nobody
	c.attach(false)                                   // the handle is free again
}

// TestNoCredit checks that the server detaches a link after a transfer without credit, without a delivery
// id, or on a link on which the client may only receive.
func TestNoCredit(t *testing.T) {
	t.Run("credit", func(t *testing.T) {
		s := newChannelSink()
		s.hold = make(chan struct{})
		c := begun(t, &fixedAttachResponseHandler{answer: AcceptedLink{Sink: s, Credit: 1}}, 100)
		c.attach(false)
		c.transfer(0, false, "first")
		c.transfer(1, false, "second")
		c.detached(string(frame.CondTransferLimit))
		close(s.hold)
	})
	t.Run("credit of an aborted message", func(t *testing.T) {
		c := begun(t, &fixedAttachResponseHandler{answer: AcceptedLink{Sink: newChannelSink(), Credit: 1}},
			100)
		c.attach(false)
		c.transfer(0, true, "first")
		c.send(0, &frame.Transfer{Handle: 1, Aborted: true})
		f := expect[*frame.Flow](c)
		if f.LinkCredit.Value != 1 || f.DeliveryCount != frame.Some(1) {
			t.Errorf("the credit is not renewed: %+v", f)
		}
	})
	t.Run("id", func(t *testing.T) {
		c := begun(t, &fixedAttachResponseHandler{answer: AcceptedLink{Sink: newChannelSink()}}, 100)
		c.attach(false)
		c.send(0, &frame.Transfer{Handle: 1})
		c.detached(string(frame.CondInvalidField))
	})
	t.Run("direction", func(t *testing.T) {
		c := begun(t, &fixedAttachResponseHandler{answer: AcceptedLink{Source: newChannelSource()}}, 100)
		c.attach(true)
		c.transfer(0, false, "x")
		c.detached(string(frame.CondNotAllowed))
	})
}

// TestSource checks that the client gets as many messages from the link's source as it has granted credit
// for, that the source gets the client's settlements, and that a drain sets the credit to 0.
func TestSource(t *testing.T) {
	s := newChannelSource("a", "b")
	c := begun(t, &fixedAttachResponseHandler{answer: AcceptedLink{Source: s}}, 100)
	c.attach(true)
	credit := func(seen, n uint32, drain bool) {
		c.send(0, &frame.Flow{NextIncomingID: frame.Some(0), IncomingWindow: 100, Handle: frame.Some(1),
			DeliveryCount: frame.Some(seen), LinkCredit: frame.Some(n), Drain: drain})
	}
	credit(0, 1, false)
	first := expect[*frame.Transfer](c)
	if !bytes.Equal(first.DeliveryTag, []byte("a")) || first.More || first.Settled {
		t.Errorf("%+v", first)
	}
	c.send(0, &frame.Disposition{Receiver: true, First: first.DeliveryID.Value, State: &frame.Released{}})
	if got := <-s.settled; string(got.Tag) != "a" || got.State == nil {
		t.Errorf("%+v", got)
	}
	d := expect[*frame.Disposition](c)
	if _, ok := d.State.(*frame.Released); !ok || d.Receiver || !d.Settled ||
		d.First != first.DeliveryID.Value {
		t.Errorf("%+v", d)
	}
	credit(1, 10, true)
	if got := expect[*frame.Transfer](c); !bytes.Equal(got.DeliveryTag, []byte("b")) {
		t.Errorf("%+v", got)
	}
	if f := expect[*frame.Flow](c); f.LinkCredit != frame.Some(0) || f.DeliveryCount != frame.Some(11) ||
		!f.Drain {
		t.Errorf("the credit is not drained: %+v", f)
	}
	c.send(0, &frame.Detach{Handle: 1, Closed: true})
	c.detached("")
	<-s.gone
}

// TestUnsentMessageIsReturned checks that a message for which the session's window has no room is given back
// to the source when the link ends.
func TestUnsentMessageIsReturned(t *testing.T) {
	s := newChannelSource("a", "b")
	c := begun(t, &fixedAttachResponseHandler{answer: AcceptedLink{Source: s}}, 1)
	c.attach(true)
	c.send(0, &frame.Flow{NextIncomingID: frame.Some(0), IncomingWindow: 1, Handle: frame.Some(1),
		DeliveryCount: frame.Some(0), LinkCredit: frame.Some(2)})
	expect[*frame.Transfer](c)
	for len(s.out) > 0 { // the server has the other one soon
		c.send(0, &frame.Flow{IncomingWindow: 0, NextIncomingID: frame.Some(1), Echo: true})
		expect[*frame.Flow](c)
	}
	c.send(0, &frame.Detach{Handle: 1, Closed: true})
	c.detached("")
	if got := <-s.back; string(got.Payload) != "b" {
		t.Errorf("%q came back", got.Payload)
	}
	<-s.gone
}

// TestManyFrames checks that a message that is larger than the client's maximum frame size is sent in
// several frames.
func TestManyFrames(t *testing.T) {
	s := newChannelSource()
	want := bytes.Repeat([]byte("0123456789"), 20_000)
	s.out <- OutgoingMessage{Tag: []byte("tag"), Payload: want}
	c := begun(t, &fixedAttachResponseHandler{answer: AcceptedLink{Source: s}}, 100)
	c.attach(true)
	c.send(0, &frame.Flow{NextIncomingID: frame.Some(0), IncomingWindow: 100, Handle: frame.Some(1),
		DeliveryCount: frame.Some(0), LinkCredit: frame.Some(1)})
	var got []byte
	for pieces := 0; ; pieces++ {
		f := <-c.frames
		transfer, ok := f.body.(*frame.Transfer)
		if !ok {
			t.Fatalf("%T %+v", f.body, f.body)
		}
		got = append(got, f.payload...)
		if tagged := transfer.DeliveryTag != nil; len(f.payload) > 1<<16 || tagged != (pieces == 0) {
			t.Errorf("piece %d has %d bytes and the tag %q", pieces, len(f.payload), transfer.DeliveryTag)
		}
		if !transfer.More {
			break
		}
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes have come of %d", len(got), len(want))
	}
}
