package bus

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// entityMessageSource provides the messages of a queue, subscription or dead-letter queue to a link on which
// a client receives.
type entityMessageSource struct {
	c    *conn
	link *amqp.Link
	at   entity.Address
	mode queue.ReceiveMode
	r    *queue.Receiver
	work sync.WaitGroup
	// lasts is the duration of a lock after it is given or renewed.
	lasts time.Duration
	// waiting is set while the client has credit and there are no messages.
	waiting  atomic.Bool
	ending   chan struct{} // closed when the link is to end
	detached chan struct{} // closed when the link has ended
}

// receive creates the node of a link on which a client receives.
func (c *conn) receive(ctx context.Context, l *amqp.Link, a *frame.Attach, at entity.Address,
	e entity.Entity) (answer amqp.AcceptedLink, err error) {
	if e.Kind == entity.Topic {
		return answer, &entity.Error{Code: entity.CodeNotAllowed, Entity: at.String(),
			Message: "Messages of the topic '" + at.String() + "' are received from its subscriptions."}
	}
	o := queue.ReceiverOptions{Mode: queue.PeekLock, Name: l.Name()}
	if c.bus.o.Memory != nil {
		o.Memory = c.bus.o.Memory
	}
	if a.SndSettleMode == frame.SenderSettled {
		o.Mode = queue.ReceiveAndDelete
	}
	want, err := readSessionFilter(a)
	if err == nil && want == nil {
		err = knownFilters(a.Source.Filter)
	}
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
	n := &entityMessageSource{c: c, link: l, at: at, mode: o.Mode, r: r, lasts: e.Properties.LockDuration,
		ending: make(chan struct{}), detached: make(chan struct{})}
	if want != nil {
		answer.From, answer.Properties = want.answer(a.Source, r)
	} else if len(a.Source.Filter) > 0 {
		from := *a.Source
		from.Filter = nil
		answer.From = &from
	}
	c.mu.Lock()
	c.sessions[l] = n
	c.mu.Unlock()
	n.work.Go(n.watch)
	answer.Source = n
	return answer, nil
}

// lostSessionTime is how long a link stays attached after its session lock has ended, if the client is
// waiting for messages. A client that waits exactly as long as the lock lasts then receives no messages
// instead of an error. A settlement ends the link at once. If no client is waiting, the link ends together
// with the lock.
const lostSessionTime = 2 * time.Second

// watch waits until the queue's receiver ends, for example because its session lock is lost, and then
// detaches the link.
func (n *entityMessageSource) watch() {
	<-n.r.Ended()
	err := n.r.Err()
	if entity.ErrorCodeOf(err) == entity.CodeSessionLockLost && n.waiting.Load() {
		late, stop := n.c.bus.o.Wall.After(lostSessionTime)
		defer stop()
		select {
		case <-late:
		case <-n.detached:
			return
		}
	}
	close(n.ending)
	if err != nil {
		n.link.Detach(n.c.asError(err, n.at.String()))
	}
}

// Detached is called when the link has ended. It releases the queue's receiver and its locks. It
// implements amqp.MessageSource.
func (n *entityMessageSource) Detached() {
	n.c.forget(n.link)
	close(n.detached)
	n.r.Close()
	n.work.Wait()
}

// Receive returns up to max messages for the link. If there are none and wait is set, it waits for one
// until ctx ends. It implements amqp.MessageSource.
func (n *entityMessageSource) Receive(ctx context.Context, max int,
	wait bool) ([]amqp.OutgoingMessage, error) {
	take := n.r.TryReceive
	if wait {
		take = n.r.Receive
		n.waiting.Store(true)
	}
	list, err := take(ctx, max)
	if entity.ErrorCodeOf(err) != entity.CodeSessionLockLost {
		n.waiting.Store(err == nil && wait && len(list) < max) // there is credit left, and no more messages
	}
	if err != nil {
		if entity.ErrorCodeOf(err) == entity.CodeCancelled && ctx.Err() != nil {
			return nil, nil
		}
		if entity.ErrorCodeOf(err) == entity.CodeSessionLockLost && n.awaitEnd(ctx, wait) {
			return nil, nil
		}
		return nil, n.c.asError(err, n.at.String())
	}
	out := make([]amqp.OutgoingMessage, len(list))
	for i, d := range list {
		final := n.mode == queue.ReceiveAndDelete
		out[i] = amqp.OutgoingMessage{Tag: tagOf(d.Token), Settled: final, Final: final,
			Payload: d.Message.AppendWire(make([]byte, 0, d.Message.Size()+256), &d.Broker)}
	}
	if len(out) > 0 {
		n.c.observing("receive", n.at.String(), len(out))(nil)
		if n.mode == queue.PeekLock {
			n.c.bus.warnClock(n.at.String(), n.lasts)
		}
	}
	out, err = n.applyFaults(out)
	release := func() {
		for i := range list {
			list[i].Release()
		}
	}
	if len(out) == 0 {
		release()
	} else {
		out[0].Done = release // Done of the first message releases all
	}
	return out, err
}

// awaitEnd is called when the session lock of the link is lost. It returns true if the link must stay
// attached for now: the link of a client that waits for messages is detached only lostSessionTime later. If
// wait is set, awaitEnd first waits until the link may be detached or ctx ends.
func (n *entityMessageSource) awaitEnd(ctx context.Context, wait bool) bool {
	if wait {
		select {
		case <-n.ending:
		case <-ctx.Done():
		}
	}
	select {
	case <-n.ending:
		return false
	default:
		return true
	}
}

// Release makes messages that were not sent to the client available again. It implements
// amqp.MessageSource. In ReceiveAndDelete mode the messages are lost, as documented for that mode.
func (n *entityMessageSource) Release(list []amqp.OutgoingMessage) {
	if n.mode == queue.ReceiveAndDelete {
		return
	}
	tokens := make([]message.UUID, 0, len(list))
	for _, m := range list {
		if token, ok := tokenOf(m.Tag); ok {
			tokens = append(tokens, token)
		}
	}
	// A message whose lock has been lost in between is already available again.
	_ = n.c.queues.SettleAll(context.WithoutCancel(n.c.ctx), n.at, tokens,
		slices.Repeat([]queue.SettlementRequest{{Outcome: queue.Release}}, len(tokens)))
}
