package amqp

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/ttl"
)

// stoppedClock is a clock whose time stands still, except when the test moves it.
type stoppedClock struct {
	ttl.SystemClock
	start time.Time
	moved atomic.Int64 // ns
}

func newStoppedClock() *stoppedClock { return &stoppedClock{start: ttl.SystemClock{}.Now()} }

func (c *stoppedClock) Now() time.Time { return c.start.Add(time.Duration(c.moved.Load())) }

// slowMessageSink is a goChannelMessageSink that simulates slow processing: each call of Transfer advances
// the clock by the duration takes.
type slowMessageSink struct {
	*goChannelMessageSink
	clock *stoppedClock
	takes time.Duration
}

func (s slowMessageSink) Transfer(ctx context.Context, list []IncomingMessage) []frame.DeliveryState {
	s.clock.moved.Add(int64(s.takes))
	return s.goChannelMessageSink.Transfer(ctx, list)
}

// firstLinkSinkHandler is a ConnectionHandler that gives the sink first to the first link of a connection,
// and the sink of fixedAttachResponseHandler to all others.
type firstLinkSinkHandler struct {
	fixedAttachResponseHandler
	first MessageSink
}

func (n *firstLinkSinkHandler) Attach(ctx context.Context, l *Link, a *frame.Attach) (AcceptedLink, error) {
	if l.Name() == "link" {
		return AcceptedLink{Sink: n.first}, nil
	}
	return n.fixedAttachResponseHandler.Attach(ctx, l, a)
}

// TestLinkBesideBlockedSink checks that another link is served while the sink of one link blocks, if that
// sink has been slow before or if the handler has announced waits (MayWait).
func TestLinkBesideBlockedSink(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		takes time.Duration
		waits bool
	}{"slow": {2 * promptTime, false}, "on purpose": {0, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock, first, second := newStoppedClock(), newChannelSink(), newChannelSink()
			h := &firstLinkSinkHandler{fixedAttachResponseHandler{answer: AcceptedLink{Sink: second},
				waits: s.waits},
				slowMessageSink{first, clock, s.takes}}
			near, far := net.Pipe()
			c := serve(t, near, far, Options{ContainerID: "server", Wall: clock,
				Connect: func(context.Context, ClientInfo) ConnectionHandler { return h }}).open().begin(100)
			c.attach(false)
			id := uint32(0)
			for ; id < 3*minPrompt; id++ {
				c.transfer(id, false, "message")
				<-first.got
				c.accepted(id)
			}
			c.send(0, &frame.Attach{Name: "another", Handle: 2, Source: &frame.Source{},
				Target: &frame.Target{}})
			expect[*frame.Attach](c)
			expect[*frame.Flow](c)
			first.hold = make(chan struct{})
			c.transfer(id, false, "waits")
			c.send(0, &frame.Transfer{Handle: 2, DeliveryID: frame.Some(id + 1), DeliveryTag: []byte{1}}, 'm')
			<-second.got
			c.accepted(id + 1)
			close(first.hold)
			c.accepted(id)
			<-first.got
		})
	}
}

// timeoutResumableWriteConn is a connection whose writes can be continued after a timeout.
type timeoutResumableWriteConn struct{ net.Conn }

func (timeoutResumableWriteConn) Resumes() bool { return true }

// TestUnreadOutcomes checks that a client that does not read the outcomes of its messages can go on
// sending, and that it later gets all outcomes in their order.
func TestUnreadOutcomes(t *testing.T) {
	t.Parallel()
	s := newChannelSink()
	near, far := net.Pipe()
	c := serve(t, near, timeoutResumableWriteConn{far},
		Options{ContainerID: "server", Wall: newStoppedClock(),
			Connect: func(context.Context, ClientInfo) ConnectionHandler {
				return &fixedAttachResponseHandler{answer: AcceptedLink{Sink: s}}
			}}).open().begin(100)
	c.attach(false)
	n := uint32(cap(c.frames)) + 100
	for id := range n {
		c.transfer(id, false, fmt.Sprint(id))
		if m := <-s.got; string(m.Payload) != fmt.Sprint(id) {
			t.Fatalf("the message %d is %q", id, m.Payload)
		}
	}
	for id := uint32(0); id < n; {
		d := expect[*frame.Disposition](c)
		if _, ok := d.State.(*frame.Accepted); !ok || d.First != id {
			t.Fatalf("%+v instead of the outcome of %d", d, id)
		}
		id = d.Last.Or(d.First) + 1
	}
}
