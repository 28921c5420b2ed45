package queue

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

// start is the time of the server's clock at the beginning of each test.
var start = time.UnixMilli(1_700_000_000_500).UTC()

// testQueueHost is a server for tests that has only queues and topics: a host on a disk in memory, with a
// clock that the test moves. Its methods fail the test if an operation fails.
type testQueueHost struct {
	t    testing.TB
	ctx  context.Context
	fs   *testdisk.EngineStorage
	base *ttl.VirtualClock
	opts Options
	q    *Queues
	h    *host.Host
	// tidy makes the method at run the reaper after it has moved the clock.
	tidy bool
	// auto lets the reaper run in the background. Otherwise it runs only when the test calls it.
	auto bool
}

func newTestHost(t testing.TB, o Options) *testQueueHost {
	t.Helper()
	return newWorldOn(t, testdisk.NewCrashable(t), o)
}

func newWorldOn(t testing.TB, fs *testdisk.EngineStorage, o Options) *testQueueHost {
	t.Helper()
	w := &testQueueHost{t: t, ctx: t.Context(), fs: fs, base: ttl.NewManual(start), opts: o}
	w.open()
	t.Cleanup(func() {
		w.check()
		w.must(w.h.Close())
	})
	return w
}

// check fails the test if stored keys of queues and topics contradict each other.
func (w *testQueueHost) check() {
	w.t.Helper()
	w.must(w.q.Check(context.Background(), func(err error) bool {
		w.t.Error(err)
		return true
	}))
}

func (w *testQueueHost) open() {
	w.t.Helper()
	w.openOn(w.fs)
}

func (w *testQueueHost) openOn(fs *testdisk.EngineStorage) {
	w.t.Helper()
	e, err := fs.OpenAt(w.ctx, w.base)
	w.must(err)
	w.q = New(w.opts)
	o := host.Options{Clock: ttl.NewVirtualClock(w.base), Wall: w.base, ManualReaper: !w.auto}
	var over engine.Engine = e
	if storedLocksTested(w.t) && !engine.IsShared(e) {
		over = fakeSharedEngine{e}
	}
	w.h, err = host.Open(w.ctx, over, o, w.q.Tenant())
	w.must(err)
}

func (w *testQueueHost) reopen() {
	w.t.Helper()
	w.must(w.h.Close())
	w.open()
}

func (w *testQueueHost) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// fails fails the test unless err is an *entity.Error with this code.
func (w *testQueueHost) fails(err error, code entity.ErrorCode) {
	w.t.Helper()
	if err == nil || entity.ErrorCodeOf(err) != code {
		w.t.Fatalf("the error is %v of code %d, not of code %d", err, entity.ErrorCodeOf(err), code)
	}
}

// standard returns the properties of a queue with common values: locks of one minute, ten deliveries, and
// no expiry.
func standard() entity.Properties {
	return entity.Properties{LockDuration: time.Minute, MaxDeliveryCount: 10, DefaultTTL: entity.Forever,
		AutoDeleteOnIdle: entity.Forever, DuplicateDetectionWindow: 10 * time.Minute,
		MaxSizeMB: 1024, MaxMessageKB: 256}
}

// create creates an entity (a queue, topic or subscription) at path with the properties p. It fails the test
// if that is refused.
func (w *testQueueHost) create(kind entity.Kind, path string, p entity.Properties) {
	w.t.Helper()
	_, err := w.q.Create(w.ctx, kind, path, p)
	w.must(err)
}

func (w *testQueueHost) change(path string, p entity.Properties) {
	w.t.Helper()
	_, err := w.q.Update(w.ctx, path, p)
	w.must(err)
}

func (w *testQueueHost) remove(path string) {
	w.t.Helper()
	w.must(w.q.Delete(w.ctx, path))
}

func (w *testQueueHost) queue(name string, change ...func(*entity.Properties)) {
	w.t.Helper()
	p := standard()
	for _, fn := range change {
		fn(&p)
	}
	w.create(entity.Queue, name, p)
}

func (w *testQueueHost) update(name string, change ...func(*entity.Properties)) {
	w.t.Helper()
	p := standard()
	for _, fn := range change {
		fn(&p)
	}
	w.change(name, p)
}

// at sets the server's clock to the time d after start. If tidy is set, it then runs the reaper.
func (w *testQueueHost) at(d time.Duration) {
	w.t.Helper()
	to := start.Add(d)
	_, err := w.h.Instance().SetClock(w.ctx, ttl.ClockChangeRequest{Set: &to})
	w.must(err)
	if w.tidy {
		w.sweep()
	}
}

func (w *testQueueHost) sweep() int {
	w.t.Helper()
	n, err := w.h.Instance().SweepNow(w.ctx)
	w.must(err)
	return n
}

// msg returns a message whose body and message id are text. Each function in set changes the message.
func msg(text string, set ...func(*message.Message)) *message.Message {
	m := message.New([]byte(text))
	m.SetText(message.MessageID, text)
	for _, fn := range set {
		fn(m)
	}
	return m
}

func lives(d time.Duration) func(*message.Message) {
	return func(m *message.Message) { m.SetOwnTTL(d.Milliseconds(), 0) }
}

func of(session string) func(*message.Message) {
	return func(m *message.Message) { m.SetText(message.GroupID, session) }
}

func due(d time.Duration) func(*message.Message) {
	return func(m *message.Message) { m.SetScheduled(start.Add(d).UnixMilli()) }
}

// address returns the address of the queue, topic or subscription with this path.
func address(path string) entity.Address { return entity.Address{Entity: path} }

func (w *testQueueHost) send(queue string, list ...*message.Message) {
	w.t.Helper()
	w.must(w.q.Send(w.ctx, address(queue), list, nil))
}

// texts returns the bodies of messages, separated by blanks. A message with n failed deliveries is
// followed by +n, as in "A B+1".
func texts(list []Delivery) string {
	var words []string
	for _, d := range list {
		word := textOf(d)
		if d.Broker.DeliveryCount > 0 {
			word += fmt.Sprintf("+%d", d.Broker.DeliveryCount)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func (w *testQueueHost) receiver(a entity.Address, o ReceiverOptions) *Receiver {
	w.t.Helper()
	r, err := w.q.OpenReceiver(w.ctx, a, o)
	w.must(err)
	w.t.Cleanup(r.Close)
	return r
}

// take opens a receiver, receives up to 100 available messages without waiting, and closes the receiver.
func (w *testQueueHost) take(a entity.Address, o ReceiverOptions) []Delivery {
	w.t.Helper()
	r, err := w.q.OpenReceiver(w.ctx, a, o)
	w.must(err)
	defer r.Close()
	list, err := r.TryReceive(w.ctx, 100)
	w.must(err)
	return list
}

// lock receives the available messages of a queue in PeekLock mode, without waiting.
func (w *testQueueHost) lock(queue string) []Delivery {
	w.t.Helper()
	return w.take(entity.Address{Entity: queue}, ReceiverOptions{})
}

// expect receives the available messages of a queue in PeekLock mode, and fails the test unless want lists
// their bodies, separated by blanks. A message with n failed deliveries is listed with +n, as in "A B+1".
func (w *testQueueHost) expect(queue, want string) []Delivery {
	w.t.Helper()
	list := w.lock(queue)
	if got := texts(list); got != want {
		w.t.Fatalf("received %q, not %q", got, want)
	}
	return list
}

// dead fails the test unless want lists the messages in the queue's dead-letter queue, as text:reason,
// separated by blanks.
func (w *testQueueHost) dead(queue, want string) {
	w.t.Helper()
	list, err := w.q.Peek(
		w.ctx,
		entity.Address{Entity: queue, Sub: entity.DeadLetters},
		PeekOptions{Max: 10000, MaxBytes: 1 << 30},
	)
	w.must(err)
	var words []string
	for _, d := range list {
		words = append(words, textOf(d)+":"+propertyOf(d, "DeadLetterReason"))
	}
	if got := strings.Join(words, " "); got != want {
		w.t.Fatalf("dead letters are %q, not %q", got, want)
	}
}

// shows peeks at all messages of a queue, and returns them. It fails the test unless their bodies are want,
// separated by blanks; a message with n failed deliveries is followed by +n, as in "A B+1".
func (w *testQueueHost) shows(queue, want string) []Delivery {
	w.t.Helper()
	list, err := w.q.Peek(w.ctx, entity.Address{Entity: queue}, PeekOptions{Max: 10000, MaxBytes: 1 << 30})
	w.must(err)
	if got := texts(list); got != want {
		w.t.Fatalf("a peek shows %q, not %q", got, want)
	}
	return list
}

func (w *testQueueHost) settle(queue string, d Delivery, s SettlementRequest) {
	w.t.Helper()
	w.must(w.q.Settle(w.ctx, entity.Address{Entity: queue}, d.Token, s, nil))
}

// loses tries to settle a message, and fails the test unless the error is CodeMessageLockLost.
func (w *testQueueHost) loses(queue string, d Delivery, s SettlementRequest) {
	w.t.Helper()
	w.fails(w.q.Settle(w.ctx, entity.Address{Entity: queue}, d.Token, s, nil), entity.CodeMessageLockLost)
}

// textOf returns the body of a message as a string.
func textOf(d Delivery) string {
	data, _ := d.Message.Data()
	return string(data)
}

// property returns an application property with a string value.
func property(name, value string) message.ApplicationProperty {
	return message.ApplicationProperty{Name: name, Value: wire.AppendString(nil, value)}
}

// propertyOf returns the string value of a message's application property. It returns "<nil>" if the
// property is missing or is not a string.
func propertyOf(d Delivery, name string) string {
	if text, ok := wire.Text(d.Message.Get(name)); ok {
		return text
	}
	return "<nil>"
}

// lined joins strings with line breaks.
func lined(list []string) string { return strings.Join(list, "\n") }

func tokensOf(list []Delivery) (tokens []message.UUID) {
	for _, d := range list {
		tokens = append(tokens, d.Token)
	}
	return tokens
}
