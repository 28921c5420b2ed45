package bus

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

// TestPerformativeEncoding checks that each performative that the server sends has a small ulong as its
// descriptor, all of its fields, and no list in the one-byte form for an empty list. Older Python and Go
// clients can read only this.
func TestPerformativeEncoding(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	w.send("q", "a")
	c := w.pipe()
	header := frame.HeaderAMQP()
	c.write(header[:])
	c.read(header[:])
	c.listen()
	fields := map[byte]int{0x10: 10, 0x11: 8, 0x12: 14, 0x13: 11, 0x14: 11, 0x15: 6, 0x16: 3, 0x17: 1,
		0x18: 1}
	c.say(0, &frame.Open{ContainerID: "test", MaxFrameSize: 1 << 16})
	c.say(0, &frame.Begin{IncomingWindow: 10, OutgoingWindow: 10, HandleMax: 9})
	c.say(0, &frame.Attach{Name: "s", Handle: 0, Source: source("here"), Target: target("q")})
	c.say(0, &frame.Attach{Name: "r", Handle: 1, Receiver: true, Source: source("q"), Target: target("here")})
	for seen := map[byte]bool{}; len(seen) < len(fields); {
		f, ok := c.next()
		if !ok {
			t.Fatalf("the connection has ended: %v", seen)
		}
		code := f.raw[2]
		if f.raw[0] != 0 || f.raw[1] != 0x53 || !seen[code] && fields[code] == 0 {
			t.Fatalf("a performative begins with %x", f.raw[:3])
		}
		count, size := int(f.raw[5]), f.raw[3]
		if size == 0xd0 {
			count = int(f.raw[11])
		} else if size != 0xc0 {
			t.Fatalf("%x is the list %x", code, size)
		}
		if count != fields[code] {
			t.Errorf("%x has %d fields, not %d", code, count, fields[code])
		}
		if code == 0x13 && !seen[code] { // the sender is attached
			c.credit(1, 0, 1, false)
		}
		if seen[code] = true; code == 0x14 {
			c.say(0, &frame.Disposition{Receiver: true, First: 0, State: &frame.Accepted{}})
		}
		if code == 0x15 {
			if state := []byte{0, 0x53, 0x24, 0xc0, 1, 0}; !bytes.Contains(f.raw, state) {
				t.Errorf("accepted is not in %x", f.raw)
			}
			c.say(0, &frame.Detach{Handle: 1, Closed: true})
			c.say(0, &frame.End{})
			c.say(0, &frame.Close{})
		}
	}
}

// TestAttachFrameFields checks the server's attach frames: settle modes and addresses are returned as the
// client has sent them, a sending link has an initial delivery count, and a receiving link grants credit
// at once.
func TestAttachFrameFields(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	for i, address := range []string{"q", "/Q", "amqps://localhost:5671/q"} {
		for j, modes := range [][2]uint8{{0, 0}, {0, 1}, {1, 0}, {2, 0}, {2, 1}} {
			h := uint32(20*i + 2*j)
			from, to := source(address), target("there")
			from.Durable, from.Capabilities = 1, []wire.Symbol{"queue"}
			c.say(0, &frame.Attach{Name: address, Handle: h, Receiver: true, SndSettleMode: modes[0],
				RcvSettleMode: modes[1], Source: from, Target: to})
			a := await[*frame.Attach](c)
			if a.SndSettleMode != modes[0] || a.RcvSettleMode != modes[1] || a.Receiver ||
				a.Name != address || !reflect.DeepEqual(a.Source, from) || !reflect.DeepEqual(a.Target, to) ||
				!a.InitialDeliveryCount.Set || a.InitialDeliveryCount.Value != 0 {
				t.Errorf("%s %v: %+v", address, modes, a)
			}
			c.say(0, &frame.Attach{Name: address, Handle: h + 1, SndSettleMode: modes[0],
				RcvSettleMode: modes[1], Source: source("there"), Target: target(address)})
			if a = await[*frame.Attach](c); a.SndSettleMode != modes[0] || a.RcvSettleMode != modes[1] ||
				!a.Receiver || a.Source.Address != "there" || a.Target.(*frame.Target).Address != address {
				t.Errorf("%s %v: %+v", address, modes, a)
			}
			size, _ := a.Properties.Get("com.microsoft:max-message-batch-size")
			if n, ok := size.(uint64); !ok || n == 0 || a.MaxMessageSize != n {
				t.Errorf("the largest batch is %#v", size)
			}
			f := await[*frame.Flow](c)
			if f.LinkCredit.Or(0) == 0 || !f.NextIncomingID.Set || !f.DeliveryCount.Set ||
				f.Handle.Or(99) != h+1 {
				t.Errorf("%s: %+v", address, f)
			}
		}
	}
}

// TestDeliveryAnnotationTypes checks that a delivery has a delivery id, and that its annotations have exactly
// the AMQP types that clients expect.
func TestDeliveryAnnotationTypes(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	w.send("q", "a")
	c := w.dial(1 << 16)
	c.receiver(0, "q")
	c.credit(0, 0, 1, false)
	got := c.sections()
	if id := got[0x73].(wire.List)[message.MessageID]; id == nil {
		t.Error("there is no message id")
	}
	until := timestamp(w.q.Now().Add(entity.Defaults(entity.Queue).LockDuration))
	want := map[wire.Symbol]any{"x-opt-sequence-number": int64(1), "x-opt-locked-until": until,
		"x-opt-enqueued-time": timestamp(w.q.Now())}
	for _, p := range got[0x72].(wire.Map) {
		if name, _ := p.Key.(wire.Symbol); want[name] != p.Value || p.Value == nil {
			t.Errorf("%v is %#v, not %#v", p.Key, p.Value, want[name])
		} else {
			delete(want, name)
		}
	}
	if len(want) > 0 {
		t.Errorf("there is no %v", want)
	}
	// The sender has left the flags and the priority out.
	if h := got[0x70].(wire.List); h[0] != nil || h[1] != nil || h[3] != nil || h[4] != uint32(0) {
		t.Errorf("the header is %v", h)
	}
	delivery, _ := got[0x71].(wire.Map)
	token, ok := delivery.Get("x-opt-lock-token")
	if _, isUUID := token.(wire.UUID); !ok || !isUUID || len(delivery) != 1 {
		t.Errorf("the delivery annotations are %v", delivery)
	}
}

// TestResponseProperties checks the form of responses. Those of $cbs have property names with hyphens, status
// codes of type int, the correlation id in the type of the message id, and no error condition on success.
// Those of $management have other property names.
func TestResponseProperties(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	answer := c.put(0, "sb://localhost/q", access.Sign(access.EmulatorKey(), "sb://localhost/q",
		ttl.SystemClock{}.Now().Add(someTime)))
	if n := number(t, answer, "status-code"); n != 202 {
		t.Errorf("the status is %d", n)
	}
	for _, name := range []string{"error-condition", "errorCondition", "statusCode"} {
		if answer.Get(name) != nil {
			t.Errorf("the answer has %s", name)
		}
	}
	if raw := answer.Raw(message.CorrelationID); string(raw) != string(wire.AppendUint64(nil, 7)) {
		t.Errorf("the answer correlates with %x", raw)
	}
	managed := c.ask(2, "q/$management", "com.microsoft:peek-message", pairs("message-count", int32(1)))
	if n := number(t, managed, "statusCode"); n != 204 || managed.Get("status-code") != nil {
		t.Errorf("the answer is %+v", managed)
	}
}
