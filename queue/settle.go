package queue

import (
	"bytes"
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/content"
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
	s, err := q.store(ctx, a)
	if err != nil {
		return err
	}
	if err := s.settleable(&st); err != nil {
		return err
	}
	s.e.m.in.Enter()
	defer s.e.m.in.Leave()
	now := s.now()
	s.lastReceived.Store(now)
	s.e.recordUse(now)
	return s.locks.settle(ctx, token, &st, tx)
}

// settleable validates a settlement.
func (s *messageStore) settleable(st *Settlement) error {
	if err := s.readable(); err != nil {
		return err
	}
	if st.Outcome > DeadLetter {
		return s.Argument("There is no such outcome.")
	}
	if st.Outcome == DeadLetter && s.Sub != entity.Main {
		return s.NotAllowed("A message of a dead-letter queue cannot be dead-lettered.")
	}
	for _, text := range []*string{st.Reason, st.Description} {
		if text != nil && utf8.RuneCountInString(*text) > maxReason {
			return s.Argument("The reason and the description of a dead letter have at most 4096 characters.")
		}
	}
	return content.CheckProperties(&s.Store, st.Modify)
}

// settle settles a message whose lock the caller holds.
func (w *messageTx) settle(s *messageStore, seq int64, st *Settlement) (lockOutcome, error) {
	p, err := w.partOf(s)
	if err != nil {
		return messageRemoved, err
	}
	h, ok, err := s.Header(w, seq)
	if err != nil {
		return messageRemoved, err
	}
	if !ok {
		return messageRemoved, s.LockLost()
	}
	switch st.Outcome {
	case Complete:
		return messageRemoved, w.take(p, seq, &h)
	case Abandon:
		return w.returnMessage(p, seq, &h, w.now, true, st.Modify)
	case Release:
		return w.returnMessage(p, seq, &h, w.now, false, st.Modify)
	case Defer:
		if err := w.modify(p, seq, &h, st.Modify); err != nil {
			return messageRemoved, err
		}
		return w.deferMessage(p, seq, &h)
	default:
		if err := w.modify(p, seq, &h, st.Modify); err != nil {
			return messageRemoved, err
		}
		why := content.Reason{Reason: st.Reason, Description: st.Description}
		return messageRemoved, w.deadLetter(p, seq, &h, why)
	}
}

// RenewLocks renews locks, all or none, and returns the times at which they end.
func (q *Queues) RenewLocks(ctx context.Context, a entity.Address,
	tokens []message.UUID) ([]time.Time, error) {
	s, err := q.store(ctx, a)
	if err != nil {
		return nil, err
	}
	if err := s.readable(); err != nil {
		return nil, err
	}
	if s.BySession {
		return nil, s.NotAllowed("The lock of a message in a session cannot be renewed: renew the session's.")
	}
	now := s.now()
	s.lastReceived.Store(now)
	s.e.recordUse(now)
	until, err := s.locks.renew(ctx, tokens)
	if err != nil {
		return nil, err
	}
	list := make([]time.Time, len(tokens))
	for i := range tokens {
		list[i] = until
	}
	return list, nil
}

// Locked returns the sequence number and the id of the message that a lock covers. Errors:
// CodeMessageLockLost.
func (q *Queues) Locked(ctx context.Context, a entity.Address, token message.UUID) (number int64, id string,
	err error) {
	s, err := q.store(ctx, a)
	if err != nil {
		return 0, "", err
	}
	seq, m, err := s.locked(ctx, token)
	if err != nil {
		return 0, "", err
	}
	if m == nil {
		return 0, "", s.LockLost()
	}
	return seq, m.Text(message.MessageID), nil
}

// locked reads the message that a lock covers. m is nil if the lock is lost, or the message was settled
// meanwhile.
func (s *messageStore) locked(ctx context.Context, token message.UUID) (seq int64, m *message.Message,
	err error) {
	seq, ok, err := s.locks.find(ctx, token)
	if err != nil || !ok {
		return 0, nil, err
	}
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) error {
		body, err := r.Get(s.Keys.Key(layout.FamilyBody, seq))
		if err != nil {
			return err
		}
		m, err = content.Parse(bytes.Clone(body))
		return err
	})
	if errors.Is(err, engine.ErrNotFound) {
		return seq, nil, nil
	}
	return seq, m, wrap(err)
}
