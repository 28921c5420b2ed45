package sdktest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/Azure/go-amqp"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// fakeBroker is a minimal AMQP server with one connection and one session. It gives each message that a
// client sends to the next receiver. It tests package frame against the SDK's AMQP library.
type fakeBroker struct {
	conn    net.Conn
	payload []byte          // of the message that is coming, or waits
	states  []string        // that the client has told of deliveries
	refused map[uint32]bool // handles of links whose detach the client has yet to answer
}

func (p *fakeBroker) write(channel uint16, b frame.Body, payload []byte) error {
	_, err := p.conn.Write(frame.Append(nil, channel, b, payload))
	return err
}

// serve handles the frames of the client until the client closes the connection.
func (p *fakeBroker) serve() error {
	r := frame.NewReader(p.conn, 65536)
	if h, err := r.ProtocolHeader(); err != nil || h != frame.HeaderSASL() {
		return fmt.Errorf("the first header is %x, %w", h, err)
	}
	sasl, plain := frame.HeaderSASL(), frame.HeaderAMQP()
	mechanisms := &frame.SASLMechanisms{List: []wire.Symbol{"MSSBCBS", "ANONYMOUS"}}
	if _, err := p.conn.Write(frame.Append(sasl[:], 0, mechanisms, nil)); err != nil {
		return err
	}
	for {
		f, err := r.Next()
		if err != nil {
			return err
		}
		if len(f.Body) == 0 {
			continue // a heartbeat
		}
		body, payload, err := frame.Parse(f.Body)
		if err != nil {
			return err
		}
		if init, ok := body.(*frame.SASLInit); ok {
			if init.Mechanism != "ANONYMOUS" {
				return fmt.Errorf("the mechanism is %q", init.Mechanism)
			}
			if err := p.write(0, &frame.SASLOutcome{Code: frame.SASLOK}, nil); err != nil {
				return err
			}
			if h, err := r.ProtocolHeader(); err != nil || h != plain {
				return fmt.Errorf("the second header is %x, %w", h, err)
			}
			if _, err := p.conn.Write(plain[:]); err != nil {
				return err
			}
			continue
		}
		if err := p.answer(f.Channel, body, payload); err != nil {
			return err
		}
		if _, end := body.(*frame.Close); end {
			return nil
		}
	}
}

func (p *fakeBroker) answer(channel uint16, body frame.Body, payload []byte) error {
	switch b := body.(type) {
	case *frame.Open:
		return p.write(channel, &frame.Open{ContainerID: "peer", MaxFrameSize: 512, ChannelMax: 10,
			IdleTimeout: 120_000}, nil)
	case *frame.Begin:
		return p.write(channel, &frame.Begin{RemoteChannel: frame.Some(uint32(channel)), IncomingWindow: 100,
			OutgoingWindow: 100, HandleMax: 255}, nil)
	case *frame.Attach:
		return p.attach(channel, b)
	case *frame.Flow:
		if b.Handle.Set && b.LinkCredit.Or(0) > 0 {
			return p.deliver(channel, b.Handle.Value)
		}
	case *frame.Transfer:
		if p.payload = append(p.payload, payload...); !b.More {
			return p.write(channel, &frame.Disposition{Receiver: true, First: b.DeliveryID.Value,
				Settled: true, State: &frame.Accepted{}}, nil)
		}
	case *frame.Disposition:
		p.states = append(p.states, fmt.Sprintf("%T", b.State))
		return p.write(channel, &frame.Disposition{First: b.First, Last: b.Last, Settled: true,
			State: b.State}, nil)
	case *frame.Detach:
		if !p.refused[b.Handle] {
			return p.write(channel, &frame.Detach{Handle: b.Handle, Closed: b.Closed}, nil)
		}
		delete(p.refused, b.Handle)
	case *frame.End:
		return p.write(channel, &frame.End{}, nil)
	case *frame.Close:
		_ = p.write(channel, &frame.Close{}, nil) // the client does not wait for it
	default:
		return fmt.Errorf("a %T that nobody expects", body)
	}
	return nil
}

// attach accepts a link. It refuses a link to the address "missing" with the error amqp:not-found.
func (p *fakeBroker) attach(channel uint16, b *frame.Attach) error {
	if target, ok := b.Target.(*frame.Target); ok && target.Address == "missing" {
		p.refused[b.Handle] = true
		if err := p.write(channel, &frame.Attach{Name: b.Name, Handle: b.Handle, Receiver: true,
			SndSettleMode: b.SndSettleMode, RcvSettleMode: b.RcvSettleMode}, nil); err != nil {
			return err
		}
		return p.write(channel, &frame.Detach{Handle: b.Handle, Closed: true,
			Error: &frame.Error{Condition: frame.CondNotFound, Description: "no such queue",
				Info: wire.Map{{Key: wire.Symbol("k"), Value: int32(7)}}}}, nil)
	}
	answer := *b
	if answer.Receiver = !b.Receiver; b.Receiver {
		answer.InitialDeliveryCount = frame.Some(0)
		return p.write(channel, &answer, nil)
	}
	answer.MaxMessageSize = 1 << 20
	if err := p.write(channel, &answer, nil); err != nil {
		return err
	}
	return p.write(channel, &frame.Flow{NextIncomingID: frame.Some(0), IncomingWindow: 100,
		OutgoingWindow: 100, Handle: frame.Some(b.Handle), DeliveryCount: frame.Some(0),
		LinkCredit: frame.Some(10)}, nil)
}

// deliver sends the last received message to a receiver's link, split into frames of at most 400 bytes of
// payload.
func (p *fakeBroker) deliver(channel uint16, handle uint32) error {
	m, err := message.Parse(p.payload)
	if err != nil {
		return err
	}
	left := m.AppendWire(nil, untold)
	for first := true; len(left) > 0; first = false {
		piece := left[:min(len(left), 400)]
		left = left[len(piece):]
		t := &frame.Transfer{Handle: handle, More: len(left) > 0}
		if first {
			t.DeliveryID, t.MessageFormat, t.DeliveryTag = frame.Some(0), frame.Some(0), make([]byte, 16)
		}
		if err := p.write(channel, t, piece); err != nil {
			return err
		}
	}
	p.payload = nil
	return nil
}

// TestFramesOfGo connects the SDK's AMQP library to a server that uses package frame, and sends and
// receives messages until the connection is closed.
func TestFramesOfGo(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer listener.Close()
	p, done := &fakeBroker{refused: map[uint32]bool{}}, make(chan error, 1)
	go func() {
		var err error
		if p.conn, err = listener.Accept(); err == nil {
			err = errors.Join(p.serve(), p.conn.Close())
		}
		done <- err
	}()
	client, err := net.Dial("tcp", listener.Addr().String())
	must(err)
	conn, err := amqp.NewConn(ctx, client, &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous(),
		HostName: "localhost"})
	must(err)
	session, err := conn.NewSession(ctx, nil)
	must(err)

	_, err = session.NewSender(ctx, "missing", nil)
	var refused *amqp.Error
	if !errors.As(err, &refused) || refused.Condition != amqp.ErrCondNotFound ||
		!reflect.DeepEqual(refused.Info, map[string]any{"k": int32(7)}) {
		t.Errorf("the link to what is not there: %v, %+v", err, refused)
	}

	sender, err := session.NewSender(ctx, "q", nil)
	must(err)
	if sender.MaxMessageSize() != 1<<20 {
		t.Errorf("messages have up to %d bytes", sender.MaxMessageSize())
	}
	data := make([]byte, 3000) // so that it goes in several frames
	must(sender.Send(ctx, amqp.NewMessage(data), nil))
	receiver, err := session.NewReceiver(ctx, "q", &amqp.ReceiverOptions{Credit: 1,
		SettlementMode: amqp.ReceiverSettleModeSecond.Ptr(), Filters: []amqp.LinkFilter{
			amqp.NewLinkFilter("com.microsoft:session-filter", 0x0000013700000000C, "s")}})
	must(err)
	if got := receiver.LinkSourceFilterValue("com.microsoft:session-filter"); got != "s" {
		t.Errorf("the filter comes back as %v", got)
	}
	got, err := receiver.Receive(ctx, nil)
	must(err)
	if !reflect.DeepEqual(got.Data, [][]byte{data}) || len(got.DeliveryTag) != 16 {
		t.Errorf("received %+v", got)
	}
	must(receiver.ModifyMessage(ctx, got, &amqp.ModifyMessageOptions{DeliveryFailed: true}))
	must(receiver.Close(ctx))
	must(sender.Close(ctx))
	must(session.Close(ctx))
	must(conn.Close())
	must(<-done)
	if want := []string{"*frame.Modified"}; !reflect.DeepEqual(p.states, want) {
		t.Errorf("the states are %v", p.states)
	}
}
