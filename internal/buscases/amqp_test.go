package buscases

import (
	"bytes"
	"fmt"
	"net"
	"time"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/bus"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/ttl"
)

// amqpClient is an AMQP client for tests that sends and receives single frames, with one connection and
// one session. It is not concurrent: frames that arrive during an operation are recorded for later ones.
type amqpClient struct {
	b        *caseFixture
	conn     net.Conn
	in       chan receivedFrame
	served   chan error
	window   uint32
	handles  uint32
	sent     uint32                     // transfers
	received uint32                     // transfers
	links    map[string]*amqpClientLink // by name
	theirs   map[uint32]*amqpClientLink // by the server's handle
	states   map[deliveryID]frame.DeliveryState
}

// deliveryID identifies an AMQP delivery on a session: its number, and whether the client (ours) or the
// server has sent it.
type deliveryID struct {
	ours bool
	id   uint32
}

// receivedFrame is a frame that the client has received: its performative and its payload.
type receivedFrame struct {
	body    frame.Body
	payload []byte
}

// amqpClientLink is the client's state of one AMQP link.
type amqpClientLink struct {
	name     string
	handle   uint32
	answer   *frame.Attach
	gone     *frame.Error // why it was detached
	detached bool
	credit   uint32 // of a sender
	count    uint32 // deliveries, of a receiver
	drained  bool
	first    *frame.Transfer // of a delivery of which more is to come
	payload  []byte
	inbox    []receivedMessage
}

func connectAMQP(b *caseFixture) {
	p := dial(b, 1<<16, 100_000)
	b.peer, b.messages, b.look, b.plan, b.talk, b.wait, b.bulk = p, p, p, p, p, p, p
}

// dial connects a client to a new AMQP server on the queues of b. The client accepts frames of at most
// size bytes and has a session window of the given number of transfers.
func dial(b *caseFixture, size, window uint32) *amqpClient {
	b.Helper()
	near, far := net.Pipe()
	p := &amqpClient{b: b, conn: near, in: make(chan receivedFrame, 10_000), served: make(chan error, 1),
		window: window, links: map[string]*amqpClientLink{}, theirs: map[uint32]*amqpClientLink{},
		states: map[deliveryID]frame.DeliveryState{}}
	server := bus.New(bus.Options{Queues: b.q,
		Guard: access.New(access.TokenVerifierOptions{Mode: access.Off})})
	go func() { p.served <- amqp.Serve(b.ctx, far, server.Options()) }()
	header := frame.HeaderAMQP()
	p.write(header[:])
	r := frame.NewReader(near, 1<<20)
	_, err := r.ProtocolHeader()
	b.must(err)
	go p.listenFrames(r)
	p.say(&frame.Open{ContainerID: "cases", Hostname: "localhost", MaxFrameSize: size, ChannelMax: 1})
	p.say(&frame.Begin{IncomingWindow: window, OutgoingWindow: 100_000, HandleMax: 10_000})
	p.until(func(a receivedFrame) bool { _, ok := a.body.(*frame.Begin); return ok })
	return p
}

func (p *amqpClient) listenFrames(r *frame.Reader) {
	defer close(p.in)
	for {
		f, err := r.Next()
		if err != nil {
			return
		}
		if len(f.Body) == 0 {
			continue
		}
		body, payload, err := frame.Parse(bytes.Clone(f.Body))
		if err != nil {
			p.b.Errorf("%x: %v", f.Body, err)
			return
		}
		p.in <- receivedFrame{body, payload}
	}
}

// hangUp closes the connection without a close frame, and waits until the server has ended it.
func (p *amqpClient) hangUp() {
	p.conn.Close()
	if p.served != nil {
		<-p.served
		p.served = nil
	}
}

func (p *amqpClient) write(b []byte) {
	p.b.Helper()
	_, err := p.conn.Write(b)
	p.b.must(err)
}

func (p *amqpClient) say(body frame.Body, payload ...byte) {
	p.b.Helper()
	p.write(frame.Append(nil, 0, body, payload))
}

// step waits for the next frame, updates the client's state by it, and returns it.
func (p *amqpClient) step() receivedFrame {
	p.b.Helper()
	late, stop := ttl.SystemClock{}.After(20 * time.Second)
	defer stop()
	select {
	case a, ok := <-p.in:
		if !ok {
			p.b.Fatal("the connection has ended")
		}
		p.note(a)
		return a
	case <-late:
		p.b.Fatal("nothing comes")
	}
	return receivedFrame{}
}

// until processes frames until done returns true for one.
func (p *amqpClient) until(done func(receivedFrame) bool) {
	p.b.Helper()
	for !done(p.step()) {
		continue
	}
}

// reach processes frames until done returns true.
func (p *amqpClient) reach(done func() bool) {
	p.b.Helper()
	for !done() {
		p.step()
	}
}

func (p *amqpClient) note(a receivedFrame) {
	p.b.Helper()
	switch body := a.body.(type) {
	case *frame.Attach:
		l := p.links[body.Name]
		l.answer, p.theirs[body.Handle] = body, l
	case *frame.Flow:
		if l := p.theirs[body.Handle.Or(1<<31)]; l != nil {
			l.credit = body.LinkCredit.Or(0)
			if body.Drain && l.credit == 0 {
				l.drained, l.count = true, body.DeliveryCount.Or(0)
			}
		}
	case *frame.Transfer:
		p.received++
		if p.window < 100 {
			p.say(&frame.Flow{NextIncomingID: frame.Some(p.received), IncomingWindow: p.window,
				OutgoingWindow: 100_000})
		}
		p.transfer(p.theirs[body.Handle], body, a.payload)
	case *frame.Disposition:
		for id := body.First; int32(body.Last.Or(body.First)-id) >= 0; id++ {
			p.states[deliveryID{body.Receiver, id}] = body.State
		}
	case *frame.Detach:
		l := p.theirs[body.Handle]
		l.gone, l.detached = body.Error, true
		delete(p.links, l.name)
		delete(p.theirs, body.Handle)
		p.say(&frame.Detach{Handle: l.handle, Closed: true})
	case *frame.Close:
		p.b.Fatalf("the server closes: %v", body.Error)
	case *frame.End:
		p.b.Fatalf("the server ends the session: %v", body.Error)
	}
}

func (p *amqpClient) transfer(l *amqpClientLink, t *frame.Transfer, payload []byte) {
	p.b.Helper()
	if l.first == nil {
		l.first, l.payload = t, nil
	}
	l.payload = append(l.payload, payload...)
	if t.More {
		return
	}
	l.count++
	m := p.read(l.payload)
	m.reference = receivedDelivery{p, l.first.DeliveryID.Value, l.first.Settled}
	if len(l.first.DeliveryTag) == 16 {
		m.token = tokenOf(l.first.DeliveryTag)
	}
	l.inbox, l.first = append(l.inbox, m), nil
}

// attach returns the link with that name, and attaches it if it is not attached yet. change modifies the
// Attach frame.
func (p *amqpClient) attach(name, address string, receiver bool,
	change ...func(*frame.Attach)) (*amqpClientLink,
	error) {
	p.b.Helper()
	if l := p.links[name]; l != nil {
		return l, nil
	}
	l := &amqpClientLink{name: name, handle: p.handles}
	p.links[name] = l
	p.handles++
	a := &frame.Attach{Name: name, Handle: l.handle, Receiver: receiver, SndSettleMode: frame.SenderUnsettled,
		Source: &frame.Source{Address: "cases", HasAddress: true},
		Target: &frame.Target{Address: "cases", HasAddress: true}}
	if receiver {
		a.RcvSettleMode = frame.ReceiverSecond
		a.Source.Address = address
	} else {
		a.InitialDeliveryCount = frame.Some(0)
		a.Target = &frame.Target{Address: address, HasAddress: true}
	}
	for _, fn := range change {
		fn(a)
	}
	p.say(a)
	p.reach(func() bool { return l.answer != nil })
	if refused := receiver && l.answer.Source == nil || !receiver && l.answer.Target == nil; refused {
		p.reach(func() bool { return l.detached })
	} else if !receiver {
		p.reach(func() bool { return l.detached || l.credit > 0 })
	}
	if l.detached {
		return nil, fail(l.gone)
	}
	return l, nil
}

// fail returns e, the error with which the server detached a link or rejected a delivery, as an error that
// is not nil.
func fail(e *frame.Error) error {
	if e == nil {
		return fmt.Errorf("refused without a word")
	}
	return e
}
