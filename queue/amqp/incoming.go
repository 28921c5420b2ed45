package amqp

import (
	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// partialMessage is a message whose last frame has not arrived yet.
type partialMessage struct {
	arrivedMessage
	refusal *frame.Error // why the message is refused; further frames are discarded; nil: not refused
}

// arrivedMessage is a message that has arrived completely on a link and waits to be passed to the link's
// MessageSink.
type arrivedMessage struct {
	IncomingMessage
	transactionOrderingConstraints
	id   uint32 // of the delivery
	hold memoryReservation
}

// transfer processes a frame of a message. The caller holds the lock.
func (s *session) transfer(t *frame.Transfer, payload []byte) error {
	if s.window == 0 {
		s.fail(&frame.Error{Condition: frame.CondWindowViolation,
			Description: "The session's window is exceeded."})
		return nil
	}
	s.nextIncoming++
	if s.window--; s.window <= incomingWindow/2 {
		s.window = incomingWindow
		s.sendFlow()
	}
	l := s.links[t.Handle]
	switch {
	case l == nil:
		s.fail(&frame.Error{Condition: frame.CondUnattachedHandle,
			Description: "There is no link of that handle."})
		s.c.failTransaction(t.State)
		return nil
	case l.closing:
		s.c.failTransaction(t.State)
		return nil
	case l.receiver || !l.answered:
		s.c.failTransaction(t.State)
		l.fail(&frame.Error{Condition: frame.CondNotAllowed, Description: "The link is not one to send on."})
		return nil
	}
	l.take(t, payload)
	return nil
}

// take adds the payload of a transfer frame to the message that is arriving on the link, and queues the
// message for the sink once it is complete.
func (l *Link) take(t *frame.Transfer, payload []byte) {
	p := l.partial
	if p == nil {
		if p = l.beginMessage(t); p == nil {
			return
		}
	}
	p.Settled = p.Settled || t.Settled
	if t.State != nil {
		p.State = t.State
	}
	if t.Aborted {
		l.freeMemory()
		l.partial = nil
		l.refill()
		return
	}
	if p.refusal == nil {
		if p.refusal, l.noMemory = l.noMemory, nil; uint64(len(p.Payload)+len(payload)) > l.maxSize {
			p.refusal = l.tooLarge()
		}
	}
	if p.refusal != nil {
		p.Payload = nil
		l.freeMemory()
	} else {
		p.grow(len(payload), l.room)
		p.Payload = append(p.Payload, payload...)
	}
	if l.partial = p; t.More {
		return
	}
	l.partial = nil
	if p.refusal != nil {
		l.s.c.failTransaction(p.State)
		l.outcome(p.arrivedMessage, &frame.Rejected{Error: p.refusal})
		l.refill()
		return
	}
	p.hold = l.passMemory(len(p.Payload))
	l.s.c.pending += len(p.Payload)
	p.transactionOrderingConstraints = l.s.enqueue(p.State, l.ends(p.Payload))
	l.arrived = append(l.arrived, p.arrivedMessage)
	if !l.sinking {
		l.sinking = true
		l.pass(l.sinkAll, l.arrived[0].ready())
	}
}

// beginMessage starts a message with its first transfer frame. It returns nil if the link has failed.
func (l *Link) beginMessage(t *frame.Transfer) *partialMessage {
	refusal := &frame.Error{Condition: frame.CondTransferLimit, Description: "There is no credit for the transfer."}
	if l.credit > 0 {
		if t.DeliveryID.Set {
			l.credit--
			l.delivered++
			return &partialMessage{arrivedMessage: arrivedMessage{id: t.DeliveryID.Value,
				IncomingMessage: IncomingMessage{Format: t.MessageFormat.Or(0)}}}
		}
		refusal = &frame.Error{Condition: frame.CondInvalidField, Description: "A delivery begins with its id."}
	}
	l.s.c.failTransaction(t.State)
	l.fail(refusal)
	return nil
}

// grow makes room in the payload for n more bytes. A large message gets its full capacity at once, because
// growing it repeatedly would need a multiple of its size.
func (p *partialMessage) grow(n int, room memoryReservation) {
	if room.large && cap(p.Payload) < int(room.n) && len(p.Payload)+n > cap(p.Payload) {
		p.Payload = append(make([]byte, 0, room.n), p.Payload...)
	}
}

func plainNoRoom() *frame.Error {
	return &frame.Error{Condition: frame.CondResourceLimit,
		Description: "The messages of other clients take all the memory that there is for them."}
}

// ends returns the request to end a transaction (a discharge) that the message payload contains. It returns
// nil for any other message, and on a link that does not lead to a transaction coordinator.
func (l *Link) ends(payload []byte) *dischargeRequest {
	if l.discharges == nil {
		return nil
	}
	id, fail, ok := l.discharges(payload)
	if !ok {
		return nil
	}
	return &dischargeRequest{id: string(id), fail: fail}
}

func plainTooLarge() *frame.Error {
	return &frame.Error{Condition: frame.CondMessageSize,
		Description: "The message is larger than the link allows."}
}

// sinkAll passes queued messages to the sink, each time as many as are ready, until the queue is empty.
func (l *Link) sinkAll() {
	c := l.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.endBusy()
	for len(l.arrived) > 0 {
		list := l.nextArrivals()
		messages := make([]IncomingMessage, len(list))
		for i, a := range list {
			messages[i] = a.IncomingMessage
		}
		var states []frame.DeliveryState
		if len(list) > 0 {
			c.process(func() { states = l.sink.Transfer(l.whole, messages) })
		}
		c.cork()
		for i := range list {
			c.pending -= len(list[i].Payload)
			c.give(list[i].hold)
			l.finishArrival(&list[i], states[i])
		}
		c.signal()
		if !l.closing {
			l.outcomes(list, states)
			l.refill()
		}
		c.uncorkBusy()
	}
	l.sinking = false
}

// nextArrivals removes and returns the messages at the front of the link's queue that may be processed now: a
// message must wait for the end of a transaction that was requested before it. nextArrivals waits until there
// is such a message. It returns none if the server has detached the link and the queue is empty.
func (l *Link) nextArrivals() (list []arrivedMessage) {
	l.s.c.await(l.whole, func() bool {
		return len(l.arrived) == 0 ||
			l.arrived[0].ready()
	})
	n := 0
	for n < len(l.arrived) && l.arrived[n].ready() {
		a := &l.arrived[n]
		a.Incomplete = a.transactionOrderingConstraints.ends != nil &&
			a.transactionOrderingConstraints.ends.t != nil &&
			a.transactionOrderingConstraints.ends.t.incomplete
		n++
	}
	list = l.arrived[:n:n]
	if l.arrived = l.arrived[n:]; len(l.arrived) == 0 {
		l.arrived = nil
	}
	return list
}

// finishArrival is called when the sink has processed a received message, with the state of the delivery that
// the sink has returned. It lets the messages and settlements go on that wait for this one.
func (l *Link) finishArrival(a *arrivedMessage, state frame.DeliveryState) {
	if d, ok := state.(*frame.Declared); ok && l.discharges != nil {
		l.declared(d.TxnID)
	}
	_, joined := state.(*frame.Transactional)
	if d := a.transactionOrderingConstraints.ends; d != nil {
		joined = isAccepted(state) && !d.fail
	}
	l.s.c.finish(&a.transactionOrderingConstraints, joined)
}

// outcomes sends the states of received messages to the client in dispositions. Consecutive accepted messages
// are sent in one frame.
func (l *Link) outcomes(list []arrivedMessage, states []frame.DeliveryState) {
	for i := 0; i < len(list); {
		j := i + 1
		if _, accepted := states[i].(*frame.Accepted); accepted && !list[i].Settled {
			for j < len(list) && !list[j].Settled && list[j].id == list[j-1].id+1 && isAccepted(states[j]) {
				j++
			}
		}
		if !list[i].Settled {
			l.s.c.write(l.s.channel, &frame.Disposition{Receiver: true, First: list[i].id,
				Last: frame.Some(list[j-1].id), Settled: true, State: states[i]})
		}
		i = j
	}
}

func isAccepted(s frame.DeliveryState) bool { _, ok := s.(*frame.Accepted); return ok }

func (l *Link) outcome(a arrivedMessage, s frame.DeliveryState) {
	l.outcomes([]arrivedMessage{a}, []frame.DeliveryState{s})
}

// refill grants new credit when half of the credit is used.
func (l *Link) refill() {
	if l.credit <= l.batch/2 {
		l.credit = l.batch
		l.sendFlow()
	}
}
