package queue

import (
	"context"

	"github.com/mayflydb/mayfly/queue/entity"
)

// sendTransactionStep is the step of a transaction that stores the messages of a send, which have been
// validated.
type sendTransactionStep struct {
	e        *entityState
	arrivals []validatedMessage
}

func (s *sendTransactionStep) entities() []*entityState { return []*entityState{s.e} }

func (s *sendTransactionStep) apply(w *messageTx) error {
	_, err := w.enqueueAll(s.e, s.arrivals)
	return err
}

func (s *sendTransactionStep) end(err error) {
	if err == nil {
		s.e.recordUse(s.e.m.in.Clock().Millis())
	}
}

// sendViaStep stores messages that were sent to an entity through another one (via). Messages that the
// target does not accept are moved to the transfer dead-letter queue of the entity via.
type sendViaStep struct {
	via, to  *entityState
	arrivals []validatedMessage
}

func (s *sendViaStep) entities() []*entityState { return []*entityState{s.via, s.to} }

func (s *sendViaStep) apply(w *messageTx) error {
	for i := range s.arrivals {
		if err := w.transfer(s.via, s.to, &s.arrivals[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *sendViaStep) end(err error) {
	if err == nil {
		now := s.via.m.in.Clock().Millis()
		s.via.recordUse(now)
		s.to.recordUse(now)
	}
}

// transfer stores a message that a client has sent to the entity to through the entity via. If to does not
// accept the message, transfer stores it among the transfer dead letters of via.
func (w *messageTx) transfer(via, to *entityState, a *validatedMessage) error {
	no, err := w.refusal(to, &a.MessageHeader, int64(len(a.body)))
	if err != nil {
		return err
	}
	if no == nil {
		_, err = w.enqueue(to, a)
		return err
	}
	p, err := w.partOf(via.stores[entity.Main])
	if err != nil {
		return err
	}
	h := a.MessageHeader
	h.Enqueued = w.now
	return w.storeDeadLetter(p, entity.TransferDeadLetters, &h, a.body, *no)
}

// cancelScheduledStep deletes scheduled messages. The commit fails if one of them has become active before.
type cancelScheduledStep struct {
	s       *inMemoryMessageStoreState
	numbers []int64
}

func (c *cancelScheduledStep) entities() []*entityState { return []*entityState{c.s.e} }

func (c *cancelScheduledStep) apply(w *messageTx) error { return w.cancelScheduled(c.s, c.numbers) }

func (c *cancelScheduledStep) end(err error) {
	if err == nil {
		c.s.e.recordUse(c.s.now())
		// Call tick without the canceled messages, to find out when the next one is due.
		c.s.e.m.timers.arm(c.s, c.s.now())
	}
}

// sessionStateTransactionStep sets the state of a session. The session lock must still be held at the commit.
type sessionStateTransactionStep struct {
	r     *Receiver
	state []byte
}

func (s *sessionStateTransactionStep) entities() []*entityState { return []*entityState{s.r.s.e} }

func (s *sessionStateTransactionStep) apply(w *messageTx) error {
	if err := s.r.holds(); err != nil {
		return err
	}
	return w.setOwnState(s.r, s.state)
}

func (s *sessionStateTransactionStep) end(error) {}

// reserve assigns sequence numbers to messages that are scheduled in a transaction, because the sender
// receives the numbers before the commit. The numbers are never used again, even if the transaction is
// rolled back.
func (s *inMemoryMessageStoreState) reserve(ctx context.Context,
	arrivals []validatedMessage) (numbers []int64, err error) {
	numbers = make([]int64, len(arrivals))
	err = s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *messageTx) error {
		p, err := w.partOf(s)
		if err != nil {
			return err
		}
		for i := range arrivals {
			p.Last++
			numbers[i], arrivals[i].number = p.Last, p.Last
		}
		p.dirty = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return numbers, nil
}
