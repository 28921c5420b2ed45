package bus

import (
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

// TestFilters checks that the server's attach frame lists only the filters that are applied, and that an
// unknown filter with the prefix com.microsoft is refused with the text that SDKs look for.
func TestFilters(t *testing.T) {
	const selector = "apache.org:selector-filter:string"
	selecting := wire.MapEntry{Key: wire.Symbol(selector), Value: wire.Described{Descriptor: wire.Symbol(
		selector),
		Value: "colour = 'green'"}}
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	w.create(entity.Queue, "talks", withSessions)
	c := w.dial(1 << 16)
	filtered := func(handle uint32, address string, filters wire.Map) *frame.Attach {
		t.Helper()
		return c.receiver(handle, address, func(a *frame.Attach) { a.Source.Filter = filters })
	}
	if a := filtered(0, "q", wire.Map{selecting}); a.Source == nil || len(a.Source.Filter) > 0 {
		t.Errorf("a selector is answered by %+v", a.Source)
	}
	session := wire.MapEntry{Key: wire.Symbol(sessionFilter), Value: "s"}
	a := filtered(1, "talks", wire.Map{selecting, session})
	if a.Source == nil || len(a.Source.Filter) != 1 || a.Source.Filter[0].Value != "s" {
		t.Errorf("a selector beside a session is answered by %+v", a.Source)
	}
	unknown := wire.MapEntry{Key: wire.Symbol("com.microsoft:non-exclusive-session-filter"),
		Value: wire.Described{Descriptor: uint64(0x1370000000E), Value: wire.List{"s", nil}}}
	for i, address := range []string{"talks", "q"} {
		filtered(uint32(2+i), address, wire.Map{unknown})
		d := await[*frame.Detach](c)
		if d.Error == nil || d.Error.Condition != frame.CondNotAllowed || !strings.Contains(
			d.Error.Description,
			"'com.microsoft:non-exclusive-session-filter' has an invalid filter type") {
			t.Errorf("%s: an unknown filter is refused by %+v", address, d.Error)
		}
	}
}

// TestManagementBeforeToken checks that links to a $management node are accepted before the client has
// sent its token, but that each request needs the token.
func TestManagementBeforeToken(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	w.bus = New(Options{Queues: w.q,
		Guard: access.New(access.TokenVerifierOptions{Mode: access.Strict,
			Keys: []access.Key{access.EmulatorKey()}})})
	c := w.dial(1 << 16)
	m := c.manage(0, "q")
	m.do(401, "peek-message", pairs("from-sequence-number", int64(1), "message-count", int32(1)))
}

// TestDelayedDetachOfLostSession checks a client that waits for messages when its session lock ends: it is
// first told that there are none, and the link is detached with the loss of the lock lostSessionTime later.
func TestDelayedDetachOfLostSession(t *testing.T) {
	wall, c := lostSession(t)
	c.credit(0, 1, 4, true)
	if f := await[*frame.Flow](c); f.LinkCredit.Or(9) != 0 {
		t.Errorf("the drain is answered by %+v", f)
	}
	for {
		wall.Advance(lostSessionTime) // again, since the link may not wait yet
		select {
		case f := <-c.in:
			if d, ok := f.body.(*frame.Detach); ok {
				if d.Error == nil || d.Error.Condition != condSessionLockLost {
					t.Errorf("the link ends with %+v", d)
				}
				return
			}
		default:
		}
	}
}

// TestLostSessionSettled checks that a client that settles a message after it has lost the session lock first
// gets a detach of the link, and then a refusal of the settlement.
func TestLostSessionSettled(t *testing.T) {
	_, c := lostSession(t)
	c.say(0, &frame.Disposition{Receiver: true, First: 0, State: &frame.Accepted{}})
	if d := await[*frame.Detach](c); d.Error == nil || d.Error.Condition != condSessionLockLost {
		t.Errorf("the link ends with %+v", d)
	}
	refused(t, await[*frame.Disposition](c).State, condSessionLockLost)
}

// lostSession returns a client with an unsettled delivery of a session whose lock has ended, and the clock
// by which waits on connections are measured.
func lostSession(t *testing.T) (*ttl.VirtualClock, *testClient) {
	t.Helper()
	w := newServiceBusUnderTest(t)
	wall := ttl.NewManual(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC))
	w.bus.o.Wall = wall
	w.create(entity.Queue, "talks", withSessions)
	w.send("talks", "s:a")
	c := w.dial(1 << 16)
	c.receiver(0, "talks", func(a *frame.Attach) {
		a.Source.Filter = wire.Map{{Key: wire.Symbol(sessionFilter), Value: "s"}}
	})
	c.credit(0, 0, 5, false)
	c.delivered()
	w.advance(2 * entity.Defaults(entity.Queue).LockDuration)
	return wall, c
}
