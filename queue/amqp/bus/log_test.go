package bus

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

// logBuffer is a log in memory that is safe for concurrent use.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// withLog makes the Bus log from a level on, and returns the log.
func (w *serviceBusUnderTest) withLog(level slog.Level) *logBuffer {
	l := &logBuffer{}
	o := w.bus.o
	o.Logger = slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: level}))
	w.bus = New(o)
	return l
}

// TestLog checks that the log at level debug contains the operations of clients and the reasons of
// refusals, but neither secrets nor message bodies.
func TestLog(t *testing.T) {
	w := newServiceBusUnderTest(t)
	log := w.withLog(slog.LevelDebug)
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	token := access.Sign(access.EmulatorKey(), "sb://localhost/q", ttl.SystemClock{}.Now().Add(someTime))
	c.put(10, "sb://localhost/q", token)
	c.sender(0, "q")
	c.transfer(0, 0, message.New([]byte("secret body")))
	await[*frame.Disposition](c)
	c.receiver(1, "q")
	c.credit(1, 0, 1, false)
	got, _ := c.delivered()
	c.receiver(2, "absent")
	await[*frame.Detach](c)
	c.say(0, &frame.Detach{Handle: 2, Closed: true})
	m := c.manage(4, "q")
	m.do(410, "renew-lock", pairs("lock-tokens", wire.UUIDs([]wire.UUID{{1}})))
	w.advance(2 * entity.Defaults(entity.Queue).LockDuration)
	refused(t, c.settles(got.DeliveryID.Or(0), &frame.Accepted{}), condMessageLockLost)
	c.say(0, &frame.Detach{Handle: 0, Closed: true, Error: &frame.Error{Condition: "amqp:odd"}})
	await[*frame.Detach](c)
	disabled := entity.Defaults(entity.Queue)
	disabled.Status = entity.Disabled
	_, err := w.q.Update(w.ctx, "q", disabled)
	w.must(err)
	await[*frame.Detach](c)
	c.hangUp()
	text := log.text()
	for _, want := range [][]string{
		{"AMQP connection was opened", "container=test", "host=localhost"},
		{"put-token request was answered", "audience=sb://localhost/q", "status=202"},
		{"link is attached", "address=q", "client=sends"},
		{"link is attached", "address=q", "client=receives"},
		{"link is refused", "address=absent", "condition=amqp:not-found", "could not be found"},
		{"request to $management", "operation=com.microsoft:renew-lock", "entity=q", "status=410"},
		{"messages were refused", "operation=settle", "entity=q",
			"condition=com.microsoft:message-lock-lost"},
		{"detached by its client", "address=q", "condition=amqp:odd"},
		{"detached by the server", "condition=com.microsoft:entity-disabled"},
		{"AMQP connection was closed", "container=test"},
	} {
		if !hasLine(text, want) {
			t.Errorf("there is no line of %q", want)
		}
	}
	for _, secret := range []string{"secret body", token, "sig=", access.EmulatorText} {
		if strings.Contains(text, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// hasLine reports whether one line of text contains all the words.
func hasLine(text string, words []string) bool {
	for line := range strings.Lines(text) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			return true
		}
	}
	return false
}

// TestClockWarning checks that exactly one warning is logged if messages are locked while the server's
// clock differs much from the machine's.
func TestClockWarning(t *testing.T) {
	w := newServiceBusUnderTest(t)
	now := ttl.SystemClock{}.Now()
	_, err := w.h.Instance().SetClock(w.ctx, ttl.ClockChangeRequest{Set: &now})
	w.must(err)
	log := w.withLog(slog.LevelInfo)
	w.create(entity.Queue, "q")
	w.send("q", "a", "b", "c")
	c := w.dial(1 << 16)
	c.receiver(0, "q")
	c.credit(0, 0, 1, false)
	c.delivered()
	if text := log.text(); text != "" {
		t.Errorf("while both clocks agree: %s", text)
	}
	w.advance(time.Hour)
	c.credit(0, 1, 2, false)
	c.delivered()
	c.delivered()
	if text := log.text(); strings.Count(text, "\n") != 1 || !hasLine(text, []string{"level=WARN", "ahead=",
		"entity=q", "lock=1m0s"}) {
		t.Errorf("the log is %s", text)
	}
}
