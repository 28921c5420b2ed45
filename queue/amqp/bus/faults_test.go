package bus

import (
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

// fault adds a fault rule that applies once.
func (w *serviceBusUnderTest) fault(r inject.FaultRule) {
	w.t.Helper()
	r.Count = 1
	_, err := w.bus.o.Faults.Add(r)
	w.must(err)
}

// TestFaultLockLost checks the injected fault by which a message's lock is lost at a settlement. If the fault
// precedes the settlement, the message becomes available again and a delivery is counted. If it follows the
// settlement, the message is settled, although the client gets an error.
func TestFaultLockLost(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.fault(inject.FaultRule{Fault: inject.LockLost, Entity: "Q",
		Operations: []inject.OperationKind{inject.Complete}})
	c := w.attached("a")
	refused(t, c.settles(0, &frame.Accepted{}), condMessageLockLost)
	c.credit(0, 1, 1, false)
	if m := c.sections(); m[0x70].(wire.List)[4] != uint32(1) {
		t.Errorf("the header is %v", m[0x70])
	}
	w.fault(inject.FaultRule{Fault: inject.LockLost, After: true})
	refused(t, c.settles(1, &frame.Accepted{}), condMessageLockLost)
	w.shows("q", "")

	w.send("q", "b")
	c.credit(0, 2, 1, false)
	c.delivered()
	w.fault(inject.FaultRule{Fault: inject.LockLost, Operations: []inject.OperationKind{inject.DeadLetter}})
	if s := c.settles(2, &frame.Accepted{}); !isState[*frame.Accepted](s) {
		t.Errorf("another outcome meets the fault: %+v", s)
	}
}

// TestFaultDetachOfSender checks the fault that a sender's link is detached, with the condition of Service
// Bus. A fault after the operation leaves the message stored, although the client gets no outcome.
func TestFaultDetachOfSender(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	for handle, after := range []bool{false, true} {
		w.fault(inject.FaultRule{Fault: inject.Detach, Operations: []inject.OperationKind{inject.Send},
			After: after})
		c.sender(uint32(handle), "q")
		c.transfer(uint32(handle), uint32(handle), message.New([]byte("a")))
		for told := false; !told; {
			f, ok := c.next()
			if !ok {
				t.Fatal("the connection has ended")
			}
			switch b := f.body.(type) {
			case *frame.Disposition:
				t.Errorf("the client learns of the message: %+v", b)
			case *frame.Detach:
				if told = true; b.Error == nil || b.Error.Condition != frame.CondDetachForced {
					t.Errorf("detached by %v", b.Error)
				}
			}
		}
		w.shows("q", map[bool]string{false: "", true: "a"}[after])
	}
	c.sender(2, "q")
	c.transfer(2, 2, message.New([]byte("b")))
	if s := await[*frame.Disposition](c).State; !isState[*frame.Accepted](s) {
		t.Errorf("%+v", s)
	}
}

// TestFaultDetachOfReceiver checks the fault that a receiver's link is detached. If it comes before a
// message is sent, the message stays available; after that, it stays locked for the receiver.
func TestFaultDetachOfReceiver(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	w.send("q", "a")
	c := w.dial(1 << 16)
	w.fault(inject.FaultRule{Fault: inject.Detach, Operations: []inject.OperationKind{inject.Receive}})
	c.receiver(0, "q")
	c.credit(0, 0, 1, false)
	if d := await[*frame.Detach](c); d.Error.Condition != frame.CondDetachForced {
		t.Errorf("%v", d.Error)
	}
	w.fault(inject.FaultRule{Fault: inject.Detach, Operations: []inject.OperationKind{inject.Receive},
		After: true})
	c.receiver(1, "q")
	c.credit(1, 0, 1, false)
	if _, m := c.delivered(); textOf(m) != "a" {
		t.Error(textOf(m))
	}
	await[*frame.Detach](c)
	w.advance(2 * entity.Defaults(entity.Queue).LockDuration)
	c.receiver(2, "q")
	c.credit(2, 0, 1, false)
	if m := c.sections(); m[0x70].(wire.List)[4] != uint32(1) {
		t.Errorf("the header is %v", m[0x70])
	}
}

// TestFaultDrop checks the fault that drops a connection: it ends without a close frame.
func TestFaultDrop(t *testing.T) {
	w := newServiceBusUnderTest(t)
	c := w.attached("a")
	w.fault(inject.FaultRule{Fault: inject.Drop, After: true,
		Operations: []inject.OperationKind{inject.Complete}})
	c.say(0, &frame.Disposition{Receiver: true, First: 0, Last: frame.Some(0), State: &frame.Accepted{}})
	for {
		f, ok := c.next()
		if !ok {
			break
		}
		t.Errorf("there is a word: %+v", f.body)
	}
	c.hangUp()
	w.shows("q", "")
}

// TestFaultLatency checks that the delay of a fault passes by the clock of the machine, not by the virtual
// clock of the data.
func TestFaultLatency(t *testing.T) {
	w := newServiceBusUnderTest(t)
	// The deadlines of connections are moments of this clock, and must not have passed.
	wall := ttl.NewManual(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC))
	w.bus.o.Wall = wall
	w.fault(inject.FaultRule{Fault: inject.Latency, Latency: time.Minute,
		Operations: []inject.OperationKind{inject.Send}})
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	c.sender(0, "q")
	c.transfer(0, 0, message.New([]byte("a")))
	for w.bus.o.Faults.Armed() { // until it has been met
		wall.Advance(0)
	}
	w.shows("q", "")
	for {
		select {
		case f := <-c.in:
			if d, ok := f.body.(*frame.Disposition); ok {
				if !isState[*frame.Accepted](d.State) {
					t.Errorf("%+v", d.State)
				}
				w.shows("q", "a")
				return
			}
		default:
			wall.Advance(time.Second)
		}
	}
}

// TestFaultSessionLockLost checks that the fault of a lost session lock ends the link that holds the lock.
func TestFaultSessionLockLost(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "talks", withSessions)
	w.send("talks", "s:a")
	c := w.dial(1 << 16)
	c.say(0, sessionOf("first", "s"))
	await[*frame.Attach](c)
	c.credit(0, 0, 1, false)
	c.delivered()
	w.fault(inject.FaultRule{Fault: inject.LockLost})
	c.say(0, &frame.Disposition{Receiver: true, First: 0, Last: frame.Some(0), State: &frame.Accepted{}})
	if d := await[*frame.Detach](c); d.Error.Condition != condSessionLockLost {
		t.Errorf("%v", d.Error)
	}
	w.shows("talks", "s:a")
}

// TestFaultRenewLock checks that fault rules apply to management requests that renew locks.
func TestFaultRenewLock(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	w.send("q", "a")
	c := w.dial(1 << 16)
	c.receiver(0, "q")
	c.credit(0, 0, 1, false)
	transfer, _ := c.delivered()
	token, _ := tokenOf(transfer.DeliveryTag)
	w.fault(inject.FaultRule{Fault: inject.LockLost, Operations: []inject.OperationKind{inject.RenewLock}})
	m := c.manage(1, "q")
	m.do(410, "renew-lock", pairs("lock-tokens", wire.UUIDs([]wire.UUID{wire.UUID(token)})))
	refused(t, c.settles(0, &frame.Accepted{}), condMessageLockLost)
}

// TestFaultOfRequests checks that fault rules apply to management requests that settle messages or renew
// the lock of a session. A session lock that a fault makes lost ends its link.
func TestFaultOfRequests(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "talks", withSessions)
	w.create(entity.Queue, "q")
	w.send("talks", "s:a")
	w.send("q", "b")
	c := w.dial(1 << 16)
	c.receiver(0, "q")
	c.credit(0, 0, 1, false)
	transfer, _ := c.delivered()
	token, _ := tokenOf(transfer.DeliveryTag)
	w.fault(inject.FaultRule{Fault: inject.LockLost, After: true,
		Operations: []inject.OperationKind{inject.Complete}})
	of := c.manage(1, "q")
	of.do(410, "update-disposition", pairs("disposition-status", "completed", "lock-tokens",
		wire.UUIDs([]wire.UUID{wire.UUID(token)})))
	w.shows("q", "")

	a := sessionOf("first", "s")
	a.Handle = 5
	c.say(0, a)
	await[*frame.Attach](c)
	of = c.manage(6, "talks")
	w.fault(inject.FaultRule{Fault: inject.LockLost, Operations: []inject.OperationKind{inject.RenewLock}})
	of.do(410, "renew-session-lock", pairs("session-id", "s"))
	of.do(410, "renew-session-lock", pairs("session-id", "s"))
}
