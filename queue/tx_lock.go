package queue

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// This file implements stored locks. A locked message keeps its header and body, but has no index entries
// for receivers and for expiry. Each transaction that hands a message out, settles it or ends its lock reads
// the lock first. Therefore all servers that share an engine agree on who holds the lock.

// isFree reports whether a message has no stored lock.
func (w *messageTx) isFree(s *inMemoryMessageStoreState, seq int64) (bool, error) {
	if !w.m.shared {
		return true, nil // the caller has claimed it
	}
	_, locked, err := s.LockOf(w, seq)
	return !locked, err
}

// setLock stores the lock of a message. The caller has deleted the index entries by which receivers and
// the reaper find the message (see unlink).
func (w *messageTx) setLock(p *messageStoreTransactionPart, seq int64, l *layout.Lock) {
	p.dirty = true
	w.Set(p.Keys.Key(layout.FamilyLock, seq), l.Encode())
	w.Set(p.LockIndex(seq, l), nil)
	if !l.Covered {
		p.Wake(l.Lapses())
	}
}

// dropLock deletes the lock of a message. The caller decides what becomes of the message.
func (w *messageTx) dropLock(p *messageStoreTransactionPart, seq int64, l *layout.Lock) {
	p.dirty = true
	w.Delete(p.Keys.Key(layout.FamilyLock, seq))
	w.Delete(p.LockIndex(seq, l))
	p.setUnlinked(seq)
}

// unlock ends the lock of a message, which does not count as a delivery. If the message is reserved for a
// transaction, the lock remains for that transaction only.
func (w *messageTx) unlock(p *messageStoreTransactionPart, seq int64, l *layout.Lock) error {
	w.dropLock(p, seq, l)
	if l.Busy > w.now {
		lost := *l
		lost.Covered, lost.Until = false, 0
		w.setLock(p, seq, &lost)
		return nil
	}
	h, ok, err := p.Header(w, seq)
	if err != nil || !ok || h.State != layout.Active {
		return err
	}
	return w.link(p, seq, &h)
}

// endBusy ends the reservation of a locked message for a client's transaction, if the transaction did not
// settle the message.
func (w *messageTx) endBusy(p *messageStoreTransactionPart, seq int64, l *layout.Lock) error {
	w.dropLock(p, seq, l)
	free := *l
	free.Busy = 0
	if !l.Covered && l.Until == 0 { // it was lost meanwhile
		return w.unlock(p, seq, &free)
	}
	w.setLock(p, seq, &free)
	return nil
}

// lapseStored ends the lock of a message because it has lapsed at the millisecond at, and counts a failed
// delivery.
func (w *messageTx) lapseStored(p *messageStoreTransactionPart, seq int64, l *layout.Lock, at int64) error {
	if l.Busy > w.now || !l.Covered && l.Until == 0 {
		return w.unlock(p, seq, l)
	}
	w.dropLock(p, seq, l)
	h, ok, err := p.Header(w, seq)
	if err != nil || !ok {
		return err
	}
	what, err := w.returnMessage(p, seq, &h, at, true, nil)
	if err == nil && what == messageReady {
		err = w.link(p, seq, &h)
	}
	return err
}

// unlockAll ends all locks of a store because its entity has changed. This does not count as a delivery.
func (w *messageTx) unlockAll(s *inMemoryMessageStoreState) error {
	p, err := w.partOf(s)
	if err != nil {
		return err
	}
	var list []int64
	it := w.Scan(engine.Prefix(p.Keys.Family(layout.FamilyLock)), false)
	for it.Next() {
		list = append(list, layout.SeqOf(it.Key()))
	}
	if err := it.Close(); err != nil {
		return err
	}
	w.bringLocks(p, list)
	for _, seq := range list {
		l, ok, err := p.LockOf(w, seq)
		if err == nil && ok {
			err = w.unlock(p, seq, &l)
		}
		if err != nil {
			return err
		}
	}
	for _, family := range []byte{layout.FamilySessionLock, layout.FamilySessionLapse} {
		w.DeleteRange(engine.Prefix(p.Keys.Family(family)))
	}
	return nil
}

// bringLocks makes the engine read the locks and headers of messages in one round trip, before the
// transaction needs them.
func (w *messageTx) bringLocks(p *messageStoreTransactionPart, list []int64) {
	a, ok := w.Txn.(engine.Prefetcher)
	if !ok || len(list) == 0 {
		return
	}
	keys := make([][]byte, 0, 2*len(list))
	for _, seq := range list {
		keys = append(keys, p.Keys.Key(layout.FamilyLock, seq), p.Keys.Key(layout.FamilyMessage, seq))
	}
	a.Prefetch(keys)
}

// heldLock returns the lock with this token. It fails with CodeMessageLockLost if there is none or if it has
// lapsed.
func (w *messageTx) heldLock(p *messageStoreTransactionPart,
	token message.UUID) (seq int64, l layout.Lock, err error) {
	seq = seqOfToken(token)
	l, ok, err := p.LockOf(w, seq)
	if err != nil {
		return 0, l, err
	}
	until := l.Until
	if ok && l.Token == token && l.Covered {
		of, there, err := p.SessionLockOf(w, l.Session)
		if err != nil {
			return 0, l, err
		}
		if until = of.Until; !there {
			until = 0
		}
	}
	if !ok || l.Token != token || l.Busy > w.now || until <= w.now {
		return 0, l, p.LockLost()
	}
	return seq, l, nil
}

// settleStored settles the message that a lock covers.
func (w *messageTx) settleStored(p *messageStoreTransactionPart, seq int64, l *layout.Lock,
	st *SettlementRequest) error {
	w.dropLock(p, seq, l)
	what, err := w.settle(p.inMemoryMessageStoreState, seq, st)
	if err != nil || what != messageReady {
		return err
	}
	h, _, err := p.Header(w, seq)
	if err == nil {
		err = w.link(p, seq, &h)
	}
	return err
}

// setSessionLock stores the lock of a session, with the index entry by which it lapses.
func (w *messageTx) setSessionLock(p *messageStoreTransactionPart, id string, l *layout.Lock) {
	p.dirty = true
	w.Set(p.Keys.TextKey(layout.FamilySessionLock, id), l.Encode())
	w.Set(p.Keys.SessionLapseKey(l.Until, id), []byte(id))
	p.Wake(l.Until)
}

func (w *messageTx) dropSessionLock(p *messageStoreTransactionPart, id string, l *layout.Lock) {
	p.dirty = true
	w.Delete(p.Keys.TextKey(layout.FamilySessionLock, id))
	w.Delete(p.Keys.SessionLapseKey(l.Until, id))
}

// holdsSession fails with CodeSessionLockLost unless the session lock held is still stored and has not
// lapsed.
func (w *messageTx) holdsSession(s *inMemoryMessageStoreState, held *sessionLock) error {
	if !w.m.shared {
		return nil // the caller has checked the lock in memory
	}
	return s.HoldsSession(w, held.id, held.token, w.now)
}

// endSession ends the lock of a session, with those of its messages. lapsed reports whether the lock has
// lapsed, in which case deliveries are counted. done is false if messages are left for another transaction.
func (w *messageTx) endSession(p *messageStoreTransactionPart, id string, l *layout.Lock,
	lapsed bool) (done bool, err error) {
	var list []int64
	it := engine.Expect(w.Scan(engine.Prefix(p.Keys.HeldPrefix(id)), false), maxLapse+1)
	for len(list) <= maxLapse && it.Next() {
		list = append(list, layout.SeqOf(it.Key()))
	}
	if err := it.Close(); err != nil {
		return false, err
	}
	w.bringLocks(p, list)
	for i, seq := range list {
		if i == maxLapse || w.moved >= maxMoved {
			return false, nil
		}
		held, ok, err := p.LockOf(w, seq)
		switch {
		case err != nil:
		case !ok:
			err = p.Corrupt(seq, "has no lock, and is held by a session")
		case lapsed:
			err = w.lapseStored(p, seq, &held, l.Until)
		default:
			err = w.unlock(p, seq, &held)
		}
		if err != nil {
			return false, err
		}
	}
	w.dropSessionLock(p, id, l)
	return true, nil
}
