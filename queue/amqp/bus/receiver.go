package bus

import (
	"context"
	"sync"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// receiver gives the messages of a message store to a client.
type receiver struct {
	c    *conn
	link *amqp.Link
	at   queue.Address
	mode queue.Mode
	r    *queue.Receiver
	work sync.WaitGroup
}

// receive makes the node of a link on which a client receives.
func (c *conn) receive(ctx context.Context, l *amqp.Link, a *frame.Attach, at queue.Address, e queue.Entity) (
	answer amqp.Answer, err error) {
	if e.Kind == queue.Topic {
		return answer, &queue.Error{Code: queue.CodeNotAllowed, Entity: at.String(),
			Message: "Messages of the topic '" + at.String() + "' are received from its subscriptions."}
	}
	o := queue.ReceiverOptions{Mode: queue.PeekLock, Name: l.Name()}
	if c.bus.o.Room != nil {
		o.Room = c.bus.o.Room
	}
	if a.SndSettleMode == frame.SenderSettled {
		o.Mode = queue.ReceiveAndDelete
	}
	want, err := sessionWanted(a)
	if err != nil {
		return answer, err
	}
	if want != nil {
		o.Session = &queue.SessionRequest{ID: want.id, Next: want.next}
		if want.next {
			limited, cancel := context.WithTimeout(ctx, want.patience)
			defer cancel()
			ctx = limited
		}
	}
	r, err := c.queues.OpenReceiver(ctx, at, o)
	if err != nil {
		return answer, err
	}
	n := &receiver{c: c, link: l, at: at, mode: o.Mode, r: r}
	if want != nil {
		answer.From, answer.Properties = want.answer(a.Source, r)
	}
	c.mu.Lock()
	c.sessions[l] = n
	c.mu.Unlock()
	n.work.Go(n.watch)
	answer.Source = n
	return answer, nil
}

// watch detaches the link when there is no more to expect.
func (n *receiver) watch() {
	<-n.r.Ended()
	if err := n.r.Err(); err != nil {
		n.link.Detach(n.c.asError(err, n.at.String()))
	}
}

// Detached implements amqp.Source.
func (n *receiver) Detached() {
	n.c.forget(n.link)
	n.r.Close()
	n.work.Wait()
}

// Receive implements amqp.Source.
func (n *receiver) Receive(ctx context.Context, max int, wait bool) ([]amqp.Outgoing, error) {
	take := n.r.TryReceive
	if wait {
		take = n.r.Receive
	}
	list, err := take(ctx, max)
	if err != nil {
		if queue.CodeOf(err) == queue.CodeCancelled && ctx.Err() != nil {
			return nil, nil
		}
		return nil, n.c.asError(err, n.at.String())
	}
	out := make([]amqp.Outgoing, len(list))
	for i, d := range list {
		out[i] = amqp.Outgoing{Tag: tagOf(d.Token), Settled: n.mode == queue.ReceiveAndDelete,
			Payload: d.Message.AppendWire(make([]byte, 0, d.Message.Size()+256), &d.Broker)}
	}
	if len(out) > 0 {
		n.c.observing("receive", n.at.String(), len(out))(nil)
	}
	out, err = n.suffering(out)
	release := func() {
		for i := range list {
			list[i].Release()
		}
	}
	if len(out) == 0 {
		release()
	} else {
		out[0].Done = release // all of them leave together
	}
	return out, err
}

// GiveBack implements amqp.Source. What was received to be deleted is lost: so it is said of that mode.
func (n *receiver) GiveBack(list []amqp.Outgoing) {
	if n.mode == queue.ReceiveAndDelete {
		return
	}
	for _, m := range list {
		if token, ok := tokenOf(m.Tag); ok {
			// A lock that is lost meanwhile has given the message back already.
			_ = n.c.queues.Settle(context.WithoutCancel(n.c.ctx), n.at, token,
				queue.Settlement{Outcome: queue.Release}, nil)
		}
	}
}
