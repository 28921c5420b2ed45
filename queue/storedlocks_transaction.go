package queue

import (
	"context"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// enlist reserves a locked message for a transaction until the transaction ends or has exceeded its time.
func (s storedLockManager) enlist(ctx context.Context, token message.UUID, st *SettlementRequest,
	tx *Transaction) error {
	err := s.run(ctx, func(w *messageTx, p *messageStoreTransactionPart) error {
		seq, l, err := w.heldLock(p, token)
		if err != nil {
			return err
		}
		w.dropLock(p, seq, &l)
		l.Busy = tx.until
		w.setLock(p, seq, &l)
		return nil
	}, s.ahead(token)...)
	if err != nil {
		return err
	}
	step := &storedLockSettlementTransactionStep{s: s, token: token, how: *st}
	if err = tx.add(1, 0, step); err != nil {
		step.end(err)
	}
	return err
}

// storedLockSettlementTransactionStep settles a message that is reserved for the transaction.
type storedLockSettlementTransactionStep struct {
	s     storedLockManager
	token message.UUID
	how   SettlementRequest
}

func (st *storedLockSettlementTransactionStep) entities() []*entityState {
	return []*entityState{st.s.e}
}

func (st *storedLockSettlementTransactionStep) apply(w *messageTx) error {
	p, err := w.partOf(st.s.inMemoryMessageStoreState)
	if err != nil {
		return err
	}
	seq := seqOfToken(st.token)
	l, ok, err := p.LockOf(w, seq)
	if err == nil && (!ok || l.Token != st.token || l.Busy == 0) {
		err = p.LockLost()
	}
	if err != nil {
		return err
	}
	return w.settleStored(p, seq, &l, &st.how)
}

// end is called when the transaction has ended; err is nil if it was committed. After a rollback, end gives
// the message back to the holder of its lock. If that fails, the message stays reserved until the time limit
// of the transaction has passed.
func (st *storedLockSettlementTransactionStep) end(err error) {
	s := st.s
	if err == nil {
		s.forgetHeld(st.token)
		return
	}
	ctx := context.Background() // a rollback cannot be canceled; the engine limits the time
	err = s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *messageTx) error {
		p, err := w.partOf(s.inMemoryMessageStoreState)
		if err != nil {
			return err
		}
		seq := seqOfToken(st.token)
		l, ok, err := p.LockOf(w, seq)
		if err != nil || !ok || l.Token != st.token {
			return err
		}
		return w.endBusy(p, seq, &l)
	}, s.ahead(st.token)...)
	if err != nil && entity.ErrorCodeOf(err) != entity.CodeEntityNotFound {
		s.e.m.logger().Warn("a message of a transaction stays locked", "entity", s.Name(), "error", err)
	}
}
