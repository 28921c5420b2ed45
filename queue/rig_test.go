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

// start is when the clocks of these tests begin.
var start = time.UnixMilli(1_700_000_000_500).UTC()

// testHost is a host with queues alone, over a disk in memory and a clock that the test moves.
type testHost struct {
	t    testing.TB
	ctx  context.Context
	fs   *testdisk.Disk
	base *ttl.VirtualClock
	opts Options
	q    *Queues
	h    *host.Host
	// tidy has the reaper work after each move of the clock.
	tidy bool
	// auto lets the reaper work in the background.
	auto bool
}

func newTestHost(t testing.TB, o Options) *testHost {
	t.Helper()
	return newWorldOn(t, testdisk.NewCrashable(t), o)
}

func newWorldOn(t testing.TB, fs *testdisk.Disk, o Options) *testHost {
	t.Helper()
	w := &testHost{t: t, ctx: t.Context(), fs: fs, base: ttl.NewManual(start), opts: o}
	w.open()
	t.Cleanup(func() {
		w.check()
		w.must(w.h.Close())
	})
	return w
}

// check checks what is stored.
func (w *testHost) check() {
	w.t.Helper()
	w.must(w.q.Check(context.Background(), func(err error) bool {
		w.t.Error(err)
		return true
	}))
}

func (w *testHost) open() {
	w.t.Helper()
	w.openOn(w.fs)
}

func (w *testHost) openOn(fs *testdisk.Disk) {
	w.t.Helper()
	e, err := fs.OpenAt(w.ctx, w.base)
	w.must(err)
	w.q = New(w.opts)
	o := host.Options{Clock: ttl.NewVirtualClock(w.base), Wall: w.base, ManualReaper: !w.auto}
	var over engine.Engine = e
	if storedLocksTested(w.t) && !engine.IsShared(e) {
		over = sharedEngine{e}
	}
	w.h, err = host.Open(w.ctx, over, o, w.q.Tenant())
	w.must(err)
}

func (w *testHost) reopen() {
	w.t.Helper()
	w.must(w.h.Close())
	w.open()
}

func (w *testHost) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// fails expects an error of a code.
func (w *testHost) fails(err error, code entity.ErrorCode) {
	w.t.Helper()
	if err == nil || entity.ErrorCodeOf(err) != code {
		w.t.Fatalf("the error is %v of code %d, not of code %d", err, entity.ErrorCodeOf(err), code)
	}
}

// standard are the properties of a plain queue.
func standard() entity.Properties {
	return entity.Properties{LockDuration: time.Minute, MaxDeliveryCount: 10, DefaultTTL: entity.Forever,
		AutoDeleteOnIdle: entity.Forever, DuplicateDetectionWindow: 10 * time.Minute,
		MaxSizeMB: 1024, MaxMessageKB: 256}
}

// create, change and remove are what is done to entities.
func (w *testHost) create(kind entity.Kind, path string, p entity.Properties) {
	w.t.Helper()
	_, err := w.q.Create(w.ctx, kind, path, p)
	w.must(err)
}

func (w *testHost) change(path string, p entity.Properties) {
	w.t.Helper()
	_, err := w.q.Update(w.ctx, path, p)
	w.must(err)
}

func (w *testHost) remove(path string) {
	w.t.Helper()
	w.must(w.q.Delete(w.ctx, path))
}

func (w *testHost) queue(name string, change ...func(*entity.Properties)) {
	w.t.Helper()
	p := standard()
	for _, fn := range change {
		fn(&p)
	}
	w.create(entity.Queue, name, p)
}

func (w *testHost) update(name string, change ...func(*entity.Properties)) {
	w.t.Helper()
	p := standard()
	for _, fn := range change {
		fn(&p)
	}
	w.change(name, p)
}

// at moves the clock to so long after the start.
func (w *testHost) at(d time.Duration) {
	w.t.Helper()
	to := start.Add(d)
	_, err := w.h.Instance().SetClock(w.ctx, ttl.ClockChange{Set: &to})
	w.must(err)
	if w.tidy {
		w.sweep()
	}
}

func (w *testHost) sweep() int {
	w.t.Helper()
	n, err := w.h.Instance().SweepNow(w.ctx)
	w.must(err)
	return n
}

// msg makes a message: its text, and what is set of it.
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

// address is that of an entity, by its path.
func address(path string) entity.Address { return entity.Address{Entity: path} }

func (w *testHost) send(queue string, list ...*message.Message) {
	w.t.Helper()
	w.must(w.q.Send(w.ctx, address(queue), list, nil))
}

// texts are messages in short: "A" or, with failed deliveries, "A+1".
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

func (w *testHost) receiver(a entity.Address, o ReceiverOptions) *Receiver {
	w.t.Helper()
	r, err := w.q.OpenReceiver(w.ctx, a, o)
	w.must(err)
	w.t.Cleanup(r.Close)
	return r
}

// take receives what there is.
func (w *testHost) take(a entity.Address, o ReceiverOptions) []Delivery {
	w.t.Helper()
	r, err := w.q.OpenReceiver(w.ctx, a, o)
	w.must(err)
	defer r.Close()
	list, err := r.TryReceive(w.ctx, 100)
	w.must(err)
	return list
}

// lock receives what there is in PeekLock.
func (w *testHost) lock(queue string) []Delivery {
	w.t.Helper()
	return w.take(entity.Address{Entity: queue}, ReceiverOptions{})
}

// expect receives and compares.
func (w *testHost) expect(queue, want string) []Delivery {
	w.t.Helper()
	list := w.lock(queue)
	if got := texts(list); got != want {
		w.t.Fatalf("received %q, not %q", got, want)
	}
	return list
}

// dead compares what the dead letters are, with their reasons.
func (w *testHost) dead(queue, want string) {
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

// shows compares what a peek shows.
func (w *testHost) shows(queue, want string) []Delivery {
	w.t.Helper()
	list, err := w.q.Peek(w.ctx, entity.Address{Entity: queue}, PeekOptions{Max: 10000, MaxBytes: 1 << 30})
	w.must(err)
	if got := texts(list); got != want {
		w.t.Fatalf("a peek shows %q, not %q", got, want)
	}
	return list
}

func (w *testHost) settle(queue string, d Delivery, s Settlement) {
	w.t.Helper()
	w.must(w.q.Settle(w.ctx, entity.Address{Entity: queue}, d.Token, s, nil))
}

// loses expects that the lock of a message is lost.
func (w *testHost) loses(queue string, d Delivery, s Settlement) {
	w.t.Helper()
	w.fails(w.q.Settle(w.ctx, entity.Address{Entity: queue}, d.Token, s, nil), entity.CodeMessageLockLost)
}

// textOf is the body of a message.
func textOf(d Delivery) string {
	data, _ := d.Message.Data()
	return string(data)
}

// property makes an application property.
func property(name, value string) message.ApplicationProperty {
	return message.ApplicationProperty{Name: name, Value: wire.AppendString(nil, value)}
}

// propertyOf is an application property of a message, in short.
func propertyOf(d Delivery, name string) string {
	if text, ok := wire.Text(d.Message.Get(name)); ok {
		return text
	}
	return "<nil>"
}

// lined puts lines below each other.
func lined(list []string) string { return strings.Join(list, "\n") }

func tokensOf(list []Delivery) (tokens []message.UUID) {
	for _, d := range list {
		tokens = append(tokens, d.Token)
	}
	return tokens
}
