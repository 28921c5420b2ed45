package queue

import (
	"context"
	"errors"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/internal/view"
)

// openSession locks the session that the receiver requests.
func (r *Receiver) openSession(ctx context.Context) error {
	s := r.s
	if want := r.o.Session; !want.Next {
		if err := s.catchUp(ctx); err != nil {
			return err
		}
		locked, err := s.table.lockSession(ctx, r, want.ID)
		if err == nil && !locked {
			err = r.notLocked(want.ID)
		}
		return err
	}
	s.mu.Lock()
	w := s.free.Join()
	s.waiting++
	s.mu.Unlock()
	s.e.m.in.Awaiting([][]byte{s.e.scope})
	defer func() {
		s.e.recordUse(s.now())
		s.mu.Lock()
		defer s.mu.Unlock()
		s.endWait()
		s.free.Leave(w)
	}()
	for {
		got, err := r.lockNext(ctx)
		if got || err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-w.Ready:
			s.mu.Lock()
			s.free.PutBack(w)
			s.mu.Unlock()
			if err := s.readable(); err != nil {
				return err
			}
		case <-ctx.Done():
			return s.Refuse(
				entity.CodeTimeout,
				"There was no session with messages in the time that was given.",
			)
		}
	}
}

// notLocked returns the reason why a session could not be locked.
func (r *Receiver) notLocked(id string) error {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return s.ended
	}
	return s.Refuse(entity.CodeSessionCannotBeLocked,
		"The requested session '"+id+"' cannot be accepted. It may be locked by another receiver.")
}

// lockNext locks the session that has the oldest message among the unlocked sessions. It purges expired
// messages that it finds before that message, so that the order of sessions does not depend on when the
// reaper runs.
func (r *Receiver) lockNext(ctx context.Context) (bool, error) {
	s := r.s
	if err := s.catchUp(ctx); err != nil {
		return false, err
	}
	from := int64(0)
	for {
		id, head, err := s.freeSession(ctx, from)
		if err != nil || head == 0 {
			return false, err
		}
		first, dead, err := s.firstAlive(ctx, id)
		if err != nil {
			return false, err
		}
		if len(dead) > 0 {
			n, err := s.purge(ctx, dead)
			if err != nil {
				return false, err
			}
			if n > 0 {
				from = 0
				continue
			}
		}
		from = head + 1
		if first == 0 {
			continue
		}
		if locked, err := s.table.lockSession(ctx, r, id); locked || err != nil {
			return locked, err
		}
	}
}

// freeSession returns the first unlocked session whose first message has a number not less than from. head
// is the number of that message, or 0 if there is no such session.
func (s *inMemoryMessageStoreState) freeSession(ctx context.Context,
	from int64) (id string, head int64, err error) {
	rg := engine.Prefix(s.Keys.Family(layout.FamilyHead))
	rg.Start = s.Keys.Key(layout.FamilyHead, from)
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) (err error) {
		it := engine.Expect(r.Scan(rg, false), maxLook)
		for head == 0 && err == nil {
			var ids []string
			var heads []int64
			for len(ids) < maxLook && it.Next() {
				ids, heads = append(ids, string(it.Value())), append(heads, layout.SeqOf(it.Key()))
			}
			if len(ids) == 0 || ctx.Err() != nil {
				break
			}
			var locked view.MessageAndSessionLocks
			locked, err = s.table.inspect(r, ids, nil)
			for i := 0; err == nil && head == 0 && i < len(ids); i++ {
				if _, is := locked.Sessions[ids[i]]; !is {
					id, head = ids[i], heads[i]
				}
			}
		}
		return errors.Join(err, it.Close())
	})
	if err == nil {
		err = ctx.Err()
	}
	return id, head, wrap(err)
}

// firstAlive returns the number of the first message of a session that has not expired, or 0 if there is
// none. It claims the expired messages before it, unless the reaper is paused.
func (s *inMemoryMessageStoreState) firstAlive(ctx context.Context,
	id string) (first int64, dead []*inMemoryMessageClaim, err error) {
	now, paused := s.now(), s.e.m.in.ReaperPaused()
	prefix := s.ReadyPrefix(id)
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) error {
		it := engine.Expect(r.Scan(engine.Prefix(prefix), false), 1)
		for looked := 1; first == 0 && len(dead) < maxLook && it.Next(); looked++ {
			if looked%maxLook == 0 && ctx.Err() != nil {
				break
			}
			seq := layout.SeqOf(it.Key())
			h, ok, err := s.Header(r, seq)
			if err != nil {
				it.Close()
				return err
			}
			if ok && !s.expired(&h, now) {
				first = seq
			} else if !paused {
				s.mu.Lock()
				if c := s.claim(seq, nil); c != nil {
					dead = append(dead, c)
				}
				s.mu.Unlock()
			}
		}
		return it.Close()
	})
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range dead {
			s.forget(c)
		}
	}
	return first, dead, wrap(err)
}

// RenewSession renews the lock of the receiver's session.
func (r *Receiver) RenewSession(ctx context.Context) (until time.Time, err error) {
	s := r.s
	if err := r.holds(); err != nil {
		return until, err
	}
	at, err := s.table.renewSession(ctx, r)
	if err != nil {
		return until, err
	}
	s.e.recordUse(s.now())
	return moment(at), nil
}

// holds fails if the receiver does not hold the lock of its session.
func (r *Receiver) holds() error {
	s := r.s
	if r.lock == nil {
		return s.NotAllowed("The receiver has no session.")
	}
	if err := s.readable(); err != nil {
		return err
	}
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	if r.lock.lost || r.lock.until <= now {
		return s.SessionLost()
	}
	s.lastReceived.Store(now)
	s.e.recordUse(now)
	return nil
}

// SessionState returns the state of the receiver's session, or nil if it has none.
func (r *Receiver) SessionState(ctx context.Context) (state []byte, err error) {
	if err := r.holds(); err != nil {
		return nil, err
	}
	s := r.s
	err = s.e.m.in.Engine().View(ctx, func(v engine.Reader) (err error) {
		if s.e.m.shared {
			if err := s.HoldsSession(v, r.lock.id, r.lock.token, s.now()); err != nil {
				return err
			}
		}
		state, err = s.SessionState(v, r.lock.id)
		return err
	})
	if err == nil {
		err = s.e.m.in.Engine().Settle(ctx, s.e.scope, 0)
	}
	return state, wrap(err)
}

// SetSessionState sets the state of the receiver's session. An empty state clears it. It is part of the
// transaction tx, unless that is nil.
func (r *Receiver) SetSessionState(ctx context.Context, state []byte, tx *Transaction) error {
	if err := r.holds(); err != nil {
		return err
	}
	s := r.s
	if len(state) > s.maxState() {
		return s.Refuse(entity.CodeMessageTooLarge, "The state of a session is too large.")
	}
	if tx != nil {
		return tx.add(1, 0, &sessionStateTransactionStep{r, state})
	}
	return s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *messageTx) error {
		return w.setOwnState(r, state)
	})
}

// maxState is the maximal size of a session state in bytes: 256 KB, or 1 MB if the entity allows messages
// of more than 256 KB.
func (s *inMemoryMessageStoreState) maxState() int {
	if s.e.properties.Load().MaxMessageKB > 256 {
		return 1 << 20
	}
	return 256 << 10
}
