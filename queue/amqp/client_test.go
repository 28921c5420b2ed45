package amqp

import (
	"bytes"
	"context"
	"net"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/ttl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testClient is the client's end of a connection under test. It writes and reads single frames over a pipe.
type testClient struct {
	t      *testing.T
	conn   net.Conn
	frames chan frameFromServer // closed when the server has closed the connection
	stop   context.CancelFunc
}

// frameFromServer is a frame that the client has received from the server.
type frameFromServer struct {
	channel uint16
	body    frame.Body
	payload []byte
}

// dial starts a server with the handler h and returns a client that is connected to it and has not sent
// anything yet.
func dial(t *testing.T, h ConnectionHandler) *testClient {
	t.Helper()
	near, far := net.Pipe()
	return serve(t, near, far, Options{ContainerID: "server",
		Connect: func(context.Context, ClientInfo) ConnectionHandler { return h }})
}

// serve starts a server on the end far of a connection, and returns a client that uses the end near.
func serve(t *testing.T, near, far net.Conn, o Options) *testClient {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &testClient{t: t, conn: near, frames: make(chan frameFromServer, 100), stop: stop}
	served, read := make(chan error, 1), make(chan struct{})
	_ = near.SetDeadline(ttl.SystemClock{}.Now().Add(time.Minute)) // a test that hangs fails
	go func() { served <- Serve(ctx, far, o) }()
	go func() {
		defer close(read)
		defer close(c.frames)
		c.readAll()
	}()
	t.Cleanup(func() {
		_ = near.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		for range c.frames { // nobody reads them any more
		}
		<-read
		stop()
	})
	return c
}

// readAll reads everything that the server sends, until the connection ends, and sends it to c.frames. A
// protocol header becomes a frameFromServer that has only a payload.
func (c *testClient) readAll() {
	r := frame.NewReader(c.conn, 1<<20)
	for h := (frame.ProtocolHeader{}); h != frame.HeaderAMQP(); {
		var err error
		if h, err = r.ProtocolHeader(); err != nil {
			return
		}
		c.frames <- frameFromServer{payload: h[:]}
		if h != frame.HeaderSASL() {
			break
		}
		for range 2 { // mechanisms and outcome
			if !c.readOne(r) {
				return
			}
		}
	}
	for c.readOne(r) {
	}
}

func (c *testClient) readOne(r *frame.Reader) bool {
	f, err := r.Next()
	if err != nil {
		return false
	}
	if len(f.Body) > 0 {
		body, payload, err := frame.Parse(bytes.Clone(f.Body))
		if err != nil {
			c.t.Error(err)
			return false
		}
		c.frames <- frameFromServer{f.Channel, body, payload}
	}
	return true
}

// write sends bytes to the server. It ignores an error, since the server may have closed the connection
// already.
func (c *testClient) write(b []byte) { _, _ = c.conn.Write(b) }

func (c *testClient) send(channel uint16, body frame.Body, payload ...byte) {
	c.write(frame.Append(nil, channel, body, payload))
}

// header sends the protocol header send. It fails the test unless the server responds with the header
// want.
func (c *testClient) header(send, want frame.ProtocolHeader) {
	c.t.Helper()
	c.write(send[:])
	if f, ok := <-c.frames; !ok || !bytes.Equal(f.payload, want[:]) {
		c.t.Fatalf("the server's header is %q, not %q", f.payload, want)
	}
}

// closed fails the test if the server sends another frame before it closes the connection.
func (c *testClient) closed() {
	c.t.Helper()
	if f, ok := <-c.frames; ok {
		c.t.Fatalf("%T %+v behind the end", f.body, f.body)
	}
}

// expect returns the next frame from the server. It fails the test if that is not a frame of type T.
func expect[T frame.Body](c *testClient) T {
	c.t.Helper()
	f, ok := <-c.frames
	if !ok {
		c.t.Fatalf("the connection has ended, without %s", reflect.TypeFor[T]())
	}
	body, ok := f.body.(T)
	if !ok {
		c.t.Fatalf("%T %+v, not %s", f.body, f.body, reflect.TypeFor[T]())
	}
	return body
}

// opened returns a client of a server with the handler h, after both have exchanged the open frames.
func opened(t *testing.T, h ConnectionHandler) *testClient {
	t.Helper()
	return dial(t, h).open()
}

// open exchanges the AMQP headers and the open frames with the server, and returns the client.
func (c *testClient) open() *testClient {
	c.t.Helper()
	t := c.t
	c.header(frame.HeaderAMQP(), frame.HeaderAMQP())
	c.send(0, &frame.Open{ContainerID: "client", MaxFrameSize: 1 << 16})
	if o := expect[*frame.Open](c); o.ContainerID != "server" || o.MaxFrameSize != defaultFrameSize {
		t.Fatalf("%+v", o)
	}
	return c
}

// begun returns a client with an open connection and a session on channel 0. window is the session's
// incoming window, the number of transfers that the server may send.
func begun(t *testing.T, h ConnectionHandler, window uint32) *testClient {
	t.Helper()
	return opened(t, h).begin(window)
}

// begin begins a session on channel 0, and returns the client. window is the session's incoming window,
// the number of transfers that the server may send.
func (c *testClient) begin(window uint32) *testClient {
	c.t.Helper()
	t := c.t
	c.send(0, &frame.Begin{NextOutgoingID: 7, IncomingWindow: window, OutgoingWindow: 100, HandleMax: 10})
	if b := expect[*frame.Begin](c); b.RemoteChannel != frame.Some(0) || b.IncomingWindow != incomingWindow {
		t.Fatalf("%+v", b)
	}
	return c
}

// failed fails the test unless the next frame is a Close with the error condition want.
func (c *testClient) failed(want string) {
	c.t.Helper()
	if e := expect[*frame.Close](c).Error; e == nil || string(e.Condition) != want {
		c.t.Fatalf("closed with %+v, not %s", e, want)
	}
	c.send(0, &frame.Close{})
}

// detached fails the test unless the next frame is a Detach with the error condition want, or without an
// error if want is "".
func (c *testClient) detached(want string) {
	c.t.Helper()
	d := expect[*frame.Detach](c)
	if got := d.Error; got == nil && want != "" || got != nil && string(got.Condition) != want {
		c.t.Fatalf("detached with %+v, not %q", got, want)
	}
}

// fixedAttachResponseHandler is a ConnectionHandler that responds to every attach with the same AcceptedLink
// and error.
type fixedAttachResponseHandler struct {
	answer AcceptedLink
	err    error
	waits  bool
}

func (*fixedAttachResponseHandler) Attaching(*Link, *frame.Attach) {}

func (n *fixedAttachResponseHandler) Attach(context.Context, *Link, *frame.Attach) (AcceptedLink, error) {
	return n.answer, n.err
}

func (*fixedAttachResponseHandler) Authorized() bool { return true }

func (n *fixedAttachResponseHandler) MayWait() bool { return n.waits }

func (*fixedAttachResponseHandler) Closed() {}

// goChannelMessageSink is a MessageSink that accepts all messages and sends them to the channel got.
type goChannelMessageSink struct {
	got  chan IncomingMessage
	hold chan struct{} // until it is closed nothing is accepted; nil: it does not wait
	gone chan struct{}
}

func newChannelSink() *goChannelMessageSink {
	return &goChannelMessageSink{got: make(chan IncomingMessage, 100), gone: make(chan struct{}, 10)}
}

func (s *goChannelMessageSink) Transfer(_ context.Context, list []IncomingMessage) []frame.DeliveryState {
	if s.hold != nil {
		<-s.hold
	}
	states := make([]frame.DeliveryState, len(list))
	for i := range list {
		s.got <- list[i]
		states[i] = &frame.Accepted{}
	}
	return states
}

func (s *goChannelMessageSink) Detached() { s.gone <- struct{}{} }

// channelMessageSource is a MessageSource that provides the messages from the channel out, one at a time.
type channelMessageSource struct {
	out     chan OutgoingMessage
	back    chan OutgoingMessage
	settled chan Settlement
	gone    chan struct{}
}

func newChannelSource(texts ...string) *channelMessageSource {
	s := &channelMessageSource{out: make(chan OutgoingMessage, 100), back: make(chan OutgoingMessage, 100),
		settled: make(chan Settlement, 100), gone: make(chan struct{}, 10)}
	for _, text := range texts {
		s.out <- OutgoingMessage{Tag: []byte(text), Payload: []byte(text)}
	}
	return s
}

func (s *channelMessageSource) Receive(ctx context.Context, _ int, wait bool) ([]OutgoingMessage, error) {
	select {
	case m := <-s.out:
		return []OutgoingMessage{m}, nil
	default:
	}
	if !wait {
		return nil, nil
	}
	select {
	case m := <-s.out:
		return []OutgoingMessage{m}, nil
	case <-ctx.Done():
		return nil, nil
	}
}

func (s *channelMessageSource) Release(list []OutgoingMessage) {
	for _, m := range list {
		s.back <- m
	}
}

func (s *channelMessageSource) Settle(_ context.Context, list []Settlement) []frame.DeliveryState {
	states := make([]frame.DeliveryState, len(list))
	for i := range list {
		s.settled <- list[i]
		states[i] = list[i].State
	}
	return states
}

func (s *channelMessageSource) Detached() { s.gone <- struct{}{} }
