package queue

import (
	"bytes"
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// maxReason is the maximal number of characters of a dead-letter reason or description.
const maxReason = 4096

// Settle settles the message whose lock has a token, and returns when the change is durable. It may be part
// of a transaction. Errors: CodeMessageLockLost, CodeSessionLockLost, CodeNotAllowed (dead-lettering a dead
// letter), CodeEntityDisabled.
func (q *Queues) Settle(ctx context.Context, a entity.Address, token message.UUID, st Settlement,
	tx *Transaction) error {
	s, err := q.store(a)
	if err != nil {
		return err
	}
	if err := s.settleable(&st); err != nil {
		return err
	}
	s.e.m.in.Enter()
	defer s.e.m.in.Leave()
	c, err := s.beginSettle(token)
	if err != nil {
		return err
	}
	if tx != nil {
		if err := tx.add(1, 0, &settleStep{s: s, claim: c, how: st}); err != nil {
			s.endSettle(c, back, err)
			return err
		}
		return nil
	}
	var what after
	err = s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *work) (err error) {
		what, err = w.settle(s, c, &st)
		return err
	})
	s.endSettle(c, what, err)
	return err
}

// settleable validates a settlement.
func (s *messageStore) settleable(st *Settlement) error {
	if err := s.readable(); err != nil {
		return err
	}
	if st.Outcome > DeadLetter {
		return s.argument("There is no such outcome.")
	}
	if st.Outcome == DeadLetter && s.sub != entity.Main {
		return s.notAllowed("A message of a dead-letter queue cannot be dead-lettered.")
	}
	for _, text := range []*string{st.Reason, st.Description} {
		if text != nil && utf8.RuneCountInString(*text) > maxReason {
			return s.argument("The reason and the description of a dead letter have at most 4096 characters.")
		}
	}
	return s.checkProperties(st.Modify)
}

// beginSettle marks a lock as busy, so that it cannot lapse or be settled twice meanwhile.
func (s *messageStore) beginSettle(token message.UUID) (*claim, error) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.held(token, now)
	if c == nil {
		return nil, s.lockLost()
	}
	c.busy = true
	s.lastReceived.Store(now)
	s.e.touch(now)
	return c, nil
}

// endSettle ends the lock. If the settlement has failed, the holder keeps the lock.
func (s *messageStore) endSettle(c *claim, what after, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.busy = false
	lost := c.session != nil && c.session.lost
	switch {
	case err == nil && what == back:
		s.unclaim(c)
	case err == nil || s.ended != nil || lost || c.stale:
		s.drop(c, err != nil)
	case c.session == nil:
		s.rearm(&c.deadline, c.deadline.until)
	}
}

// drop ends the claim on a message. available reports whether the message can be received again.
func (s *messageStore) drop(c *claim, available bool) {
	if available {
		s.unclaim(c)
		return
	}
	s.forget(c)
}

// settle settles a message whose lock the caller has marked as busy.
func (w *work) settle(s *messageStore, c *claim, st *Settlement) (after, error) {
	p, err := w.in(s)
	if err != nil {
		return gone, err
	}
	h, ok, err := s.header(w, c.seq)
	if err != nil {
		return gone, err
	}
	if !ok {
		return gone, s.lockLost()
	}
	switch st.Outcome {
	case Complete:
		return gone, w.take(p, c.seq, &h)
	case Abandon:
		return w.giveBack(p, c.seq, &h, w.now, true, st.Modify)
	case Release:
		return w.giveBack(p, c.seq, &h, w.now, false, st.Modify)
	case Defer:
		if err := w.modify(p, c.seq, &h, st.Modify); err != nil {
			return gone, err
		}
		return w.deferMessage(p, c.seq, &h)
	default:
		if err := w.modify(p, c.seq, &h, st.Modify); err != nil {
			return gone, err
		}
		return gone, w.deadLetter(p, c.seq, &h, reason{st.Reason, st.Description})
	}
}

// RenewLocks renews locks, all or none, and returns the times at which they end.
func (q *Queues) RenewLocks(ctx context.Context, a entity.Address,
	tokens []message.UUID) ([]time.Time, error) {
	s, err := q.store(a)
	if err != nil {
		return nil, err
	}
	if err := s.readable(); err != nil {
		return nil, err
	}
	if s.bySession() {
		return nil, s.notAllowed("The lock of a message in a session cannot be renewed: renew the session's.")
	}
	now := s.now()
	until := saturate(now, millis(s.e.properties.Load().LockDuration))
	s.lastReceived.Store(now)
	s.e.touch(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, token := range tokens {
		if s.held(token, now) == nil {
			return nil, s.lockLost()
		}
	}
	list := make([]time.Time, len(tokens))
	for i, token := range tokens {
		s.rearm(&s.tokens[token].deadline, until)
		list[i] = moment(until)
	}
	return list, nil
}

// Locked returns the sequence number and the id of the message that a lock covers. Errors:
// CodeMessageLockLost.
func (q *Queues) Locked(ctx context.Context, a entity.Address, token message.UUID) (number int64, id string,
	err error) {
	s, err := q.store(a)
	if err != nil {
		return 0, "", err
	}
	c, m, err := s.locked(ctx, token)
	if err != nil {
		return 0, "", err
	}
	if m == nil {
		return 0, "", s.lockLost()
	}
	return c.seq, m.Text(message.MessageID), nil
}

// locked reads the message that a lock covers. m is nil if the lock is lost, or the message was settled
// meanwhile.
func (s *messageStore) locked(ctx context.Context, token message.UUID) (c *claim, m *message.Message,
	err error) {
	s.mu.Lock()
	c = s.held(token, s.now())
	s.mu.Unlock()
	if c == nil {
		return nil, nil, nil
	}
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) error {
		body, err := r.Get(s.keys.Key(layout.FamilyBody, c.seq))
		if err != nil {
			return err
		}
		m, err = parseStored(bytes.Clone(body))
		return err
	})
	if errors.Is(err, engine.ErrNotFound) {
		return c, nil, nil
	}
	return c, m, wrap(err)
}
