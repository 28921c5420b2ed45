package queue

import (
	"bytes"
	"context"
	"errors"
	"slices"
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

// Settle settles the message whose lock has the given token, and returns when the change is durable. It may
// be part of a transaction. Errors: CodeMessageLockLost, CodeSessionLockLost, CodeNotAllowed (dead-lettering
// a dead letter), CodeEntityDisabled.
func (q *Queues) Settle(ctx context.Context, a entity.Address, token message.UUID, st SettlementRequest,
	tx *Transaction) error {
	s, err := q.store(ctx, a)
	if err != nil {
		return err
	}
	if err := s.settleable(&st); err != nil {
		return err
	}
	defer s.beginSettling()()
	if tx != nil {
		return s.locks.enlist(ctx, token, &st, tx)
	}
	list := []pendingSettlement{{token: token, SettlementRequest: st}}
	s.locks.settle(ctx, list)
	return list[0].err
}

// SettleAll settles the messages whose locks have the given tokens, each as the element of list with the same
// index says. tokens and list have the same length. Several settlements share a transaction. SettleAll
// returns the error of each message, or nil if all were settled.
func (q *Queues) SettleAll(ctx context.Context, a entity.Address, tokens []message.UUID,
	list []SettlementRequest) (errs []error) {
	s, err := q.store(ctx, a)
	if err != nil {
		return slices.Repeat([]error{err}, len(list))
	}
	defer s.beginSettling()()
	all := make([]pendingSettlement, 0, len(list))
	at := make([]int, 0, len(list))
	errs = make([]error, len(list))
	for i := range list {
		if errs[i] = s.settleable(&list[i]); errs[i] == nil {
			all, at = append(all, pendingSettlement{token: tokens[i],
				SettlementRequest: list[i]}), append(at, i)
		}
	}
	s.locks.settle(ctx, all)
	for i := range all {
		errs[at[i]] = all[i].err
	}
	if !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		return nil
	}
	return errs
}

// pendingSettlement is a SettlementRequest that is being carried out. err is its result.
type pendingSettlement struct {
	SettlementRequest
	token   message.UUID
	claim   *inMemoryMessageClaim // if locks are in memory
	outcome messageStateAfterLock
	err     error
}

// beginSettling records that the entity is in use, and makes the reaper yield to the settlement until end is
// called.
func (s *inMemoryMessageStoreState) beginSettling() (end func()) {
	s.e.m.in.Enter()
	now := s.now()
	s.lastReceived.Store(now)
	s.e.recordUse(now)
	return s.e.m.in.Leave
}

// maxSettled is the maximal number of messages that one transaction settles.
const maxSettled = 256

// settleTogether settles messages, in each transaction as many as fit, and sets the error of each. run runs
// a transaction for some messages of list; apply settles one message in it. If a settlement is refused, the
// transaction changes nothing; its messages are then settled one by one, so that they do not affect each
// other. If the engine fails, the messages are not tried again, since the transaction may have been
// committed.
func settleTogether(list []pendingSettlement, run func(part []pendingSettlement,
	fn func(w *messageTx) error) error,
	apply func(w *messageTx, st *pendingSettlement) error) {
	for len(list) > 0 {
		n, part := 0, list[:min(len(list), maxSettled)]
		refused := false
		err := run(part, func(w *messageTx) error {
			refused = false
			for n = 0; n < len(part) && w.moved < maxMoved; n++ {
				if err := apply(w, &part[n]); err != nil {
					refused = true
					return err
				}
			}
			return nil
		})
		if err == nil {
			list = list[n:]
			continue
		}
		if len(part) > 1 && (refused || entity.ErrorCodeOf(err) == entity.CodeMessageTooLarge) {
			for i := range part {
				settleTogether(part[i:i+1], run, apply)
			}
		} else {
			for i := range part {
				part[i].err = err
			}
		}
		list = list[len(part):]
	}
}

// settleable fails if a settlement is invalid or the store does not allow it.
func (s *inMemoryMessageStoreState) settleable(st *SettlementRequest) error {
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
	return content.CheckProperties(&s.MessageStore, st.Modify)
}

// settle settles a message whose lock the caller holds, in the way that st says, and returns the state in
// which it leaves the message. It fails with the error for a lost lock if the message does not exist any
// more.
func (w *messageTx) settle(s *inMemoryMessageStoreState, seq int64,
	st *SettlementRequest) (messageStateAfterLock, error) {
	p, err := w.partOf(s)
	if err != nil {
		return messageRemoved, err
	}
	h, ok, err := s.Header(w, seq)
	if err == nil && !ok {
		err = s.LockLost()
	}
	if err != nil {
		return messageRemoved, err
	}
	return w.settleHeader(p, seq, h, st)
}

// settleHeader settles a message whose lock the caller holds, and whose header h the caller has read.
func (w *messageTx) settleHeader(p *messageStoreTransactionPart, seq int64, h layout.MessageHeader,
	st *SettlementRequest) (messageStateAfterLock, error) {
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
		why := content.DeadLetterReason{Reason: st.Reason, Description: st.Description}
		return messageRemoved, w.deadLetter(p, seq, &h, why)
	}
}

// RenewLocks renews locks and returns the times at which they end. If one of them is lost, it fails and
// renews none.
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
func (q *Queues) Locked(ctx context.Context, a entity.Address,
	token message.UUID) (number int64, id string, err error) {
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

// locked reads the message that a lock covers. m is nil if the lock is lost, or if the message has been
// settled in the meantime.
func (s *inMemoryMessageStoreState) locked(ctx context.Context,
	token message.UUID) (seq int64, m *message.Message, err error) {
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
