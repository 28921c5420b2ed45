package queue

import (
	"context"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

func (s storedLockManager) lockSession(ctx context.Context, r *Receiver, id string) (locked bool, err error) {
	l := layout.Lock{Token: newToken(), Holder: r.o.Name}
	err = s.run(ctx, func(w *messageTx, p *messageStoreTransactionPart) error {
		_, there, err := s.SessionLockOf(w, id)
		if locked = !there; err != nil || there {
			return err
		}
		l.Until = saturate(w.now, millis(s.e.properties.Load().LockDuration))
		w.setSessionLock(p, id, &l)
		return nil
	}, s.Keys.TextKey(layout.FamilySessionLock, id))
	if err != nil || !locked {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil { // the lock lapses at its time
		return false, nil
	}
	if old := s.sessions[id]; old != nil { // its lock has ended on another server meanwhile
		old.holder.end(s.SessionLost())
		s.endSession(old)
	}
	s.holdSession(r, id, l.Until)
	r.lock.token = l.Token
	return true, nil
}

func (s storedLockManager) renewSession(ctx context.Context, r *Receiver) (until int64, err error) {
	err = s.run(ctx, func(w *messageTx, p *messageStoreTransactionPart) error {
		l, ok, err := s.SessionLockOf(w, r.lock.id)
		if err == nil && (!ok || l.Token != r.lock.token || l.Until <= w.now) {
			err = s.SessionLost()
		}
		if err != nil {
			return err
		}
		w.dropSessionLock(p, r.lock.id, &l)
		until = saturate(w.now, millis(s.e.properties.Load().LockDuration))
		l.Until = until
		w.setSessionLock(p, r.lock.id, &l)
		return nil
	}, s.Keys.TextKey(layout.FamilySessionLock, r.lock.id))
	if err != nil {
		s.endLost(r, err)
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.lock.lost {
		return 0, s.SessionLost()
	}
	s.rearm(&r.lock.lockDeadline, until)
	return until, nil
}

// endLost ends a receiver after an operation has failed because the lock of the receiver's session is lost.
func (s storedLockManager) endLost(r *Receiver, err error) {
	if r.lock == nil || entity.ErrorCodeOf(err) != entity.CodeSessionLockLost {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.end(s.SessionLost())
	if !r.lock.lost {
		s.endSession(r.lock)
	}
}

// release ends the locks that end when a receiver is closed. If that fails, the locks lapse at their time.
func (s storedLockManager) release(ctx context.Context, r *Receiver) {
	var tokens []message.UUID
	s.mu.Lock()
	held := r.lock
	for _, c := range r.held {
		tokens = append(tokens, c.token)
		s.forget(c)
	}
	if held != nil && !held.lost {
		s.endSession(held)
	}
	s.mu.Unlock()
	var err error
	if held != nil {
		err = s.releaseSession(ctx, held)
	} else if len(tokens) > 0 {
		err = s.releaseMessages(ctx, tokens)
	}
	if err != nil && entity.ErrorCodeOf(err) != entity.CodeEntityNotFound {
		s.e.m.logger().Warn("the locks of a receiver remain until they lapse",
			"entity", s.Name(), "error", err)
	}
}

func (s storedLockManager) releaseSession(ctx context.Context, held *sessionLock) error {
	for done := false; !done; {
		err := s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *messageTx) error {
			p, err := w.partOf(s.inMemoryMessageStoreState)
			if err != nil {
				return err
			}
			l, ok, err := s.SessionLockOf(w, held.id)
			if done = true; err != nil || !ok || l.Token != held.token || l.Until <= w.now {
				return err
			}
			done, err = w.endSession(p, held.id, &l, false)
			return err
		}, s.Keys.TextKey(layout.FamilySessionLock, held.id), s.Keys.Family(layout.FamilyCounters))
		if err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free.Wake(1)
	return nil
}

func (s storedLockManager) releaseMessages(ctx context.Context, tokens []message.UUID) error {
	return s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *messageTx) error {
		p, err := w.partOf(s.inMemoryMessageStoreState)
		if err != nil {
			return err
		}
		for _, token := range tokens {
			seq := seqOfToken(token)
			l, ok, err := p.LockOf(w, seq)
			if err == nil && ok && l.Token == token && l.Busy <= w.now && l.Until > w.now {
				err = w.unlock(p, seq, &l)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, s.ahead(tokens...)...)
}

func (s storedLockManager) advance(ctx context.Context) (more bool, err error) {
	s.mu.Lock()
	_, ended := s.popLapsed(s.now()) // the receivers of this server
	s.mu.Unlock()
	var c layout.MessageStoreCounters
	var last int64
	err = s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *messageTx) (err error) {
		c, last, err = w.advance(s.inMemoryMessageStoreState)
		return err
	}, s.Keys.Family(layout.FamilyCounters))
	s.mu.Lock()
	for _, l := range ended {
		s.endSession(l)
	}
	s.mu.Unlock()
	if err != nil {
		s.e.m.timers.arm(s.inMemoryMessageStoreState, s.now()+retryTimer)
		return false, err
	}
	if s.noteCounters(&c); last > 0 {
		s.e.recordUse(last)
		s.e.m.idler.WakeUp()
	}
	return c.Next != 0 && c.Next <= s.now(), nil
}
