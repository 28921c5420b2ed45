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
	s, err := q.store(a)
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
	s.e.touch(now)
	if err := s.catchUp(ctx); err != nil {
		return nil, err
	}
	claims, err := s.claimAll(numbers, holder)
	if err != nil {
		return nil, err
	}
	list, err := s.readDeferred(ctx, claims, holder)
	if err != nil {
		return nil, err
	}
	return s.handOut(ctx, list, mode)
}

// ReceiveNumber locks one active message by its sequence number, regardless of the messages before it. It
// serves administration tools; clients receive in order. It fails with CodeMessageNotFound if there is no
// such message, or if it is locked or deferred, and with CodeNotAllowed for an entity with sessions.
func (q *Queues) ReceiveNumber(ctx context.Context, a entity.Address, number int64) (Delivery, error) {
	s, err := q.store(a)
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
	s.e.touch(now)
	if err := s.catchUp(ctx); err != nil {
		return Delivery{}, err
	}
	s.mu.Lock()
	c := s.claim(number, nil)
	s.mu.Unlock()
	if c == nil {
		return Delivery{}, s.messageNotFound(number)
	}
	l := claimReader{s: s, now: now, state: layout.Active, max: 1}
	live, err := l.read(ctx, []*claim{c})
	if err == nil {
		err = s.purgeMet(ctx, l.expired)
	}
	if err != nil {
		s.release(live)
		return Delivery{}, err
	}
	if len(live) == 0 {
		return Delivery{}, s.messageNotFound(number)
	}
	list, err := s.handOut(ctx, live, PeekLock)
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
		return s.argument("There is no such mode of receiving.")
	case s.bySession() && (session == nil || session.s != s):
		return s.notAllowed("Deferred messages of a session are received by who holds its lock.")
	case s.bySession():
		return session.holds()
	}
	return nil
}

// claimAll claims deferred messages, all or none. The claims belong to holder if it is a receiver of this
// store, else to no receiver.
func (s *messageStore) claimAll(numbers []int64, holder *Receiver) (list []*claim, err error) {
	if holder != nil && holder.s != s {
		holder = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seq := range numbers {
		c := s.claim(seq, holder)
		if c == nil {
			for _, c := range list {
				s.unclaim(c)
			}
			return nil, s.messageNotFound(seq)
		}
		c.deferred = true
		list = append(list, c)
	}
	return list, nil
}

// readDeferred reads the messages of claims, all or none.
func (s *messageStore) readDeferred(ctx context.Context, claims []*claim,
	session *Receiver) ([]stored, error) {
	l := claimReader{s: s, now: s.now(), state: layout.Deferred, all: true}
	list, err := l.read(ctx, claims)
	if err != nil {
		return nil, err
	}
	for _, c := range l.missing {
		err = s.messageNotFound(c.seq)
	}
	refuses := s.e.m.opts.RefuseExpiredDeferred && s.sub == entity.Main
	def := millis(s.e.properties.Load().DefaultTTL)
	for i := range list {
		h := &list[i].Header
		if refuses && h.Deadline(def) <= l.now || s.bySession() && h.Session != session.lock.id {
			err = s.messageNotFound(list[i].seq)
		}
	}
	if err != nil {
		s.release(list)
		return nil, err
	}
	return list, nil
}
