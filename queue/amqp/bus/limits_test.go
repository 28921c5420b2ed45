package bus

import (
	"fmt"
	"testing"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
)

// TestConnectionLimits checks the maximum numbers of links and of open transactions of a connection: a client
// that exceeds them gets an error.
func TestConnectionLimits(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	for h := range uint32(5000) {
		c.say(0, &frame.Attach{Name: fmt.Sprint(h), Handle: h, Receiver: true, Source: source("q"),
			Target: target("here")})
		if a := await[*frame.Attach](c); a.Source == nil {
			t.Fatalf("link %d is refused", h)
		}
	}
	c.say(0, &frame.Attach{Name: "more", Handle: 6000, Receiver: true, Source: source("q"),
		Target: target("here")})
	if e := await[*frame.End](c); e.Error == nil || e.Error.Condition != "amqp:resource-limit-exceeded" {
		t.Errorf("%+v", e)
	}
	c = w.dial(1 << 16)
	c.say(0, &frame.Attach{Name: "tx", Handle: 0, Source: source("here"), Target: &frame.Coordinator{},
		InitialDeliveryCount: frame.Some(0)})
	await[*frame.Attach](c)
	declare := append([]byte{0, 0x53, 0x77}, frame.AppendValue(nil, &frame.Declare{})...)
	for id := range uint32(1001) {
		c.say(0, &frame.Transfer{DeliveryID: frame.Some(id), DeliveryTag: []byte{byte(id), byte(id >> 8)},
			MessageFormat: frame.Some(0)}, declare...)
		_, declared := await[*frame.Disposition](c).State.(*frame.Declared)
		if want := id < 1000; declared != want {
			t.Fatalf("transaction %d is declared: %v", id, declared)
		}
	}
}
