package bus

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// TestObservations checks that Options.Observe is called for each operation on messages, with the number
// of refused messages.
func TestObservations(t *testing.T) {
	w := newServiceBusUnderTest(t)
	var mu sync.Mutex
	var seen []string
	w.bus.o.Observe = func(o ObservedMessageOperation) {
		mu.Lock()
		defer mu.Unlock()
		what := o.Operation + " " + o.Entity
		if o.Failed > 0 {
			what += " " + o.Condition
		}
		if o.Began.IsZero() || o.Ended.Before(o.Began) {
			t.Errorf("%s has taken from %v to %v", what, o.Began, o.Ended)
		}
		seen = append(seen, what)
	}
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	c.sender(0, "q")
	c.transfer(0, 0, message.New([]byte("a")))
	await[*frame.Disposition](c)
	c.receiver(1, "q")
	c.credit(1, 0, 1, false)
	c.delivered()
	m := c.manage(2, "q")
	m.do(410, "renew-lock", pairs("lock-tokens", wire.UUIDs([]wire.UUID{{1}})))
	w.fault(inject.FaultRule{Fault: inject.LockLost})
	refused(t, c.settles(0, &frame.Accepted{}), condMessageLockLost)
	mu.Lock()
	defer mu.Unlock()
	want := []string{"send q", "receive q", "renew-lock q com.microsoft:message-lock-lost",
		"settle q com.microsoft:message-lock-lost"}
	if !slices.Equal(seen, want) {
		t.Errorf("seen: %s", strings.Join(seen, "; "))
	}
}
