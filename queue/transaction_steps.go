package queue

import (
	"context"

	"github.com/mayflydb/mayfly/queue/entity"
)

// sendStep stores messages that have been accepted.
type sendStep struct {
	e        *entityState
	arrivals []arrival
}

func (s *sendStep) entities() []*entityState { return []*entityState{s.e} }

func (s *sendStep) apply(w *work) error {
	_, err := w.enqueueAll(s.e, s.arrivals)
	return err
}

func (s *sendStep) end(err error) {
	if err == nil {
		s.e.touch(s.e.m.in.Clock().Millis())
	}
}

// transferStep stores messages that were sent through an entity to another one. What that does not take is a
// dead letter of the transfers of the first.
type transferStep struct {
	via, to  *entityState
	arrivals []arrival
}

func (s *transferStep) entities() []*entityState { return []*entityState{s.via, s.to} }

func (s *transferStep) apply(w *work) error {
	for i := range s.arrivals {
		if err := w.transfer(s.via, s.to, &s.arrivals[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *transferStep) end(err error) {
	if err == nil {
		now := s.via.m.in.Clock().Millis()
		s.via.touch(now)
		s.to.touch(now)
	}
}

// transfer stores a message that comes through another entity.
func (w *work) transfer(via, to *entityState, a *arrival) error {
	no, err := w.refusal(to, &a.Header, int64(len(a.body)))
	if err != nil {
		return err
	}
	if no == nil {
		_, err = w.enqueue(to, a)
		return err
	}
	p, err := w.in(via.stores[entity.Main])
	if err != nil {
		return err
	}
	h := a.Header
	h.Enqueued = w.now
	return w.storeDeadLetter(p, entity.TransferDeadLetters, &h, a.body, *no)
}

// settleStep settles a message, whose lock is the transaction's until its end.
type settleStep struct {
	s     *messageStore
	claim *claim
	how   Settlement
	what  after
}

func (s *settleStep) entities() []*entityState { return []*entityState{s.s.e} }

func (s *settleStep) apply(w *work) (err error) {
	s.what, err = w.settle(s.s, s.claim, &s.how)
	return err
}

func (s *settleStep) end(err error) {
	if err != nil {
		s.what = back
	}
	s.s.endSettle(s.claim, s.what, err)
}

// cancelStep deletes scheduled messages. They may arrive before the commit, which fails then.
type cancelStep struct {
	s       *messageStore
	numbers []int64
}

func (c *cancelStep) entities() []*entityState { return []*entityState{c.s.e} }

func (c *cancelStep) apply(w *work) error { return w.cancelScheduled(c.s, c.numbers) }

func (c *cancelStep) end(err error) {
	if err == nil {
		c.s.e.touch(c.s.now())
		// The timer of a message that is gone finds nothing, and when the next one is due.
		c.s.e.m.timers.arm(c.s, c.s.now())
	}
}

// stateStep sets the state of a session, whose lock must last until the commit.
type stateStep struct {
	r     *Receiver
	state []byte
}

func (s *stateStep) entities() []*entityState { return []*entityState{s.r.s.e} }

func (s *stateStep) apply(w *work) error {
	if err := s.r.holds(); err != nil {
		return err
	}
	return w.setState(s.r.s, s.r.lock.id, s.state)
}

func (s *stateStep) end(error) {}

// reserve takes numbers of a store for messages that are scheduled in a transaction: their sender is told
// them at once. Nothing else gets them, whatever becomes of the transaction.
func (s *messageStore) reserve(ctx context.Context, arrivals []arrival) (numbers []int64, err error) {
	numbers = make([]int64, len(arrivals))
	err = s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *work) error {
		p, err := w.in(s)
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
