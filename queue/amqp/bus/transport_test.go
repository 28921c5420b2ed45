package bus

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/ttl"
)

// window opens the session's window for more transfers, after the client has received got of them.
func (c *testClient) window(got, more uint32) {
	c.t.Helper()
	c.say(0, &frame.Flow{NextIncomingID: frame.Some(got), IncomingWindow: more, OutgoingWindow: 1000})
}

// flowOf sends a flow frame that sets the credit of a link and the window of the session. delivered is the
// number of deliveries received on the link.
func (c *testClient) flowOf(handle, window, delivered, credit uint32) {
	c.t.Helper()
	c.say(0, &frame.Flow{NextIncomingID: frame.Some(0), IncomingWindow: window, OutgoingWindow: 1000,
		Handle: frame.Some(handle), DeliveryCount: frame.Some(delivered), LinkCredit: frame.Some(credit),
		Echo: true})
}

// pieces sends a payload as one delivery in frames of size bytes. t is the first frame.
func (c *testClient) pieces(t frame.Transfer, payload []byte, size int) {
	c.t.Helper()
	for len(payload) > 0 {
		n := min(size, len(payload))
		t.More = n < len(payload)
		c.say(0, &t, payload[:n]...)
		payload = payload[n:]
		t.DeliveryTag, t.DeliveryID = nil, frame.OptionalNumber{}
	}
}

// TestLargeMessage sends and receives a large message with small frames and session windows, and checks
// that it is unchanged.
func TestLargeMessage(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	c := w.pipe()
	header := frame.HeaderAMQP()
	c.write(header[:])
	c.read(header[:])
	c.listen()
	c.say(0, &frame.Open{ContainerID: "test", MaxFrameSize: frame.MinMaxFrameSize})
	await[*frame.Open](c)
	c.begin(0, 1)
	c.sender(0, "q")
	want := make([]byte, 200<<10)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(want)
	sent := message.New(want).AppendBare(nil)
	c.pieces(frame.Transfer{DeliveryID: frame.Some(0), DeliveryTag: []byte{1}}, sent, 400)
	if d := await[*frame.Disposition](c); !d.Settled || !isState[*frame.Accepted](d.State) {
		t.Fatalf("%+v", d)
	}
	c.receiver(1, "q")
	c.flowOf(1, 1, 0, 1)
	var got []byte
	for n := uint32(1); ; n++ {
		part, f := awaitFrame[*frame.Transfer](c)
		if part.DeliveryID.Or(99) != 0 || n > 1 && part.DeliveryTag != nil {
			t.Fatalf("piece %d is %+v", n, part)
		}
		if len(f.raw) > frame.MinMaxFrameSize-8 {
			t.Fatalf("a frame of %d bytes", len(f.raw)+8)
		}
		if got = append(got, f.payload...); !part.More {
			break
		}
		c.window(n, 1)
	}
	m, err := message.Parse(got)
	w.must(err)
	if textOf(m) != string(want) {
		t.Error("the bytes are others")
	}
}

func isState[S frame.DeliveryState](s frame.DeliveryState) bool { _, ok := s.(S); return ok }

// TestAbortedAndMalformedTransfers checks that messages that are aborted, too large or malformed are not
// stored, and that messages sent as settled get no outcome.
func TestAbortedAndMalformedTransfers(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	if a := c.sender(0, "q"); a.MaxMessageSize != 256<<10 {
		t.Errorf("the largest message has %d bytes", a.MaxMessageSize)
	}
	bare := func(text string) []byte { return message.New([]byte(text)).AppendBare(nil) }
	large := strings.Repeat("x", 300_000)
	tag := []byte{1}
	// Settled: there is no outcome of any of these.
	c.pieces(frame.Transfer{DeliveryID: frame.Some(0), DeliveryTag: tag, Settled: true}, bare(large), 60_000)
	c.say(0, &frame.Transfer{DeliveryID: frame.Some(1), DeliveryTag: tag, Settled: true}, bare("settled")...)
	c.say(0, &frame.Transfer{DeliveryID: frame.Some(2), DeliveryTag: tag, More: true}, bare("aborted")...)
	c.say(0, &frame.Transfer{Aborted: true})
	c.pieces(frame.Transfer{DeliveryID: frame.Some(3), DeliveryTag: tag}, bare(large), 60_000)
	d := await[*frame.Disposition](c)
	r, ok := d.State.(*frame.Rejected)
	if d.First != 3 || !ok || r.Error == nil || r.Error.Condition != frame.CondMessageSize {
		t.Fatalf("a message that is too large: %+v", d)
	}
	c.say(0, &frame.Transfer{DeliveryID: frame.Some(4), DeliveryTag: tag}, []byte("nonsense")...)
	if d = await[*frame.Disposition](c); d.First != 4 || !isState[*frame.Rejected](d.State) {
		t.Fatalf("nonsense: %+v", d)
	}
	batch := message.New(nil)
	batch.Body = append(message.New(bare("b1")).Body, message.New(bare("b2")).Body...)
	c.say(0, &frame.Transfer{DeliveryID: frame.Some(5), DeliveryTag: tag,
		MessageFormat: frame.Some(message.BatchFormat)}, batch.AppendBare(nil)...)
	if d = await[*frame.Disposition](c); d.First != 5 || !isState[*frame.Accepted](d.State) {
		t.Fatalf("a batch: %+v", d)
	}
	w.shows("q", "settled b1 b2")
}

// TestFullBatch checks that a batch of many small messages is accepted if its encoding is as large as the
// link allows.
func TestFullBatch(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	limit := int(c.sender(0, "q").MaxMessageSize)
	one := message.New(message.New(nil).AppendBare(nil)).Body
	batch, count := message.New(nil), limit/len(one)-1
	batch.Body = bytes.Repeat(one, count)
	payload := batch.AppendBare(nil)
	if len(payload) <= limit-2*len(one) || len(payload) > limit {
		t.Fatalf("the batch has %d bytes, the limit is %d", len(payload), limit)
	}
	c.pieces(frame.Transfer{DeliveryID: frame.Some(0), DeliveryTag: []byte{1},
		MessageFormat: frame.Some(message.BatchFormat)}, payload, 60_000)
	if d := await[*frame.Disposition](c); !isState[*frame.Accepted](d.State) {
		t.Fatalf("a batch of %d messages: %+v", count, d.State)
	}
	e, err := w.q.Get(w.ctx, "q")
	w.must(err)
	if e.Counts.Active != int64(count) {
		t.Errorf("the queue has %d messages, not %d", e.Counts.Active, count)
	}
}

// shows peeks at the messages of the entity at path, and fails the test unless want has their texts,
// separated by blanks.
func (w *serviceBusUnderTest) shows(path, want string) {
	w.t.Helper()
	at, _, err := entity.ParseAddress(path)
	w.must(err)
	list, err := w.q.Peek(w.ctx, at, queue.PeekOptions{Max: 1000})
	w.must(err)
	var texts []string
	for _, d := range list {
		texts = append(texts, textOf(d.Message))
	}
	if got := strings.Join(texts, " "); got != want {
		w.t.Errorf("%s holds %q, not %q", path, got, want)
	}
}

// TestCreditWithdrawn checks that a message that waits for the session's window is released if the client
// withdraws the link's credit, and is delivered when there is credit again.
func TestCreditWithdrawn(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	w.send("q", "a", "b")
	c := w.dial(1 << 16)
	c.receiver(0, "q")
	c.flowOf(0, 1, 0, 2) // there is credit for both, but room for one
	if _, m := c.delivered(); textOf(m) != "a" {
		t.Errorf("got %q", textOf(m))
	}
	c.flowOf(0, 10, 1, 0)
	await[*frame.Flow](c)
	c.credit(0, 1, 0, true) // is answered when nothing is under way
	if f := await[*frame.Flow](c); f.DeliveryCount.Or(99) != 1 || f.LinkCredit.Or(99) != 0 {
		t.Errorf("after the credit was taken back: %+v", f)
	}
	c.flowOf(0, 10, 1, 1)
	if transfer, m := c.delivered(); textOf(m) != "b" || transfer.DeliveryID.Value != 1 {
		t.Errorf("%+v %s", transfer, textOf(m))
	}
}

// TestDrain checks that a drain makes the server send the available messages and then use up the rest of
// the credit, without losing a message.
func TestDrain(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	c.receiver(0, "q")
	c.credit(0, 0, 10, false) // it waits
	c.credit(0, 0, 10, true)
	f := await[*frame.Flow](c)
	if !f.Drain || f.LinkCredit.Or(99) != 0 || f.DeliveryCount.Or(99) != 10 || !f.NextIncomingID.Set {
		t.Errorf("a drain of nothing: %+v", f)
	}
	w.send("q", "a", "b", "c", "d", "e")
	c.credit(0, 10, 20, true)
	for _, want := range []string{"a", "b", "c", "d", "e"} {
		if _, m := c.delivered(); textOf(m) != want {
			t.Fatalf("got %q", textOf(m))
		}
	}
	f = await[*frame.Flow](c)
	if !f.Drain || f.LinkCredit.Or(99) != 0 || f.DeliveryCount.Or(99) != 30 {
		t.Errorf("a drain of five: %+v", f)
	}
	w.send("q", "f")
	c.credit(0, 30, 0, true) // a drain without credit is answered, too
	if f = await[*frame.Flow](c); f.LinkCredit.Or(99) != 0 || f.DeliveryCount.Or(99) != 30 {
		t.Errorf("a drain without credit: %+v", f)
	}
	c.credit(0, 30, 1, false)
	if _, m := c.delivered(); textOf(m) != "f" {
		t.Errorf("got %q", textOf(m))
	}
}

// TestRepeatedEndAndDetach checks that a second end of a session or detach of a link, as the Python client
// sends it, ends nothing else.
func TestRepeatedEndAndDetach(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	c.begin(1, 10)
	c.say(1, &frame.Attach{Name: "x", Source: source("here"), Target: target("q"),
		InitialDeliveryCount: frame.Some(0)})
	await[*frame.Attach](c)
	for range 2 {
		c.say(1, &frame.Detach{Closed: true})
	}
	for range 2 {
		c.say(1, &frame.End{})
	}
	c.say(1, &frame.Detach{Closed: true})
	await[*frame.End](c)
	c.begin(1, 10) // the channel is free again
	c.say(0, &frame.Close{})
	await[*frame.Close](c)
}

// TestIdleTimeouts checks idle timeouts with two connections: the server closes one whose client is silent
// for too long, and sends empty frames as heartbeats on the other.
func TestIdleTimeouts(t *testing.T) {
	w := newServiceBusUnderTest(t)
	opened := func(server time.Duration, client uint32) *testClient {
		o := w.bus.Options()
		o.IdleTimeout = server
		c := w.pipeWith(w.ctx, o)
		header := frame.HeaderAMQP()
		c.write(header[:])
		c.read(header[:])
		c.listen()
		c.say(0, &frame.Open{ContainerID: "test", MaxFrameSize: 1 << 16, IdleTimeout: client})
		if o := await[*frame.Open](c); int64(o.IdleTimeout) != server.Milliseconds() {
			t.Errorf("the server waits for %d", o.IdleTimeout)
		}
		return c
	}
	c := opened(time.Hour, 20)
	for range 3 {
		if f, ok := c.next(); !ok || f.body != nil {
			t.Fatalf("no heartbeat: %+v", f)
		}
	}
	c.hangUp()
	c = opened(200*time.Millisecond, 0)
	c.begin(0, 10) // what is written last is older than the limit when the farewell is
	cl := await[*frame.Close](c)
	if cl.Error == nil || cl.Error.Condition != frame.CondForced {
		t.Errorf("%+v", cl)
	}
}

// TestServerStops checks that the server closes connections with close frames when it is stopped, whatever
// they are doing.
func TestServerStops(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "talks", withSessions)
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	o := w.bus.Options()
	silent, begun, open := w.pipeWith(ctx, o), w.pipeWith(ctx, o), w.pipeWith(ctx, o)
	header := frame.HeaderSASL()
	begun.write(header[:])
	begun.listenAfter(header[:])
	await[*frame.SASLMechanisms](begun)
	header = frame.HeaderAMQP()
	open.write(header[:])
	open.listenAfter(header[:])
	open.say(0, &frame.Open{ContainerID: "test", MaxFrameSize: 1 << 16})
	await[*frame.Open](open)
	open.begin(0, 10)
	open.say(0, next("any", 0)) // it waits for a session
	before := ttl.SystemClock{}.Now()
	stop()
	if cl := await[*frame.Close](open); cl.Error == nil || cl.Error.Condition != frame.CondForced {
		t.Errorf("%+v", cl)
	}
	open.say(0, &frame.Close{})
	for _, c := range []*testClient{silent, begun, open} {
		if err := <-c.served; err != nil {
			t.Error(err)
		}
		c.served = nil
	}
	if took := (ttl.SystemClock{}).Now().Sub(before); took > 10*time.Second {
		t.Errorf("the end takes %v", took)
	}
}

// listenAfter reads the bytes want from the connection, and then starts to read frames.
func (c *testClient) listenAfter(want []byte) {
	c.t.Helper()
	c.read(want)
	c.listen()
}

// TestRangeOfDeliveries checks a settlement of a range of delivery ids: each delivery is settled, and ids
// that do not exist are ignored.
func TestRangeOfDeliveries(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	w.send("q", "a", "b", "c", "d")
	c := w.dial(1 << 16)
	c.receiver(0, "q")
	c.credit(0, 0, 4, false)
	for range 4 {
		c.delivered()
	}
	c.say(0, &frame.Disposition{Receiver: true, First: 1, State: &frame.Accepted{}})
	if d := await[*frame.Disposition](c); d.First != 1 || d.Last.Or(99) != 1 || !d.Settled || d.Receiver {
		t.Fatalf("%+v", d)
	}
	c.say(0, &frame.Disposition{Receiver: true, First: 0, Last: frame.Some(100), State: &frame.Accepted{}})
	var settled []byte
	for len(settled) < 3 {
		d := await[*frame.Disposition](c)
		for id := d.First; id <= d.Last.Or(d.First); id++ {
			settled = append(settled, byte(id))
		}
	}
	if !bytes.Equal(settled, []byte{0, 2, 3}) {
		t.Errorf("settled %v", settled)
	}
	w.shows("q", "")
}

// TestReceiveAndDeleteCreditWithdrawn checks that a message received in receive-and-delete mode is sent even
// if its credit is withdrawn while it waits for the session's window, since it would be lost otherwise.
func TestReceiveAndDeleteCreditWithdrawn(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	w.send("q", "a", "b")
	c := w.dial(1 << 16)
	c.receiver(0, "q", func(a *frame.Attach) { a.SndSettleMode = frame.SenderSettled })
	c.flowOf(0, 1, 0, 2) // there is credit for both, but room for one
	if _, m := c.delivered(); textOf(m) != "a" {
		t.Errorf("got %q", textOf(m))
	}
	c.flowOf(0, 1, 1, 0)
	c.flowOf(0, 10, 1, 0)
	if _, m := c.delivered(); textOf(m) != "b" {
		t.Errorf("got %q", textOf(m))
	}
	w.shows("q", "")
}
