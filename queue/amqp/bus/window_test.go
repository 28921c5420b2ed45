package bus

import (
	"math"
	"testing"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// TestWindowsAndCreditsAreUnsigned checks that session windows, link credits and delivery ids of all
// values up to 2^32-1 work, and wrap around.
func TestWindowsAndCreditsAreUnsigned(t *testing.T) {
	grants := []uint32{1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32 - 1, math.MaxUint32}
	for _, window := range grants {
		for _, credit := range grants {
			w := newServiceBusUnderTest(t)
			w.create(entity.Queue, "q")
			c := w.dial(1 << 16)
			c.say(1, &frame.Begin{NextOutgoingID: math.MaxUint32, IncomingWindow: window,
				OutgoingWindow: math.MaxUint32, HandleMax: 100})
			await[*frame.Begin](c)
			c.say(1, &frame.Attach{Name: "s", Handle: 0, Source: source("here"), Target: target("q"),
				InitialDeliveryCount: frame.Some(math.MaxUint32)})
			await[*frame.Attach](c)
			for i := range uint32(3) { // delivery ids and counts wrap
				c.say(1, &frame.Transfer{Handle: 0, DeliveryID: frame.Some(i - 1), DeliveryTag: []byte{byte(
					i)},
					MessageFormat: frame.Some(0)}, message.New([]byte("m")).AppendBare(nil)...)
				d := await[*frame.Disposition](c)
				if _, ok := d.State.(*frame.Accepted); !ok || d.First != i-1 {
					t.Fatalf("the transfer %d is answered %+v", i-1, d)
				}
			}
			c.say(1, &frame.Attach{Name: "r", Handle: 1, Receiver: true, SndSettleMode: frame.SenderSettled,
				Source: source("q"), Target: target("here")})
			await[*frame.Attach](c)
			c.say(1, &frame.Flow{IncomingWindow: window, OutgoingWindow: window, Handle: frame.Some(1),
				LinkCredit: frame.Some(credit)})
			c.delivered()
			if window == 1 {
				c.say(1, &frame.Flow{NextIncomingID: frame.Some(1), IncomingWindow: math.MaxUint32})
			}
			if credit == 1 {
				c.say(1, &frame.Flow{NextIncomingID: frame.Some(1), IncomingWindow: math.MaxUint32,
					Handle: frame.Some(1), DeliveryCount: frame.Some(1), LinkCredit: frame.Some(
						math.MaxUint32)})
			}
			c.delivered()
			c.delivered()
		}
	}
}

// TestWindowZero checks that the server sends nothing while the session's window is 0, and continues when
// the client opens it.
func TestWindowZero(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	w.send("q", "m")
	c := w.dial(1 << 16)
	c.begin(1, 0)
	c.say(1, &frame.Attach{Name: "r", Handle: 0, Receiver: true, Source: source("q"), Target: target("here")})
	await[*frame.Attach](c)
	shut := &frame.Flow{NextIncomingID: frame.Some(0), Handle: frame.Some(0), LinkCredit: frame.Some(5),
		Echo: true}
	for range 3 {
		c.say(1, shut)
		f, _ := c.next()
		if _, ok := f.body.(*frame.Flow); !ok {
			t.Fatalf("%+v came through a window of 0", f.body)
		}
	}
	c.say(1, &frame.Flow{NextIncomingID: frame.Some(0), IncomingWindow: math.MaxUint32})
	c.delivered()
}
