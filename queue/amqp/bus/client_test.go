package bus

import (
	"bytes"
	"context"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serviceBusUnderTest is a Bus for tests, with queues in memory whose clock moves only when a test moves it.
type serviceBusUnderTest struct {
	t   *testing.T
	ctx context.Context // outlives the test's, for what ends it
	h   *host.Host
	q   *queue.Queues
	bus *ServiceBus

	broken atomic.Bool // no transaction of the engine succeeds
}

// faultyEngine is an engine whose transactions fail while it is broken.
type faultyEngine struct {
	testdisk.Engine
	broken *atomic.Bool
}

// Shared reports whether other servers can have the data open, as the engine below does.
func (e faultyEngine) Shared() bool { return engine.IsShared(e.Engine) }

func (e faultyEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	if e.broken.Load() {
		return nil, engine.ErrUnavailable
	}
	return e.Engine.Update(ctx, scopes, fn, ahead...)
}

func newServiceBusUnderTest(t *testing.T) *serviceBusUnderTest {
	t.Helper()
	w := &serviceBusUnderTest{t: t, ctx: context.WithoutCancel(t.Context()), q: queue.New(queue.Options{})}
	e, err := testdisk.New(t).Open(w.ctx)
	w.must(err)
	clock := ttl.NewManual(time.Date(2026, 7, 2, 1, 0, 0, 0, time.UTC))
	w.h, err = host.Open(w.ctx, faultyEngine{e, &w.broken},
		host.Options{Clock: clock, ManualReaper: true}, w.q.Tenant())
	w.must(err)
	w.bus = New(Options{Queues: w.q, Guard: access.New(access.TokenVerifierOptions{Mode: access.Off}),
		Faults: inject.New(w.q.Now)})
	t.Cleanup(func() {
		w.must(w.q.Check(w.ctx, func(err error) bool { t.Error(err); return true }))
		w.must(w.h.Close())
	})
	return w
}

func (w *serviceBusUnderTest) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *serviceBusUnderTest) create(kind entity.Kind, path string, change ...func(*entity.Properties)) {
	w.t.Helper()
	p := entity.Defaults(kind)
	for _, fn := range change {
		fn(&p)
	}
	_, err := w.q.Create(w.ctx, kind, path, p)
	w.must(err)
}

// advance moves the clock forward and runs the reaper, which purges what has expired, once.
func (w *serviceBusUnderTest) advance(d time.Duration) {
	w.t.Helper()
	_, err := w.h.Instance().SetClock(w.ctx, ttl.ClockChangeRequest{Advance: &d})
	w.must(err)
	_, err = w.h.Instance().SweepNow(w.ctx)
	w.must(err)
}

func withSessions(p *entity.Properties) { p.RequiresSession = true }

// send stores messages with these texts in the entity at path. A text "s:text" makes a message of the
// Service Bus session s.
func (w *serviceBusUnderTest) send(path string, texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		m := message.New([]byte(text))
		if session, _, ok := bytes.Cut([]byte(text), []byte(":")); ok {
			m.SetText(message.GroupID, string(session))
		}
		w.must(w.q.Send(w.ctx, entity.Address{Entity: path}, []*message.Message{m}, nil))
	}
}

// testClient is an AMQP client for tests that sends and receives single frames on one connection.
type testClient struct {
	t      *testing.T
	conn   net.Conn
	in     chan receivedFrame
	served chan error
}

// receivedFrame is a frame that the client has received, decoded and as bytes.
type receivedFrame struct {
	channel uint16
	body    frame.Body // nil: a heartbeat
	payload []byte
	raw     []byte
}

// pipe connects a new client to the server. The client has not sent anything yet.
func (w *serviceBusUnderTest) pipe() *testClient {
	w.t.Helper()
	return w.pipeWith(w.ctx, w.bus.Options())
}

// pipeWith connects a new client to a server with the options o, which ends with ctx. The client has not
// sent anything yet.
func (w *serviceBusUnderTest) pipeWith(ctx context.Context, o amqp.Options) *testClient {
	w.t.Helper()
	near, far := net.Pipe()
	c := &testClient{t: w.t, conn: near, in: make(chan receivedFrame, 4096), served: make(chan error, 1)}
	go func() { c.served <- amqp.Serve(ctx, far, o) }()
	w.t.Cleanup(c.hangUp)
	return c
}

// hangUp closes the connection without a close frame and waits until the server has ended it.
func (c *testClient) hangUp() {
	c.t.Helper()
	c.conn.Close()
	if c.served == nil {
		return
	}
	if err := <-c.served; err != nil {
		c.t.Error(err)
	}
	c.served = nil
}

// listen starts to read frames from the connection, for next and await.
func (c *testClient) listen() {
	r := frame.NewReader(c.conn, 1<<20)
	go func() {
		defer close(c.in)
		for {
			f, err := r.Next()
			if err != nil {
				return
			}
			got := receivedFrame{channel: f.Channel, raw: bytes.Clone(f.Body)}
			if len(f.Body) > 0 {
				if got.body, got.payload, err = frame.Parse(got.raw); err != nil {
					c.t.Errorf("%x: %v", got.raw, err)
					return
				}
			}
			c.in <- got
		}
	}()
}

func (c *testClient) write(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

func (c *testClient) say(channel uint16, body frame.Body, payload ...byte) {
	c.t.Helper()
	c.write(frame.Append(nil, channel, body, payload))
}

// someTime is the time limit of a wait in these tests. It is long, since it only matters if a test fails.
const someTime = 20 * time.Second

// next waits for the next frame; ok is false if the connection has ended.
func (c *testClient) next() (f receivedFrame, ok bool) {
	c.t.Helper()
	late, stop := ttl.SystemClock{}.After(someTime)
	defer stop()
	select {
	case f, ok = <-c.in:
	case <-late:
		c.t.Fatal("nothing comes")
	}
	return f, ok
}

// await waits for the next frame body of the type B. It skips other frames.
func await[B frame.Body](c *testClient) B {
	c.t.Helper()
	b, _ := awaitFrame[B](c)
	return b
}

func awaitFrame[B frame.Body](c *testClient) (B, receivedFrame) {
	c.t.Helper()
	for {
		f, ok := c.next()
		if !ok {
			c.t.Fatalf("the connection has ended before a %v", reflect.TypeFor[B]())
		}
		if b, is := f.body.(B); is {
			return b, f
		}
	}
}

// dial connects a new client and opens its connection and one session, on channel 0. size is the maximum
// frame size of the client in bytes.
func (w *serviceBusUnderTest) dial(size uint32) *testClient {
	w.t.Helper()
	return w.greet(w.pipe(), size)
}

// greet opens the connection of a client that has not sent anything yet, and one session on channel 0.
// size is the maximum frame size of the client in bytes.
func (w *serviceBusUnderTest) greet(c *testClient, size uint32) *testClient {
	w.t.Helper()
	header := frame.HeaderAMQP()
	c.write(header[:])
	c.read(header[:])
	c.listen()
	c.say(0, &frame.Open{ContainerID: "test", Hostname: "localhost", MaxFrameSize: size, ChannelMax: 100})
	await[*frame.Open](c)
	c.begin(0, 100)
	return c
}

func (c *testClient) begin(channel uint16, window uint32) *frame.Begin {
	c.t.Helper()
	c.say(channel, &frame.Begin{IncomingWindow: window, OutgoingWindow: 100, HandleMax: 100})
	return await[*frame.Begin](c)
}

// read reads as many bytes as want has, and fails the test unless they are equal.
func (c *testClient) read(want []byte) {
	c.t.Helper()
	got := make([]byte, len(want))
	for n := 0; n < len(got); {
		m, err := c.conn.Read(got[n:])
		if n += m; err != nil {
			c.t.Fatal(err)
		}
	}
	if !bytes.Equal(got, want) {
		c.t.Fatalf("read %q, not %q", got, want)
	}
}

func source(address string) *frame.Source { return &frame.Source{Address: address, HasAddress: true} }

func target(address string) *frame.Target { return &frame.Target{Address: address, HasAddress: true} }

// sender attaches a link on which the client sends to an address, and returns the server's attach frame.
func (c *testClient) sender(handle uint32, address string) *frame.Attach {
	c.t.Helper()
	c.say(0, &frame.Attach{Name: address, Handle: handle, SndSettleMode: frame.SenderMixed,
		Source: source("here"),
		Target: target(address), InitialDeliveryCount: frame.Some(0)})
	return await[*frame.Attach](c)
}

// receiver attaches a link on which the client receives from an address, without credit, and returns the
// server's attach frame. change modifies the client's frame.
func (c *testClient) receiver(handle uint32, address string, change ...func(*frame.Attach)) *frame.Attach {
	c.t.Helper()
	a := &frame.Attach{Name: address, Handle: handle, Receiver: true, SndSettleMode: frame.SenderUnsettled,
		RcvSettleMode: frame.ReceiverSecond, Source: source(address), Target: target("here")}
	for _, fn := range change {
		fn(a)
	}
	c.say(0, a)
	return await[*frame.Attach](c)
}

// credit grants credit on a link on which the client has received got deliveries so far.
func (c *testClient) credit(handle, got, credit uint32, drain bool) {
	c.t.Helper()
	c.say(0, &frame.Flow{NextIncomingID: frame.Some(0), IncomingWindow: 1000, OutgoingWindow: 1000,
		Handle: frame.Some(handle), DeliveryCount: frame.Some(got), LinkCredit: frame.Some(
			credit), Drain: drain})
}

// delivered waits for one delivery, in one or more frames, and returns its first frame and its message.
func (c *testClient) delivered() (*frame.Transfer, *message.Message) {
	c.t.Helper()
	first, f := awaitFrame[*frame.Transfer](c)
	payload := f.payload
	for more := first.More; more; {
		t, f := awaitFrame[*frame.Transfer](c)
		payload, more = append(payload, f.payload...), t.More
	}
	m, err := message.Parse(payload)
	if err != nil {
		c.t.Fatal(err)
	}
	return first, m
}

func textOf(m *message.Message) string {
	data, _ := m.Data()
	return string(data)
}

// transfer sends a message on a link, in one frame. id is the delivery id.
func (c *testClient) transfer(handle, id uint32, m *message.Message) {
	c.t.Helper()
	c.say(0, &frame.Transfer{Handle: handle, DeliveryID: frame.Some(id), DeliveryTag: []byte{byte(id)},
		MessageFormat: frame.Some(0)}, m.AppendBare(nil)...)
}

// ask sends a request to a node such as $cbs and returns the response. It attaches two links for that:
// handle to receive, and handle+1 to send. change modifies the request.
func (c *testClient) ask(handle uint32, node, operation string, body wire.Map,
	change ...func(*message.Message)) *message.Message {
	c.t.Helper()
	reply := "reply-" + operation
	c.receiver(handle, node, func(a *frame.Attach) {
		a.Target, a.SndSettleMode, a.RcvSettleMode = target(reply), frame.SenderSettled, frame.ReceiverFirst
	})
	c.credit(handle, 0, 10, false)
	c.sender(handle+1, node)
	m := message.New(nil)
	m.SetRaw(message.MessageID, wire.AppendUint64(nil, 7))
	m.SetText(message.ReplyTo, reply)
	m.SetString("operation", operation)
	value, err := wire.Append(nil, body)
	if err != nil {
		c.t.Fatal(err)
	}
	m.Body = append([]byte{0, 0x53, 0x77}, value...)
	for _, fn := range change {
		fn(m)
	}
	c.transfer(handle+1, handle, m)
	_, answer := c.delivered()
	return answer
}
