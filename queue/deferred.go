package queue

import (
	"context"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// ReceiveDeferred receives deferred messages by their sequence numbers. It fails with CodeMessageNotFound,
// and receives none, if one of them is missing. holder is the receiver that gets the locks, which end when it
// is closed. If the entity has sessions, holder must have the lock of the messages' session; otherwise it may
// be nil.
func (q *Queues) ReceiveDeferred(ctx context.Context, a entity.Address, numbers []int64, mode ReceiveMode,
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
	return s.messages.receiveNumbers(ctx, numbers, receiveByNumberOptions{layout.Deferred, mode, holder})
}

// ReceiveNumber locks one active message by its sequence number, regardless of the messages before it. It is
// for administration tools; clients receive messages in order. It fails with CodeMessageNotFound if there is
// no such message, or if it is locked or deferred, and with CodeNotAllowed for an entity with sessions.
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
	list, err := s.messages.receiveNumbers(ctx, []int64{number}, receiveByNumberOptions{state: layout.Active})
	if err != nil {
		return Delivery{}, err
	}
	return list[0], nil
}

// deferrable returns an error if deferred messages of the store cannot be received in this mode by this
// receiver: in a store with sessions, session must hold a session lock.
func (s *inMemoryMessageStoreState) deferrable(mode ReceiveMode, session *Receiver) error {
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
