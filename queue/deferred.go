package queue

import (
	"context"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// ReceiveDeferred receives deferred messages by their sequence numbers, either all or none: it fails with
// CodeMessageNotFound if one is missing. holder is the receiver that gets their locks. It must hold the
// messages' session if the entity has sessions. Otherwise holder may be nil: then no closing receiver ends
// the locks.
func (q *Queues) ReceiveDeferred(ctx context.Context, a entity.Address, numbers []int64, mode Mode,
	holder *Receiver) ([]Delivery, error) {
	s, err := q.store(ctx, a)
	if err != nil {
		return nil, err
	}
	if err := s.deferrable(mode, holder); err != nil {
		return nil, err
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	s.e.m.in.Enter()
	defer s.e.m.in.Leave()
	now := s.now()
	s.lastReceived.Store(now)
	s.e.recordUse(now)
	if err := s.catchUp(ctx); err != nil {
		return nil, err
	}
	return s.locks.receiveNumbers(ctx, numbers, numbered{layout.Deferred, mode, holder})
}

// ReceiveNumber locks one active message by its sequence number, regardless of the messages before it. It
// serves administration tools; clients receive in order. It fails with CodeMessageNotFound if there is no
// such message, or if it is locked or deferred, and with CodeNotAllowed for an entity with sessions.
func (q *Queues) ReceiveNumber(ctx context.Context, a entity.Address, number int64) (Delivery, error) {
	s, err := q.store(ctx, a)
	if err != nil {
		return Delivery{}, err
	}
	if err := s.deferrable(PeekLock, nil); err != nil {
		return Delivery{}, err
	}
	s.e.m.in.Enter()
	defer s.e.m.in.Leave()
	now := s.now()
	s.lastReceived.Store(now)
	s.e.recordUse(now)
	if err := s.catchUp(ctx); err != nil {
		return Delivery{}, err
	}
	list, err := s.locks.receiveNumbers(ctx, []int64{number}, numbered{state: layout.Active})
	if err != nil {
		return Delivery{}, err
	}
	return list[0], nil
}

// deferrable validates the arguments of a receive by sequence number.
func (s *messageStore) deferrable(mode Mode, session *Receiver) error {
	if err := s.readable(); err != nil {
		return err
	}
	switch {
	case mode > ReceiveAndDelete:
		return s.Argument("There is no such mode of receiving.")
	case s.BySession && (session == nil || session.s != s):
		return s.NotAllowed("Deferred messages of a session are received by who holds its lock.")
	case s.BySession:
		return session.holds()
	}
	return nil
}
