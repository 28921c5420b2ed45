package queue

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// This file makes the changes of a store that become due with time: locks lapse, scheduled messages become
// active, and a failed forwarding is tried again. The timers and the reaper make these changes, and each
// receive makes them before it reads. A change has the effect that it would have had at the time at which it
// was due, so results do not depend on when it is made.

const (
	maxLapse    = 64  // maximal number of locks that one transaction ends
	maxActivate = 256 // maximal number of scheduled messages that one transaction activates
)

// tick makes the changes that the store's clock requires: it ends lapsed locks, activates scheduled messages
// and forwards messages, with at most one transaction for each kind of change. more reports whether some
// changes are left.
func (s *inMemoryMessageStoreState) tick(ctx context.Context) (more bool, err error) {
	if err := s.turn.Lock(ctx); err != nil {
		return false, wrap(err)
	}
	defer s.turn.Unlock()
	s.mu.Lock()
	s.ticking = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.ticking = false
		s.mu.Unlock()
	}()
	more, err = s.table.advance(ctx)
	if err != nil {
		return more, err
	}
	s.mu.Lock()
	due := s.ended == nil && s.forwards <= s.now()
	s.mu.Unlock()
	if due {
		s.e.m.forward(ctx, []*inMemoryMessageStoreState{s})
	}
	return more || s.nextWakeup() <= s.now(), err
}

// catchUp makes the changes that the store's clock requires before a receive: it ends lapsed locks, and
// begins to activate the scheduled messages that are due.
func (s *inMemoryMessageStoreState) catchUp(ctx context.Context) error {
	if err := s.learnDue(ctx); err != nil {
		return err
	}
	for more := true; more; {
		s.mu.Lock()
		due := s.ended == nil && (s.ticking || s.earliest() <= s.now())
		s.mu.Unlock()
		if !due {
			return nil
		}
		var err error
		if _, err = s.tick(ctx); err != nil {
			return err
		}
		s.mu.Lock()
		more = s.locksAreDue()
		s.mu.Unlock()
	}
	return nil
}

// locksAreDue reports whether there are lapsed locks that have not been ended. The caller holds the mutex.
func (s *inMemoryMessageStoreState) locksAreDue() bool {
	if s.e.m.shared {
		return s.activates <= s.now()
	}
	return len(s.due) > 0 && s.due[0].until <= s.now()
}

// learnDue reads from the engine when the next lock lapses or the next scheduled message becomes active, if
// several servers share the engine: another server may have changed that time.
func (s *inMemoryMessageStoreState) learnDue(ctx context.Context) error {
	if !s.e.m.shared || s.hasEnded() != nil {
		return nil
	}
	var c layout.MessageStoreCounters
	err := s.e.m.in.Engine().View(ctx, func(r engine.Reader) (err error) {
		c, err = s.ReadCounters(r)
		return err
	})
	if err == nil {
		s.noteCounters(&c)
	}
	return wrap(err)
}

// noteCounters records the number and size of messages and the next wake-up time from the stored counters,
// since other servers that share the engine change them as well.
func (s *inMemoryMessageStoreState) noteCounters(c *layout.MessageStoreCounters) {
	s.size.Store(c.Bytes)
	s.scheduled.Store(c.Scheduled)
	s.active.Store(c.Active)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.activates = c.Next; c.Next == 0 {
		s.activates = host.Never
	}
	s.e.m.timers.arm(s, s.activates)
}

func (s *inMemoryMessageStoreState) now() int64 { return s.e.m.in.Clock().Millis() }

// earliest returns the millisecond at which the store must next activate or forward messages or end a lock,
// or host.Never. The caller holds the mutex.
func (s *inMemoryMessageStoreState) earliest() int64 {
	first := min(s.activates, s.forwards)
	if len(s.due) > 0 {
		first = min(first, s.due[0].until)
	}
	return first
}

// nextWakeup returns the millisecond at which the store's next change is due, such as the end of a lock, so
// that a timer must call tick then. It returns host.Never if no change is due or the store has ended.
func (s *inMemoryMessageStoreState) nextWakeup() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return host.Never
	}
	return s.earliest()
}

// expiredLock is a lock whose time has passed and that has to be ended.
type expiredLock struct {
	*inMemoryMessageClaim
	at      int64                 // when it lapsed
	outcome messageStateAfterLock // what becomes of its message
}

// endLocks ends lapsed locks. more reports whether some are left.
func (s *inMemoryMessageStoreState) endLocks(ctx context.Context) (more bool, err error) {
	s.mu.Lock()
	list, locks := s.popLapsed(s.now())
	s.mu.Unlock()
	done := 0
	for done < len(list) && err == nil {
		upto := done
		err = s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *messageTx) error {
			for upto = done; upto < len(list) && w.moved < maxMoved; upto++ {
				if err := w.lapseLock(s, &list[upto]); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			done = upto
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range list {
		l.busy = false
		switch {
		case i < done && l.outcome == messageReady, i >= done && l.stale:
			s.unclaim(l.inMemoryMessageClaim)
		case i < done || s.ended != nil:
			s.forget(l.inMemoryMessageClaim)
		case l.session == nil:
			s.due.set(&l.lockDeadline, l.at)
		}
	}
	for _, l := range locks {
		if err != nil && s.ended == nil {
			s.due.set(&l.lockDeadline, l.lockDeadline.until)
			continue
		}
		s.endSession(l)
	}
	if err != nil {
		s.e.m.timers.arm(s, s.now()+retryTimer)
	}
	return len(s.due) > 0 && s.due[0].until <= s.now(), err
}

// popLapsed removes lapsed locks from the heap and returns them. sessions are the lapsed locks of sessions;
// for each of them list also has the locks of messages that it covers. The caller holds the mutex.
func (s *inMemoryMessageStoreState) popLapsed(now int64) (list []expiredLock, sessions []*sessionLock) {
	for len(list) < maxLapse && len(s.due) > 0 && s.due[0].until <= now {
		d := s.due[0]
		s.due.forget(d)
		if d.claim != nil {
			if !d.claim.busy { // the claim on a message that is being settled is ended by the settlement
				d.claim.busy = true
				list = append(list, expiredLock{inMemoryMessageClaim: d.claim, at: d.until})
			}
			continue
		}
		l := d.lock
		l.lost = true
		l.holder.end(s.SessionLost())
		for _, c := range l.holder.held {
			if !c.busy {
				c.busy = true
				list = append(list, expiredLock{inMemoryMessageClaim: c, at: d.until})
			}
		}
		sessions = append(sessions, l)
	}
	return list, sessions
}

// lapseLock counts a failed delivery of the message of a lapsed lock. Deliveries of dead letters are not
// counted.
func (w *messageTx) lapseLock(s *inMemoryMessageStoreState, l *expiredLock) error {
	p, err := w.partOf(s)
	if err != nil {
		return err
	}
	h, ok, err := s.Header(w, l.seq)
	if l.outcome = messageRemoved; err != nil || !ok {
		return err
	}
	l.outcome, err = w.returnMessage(p, l.seq, &h, l.at, true, nil)
	return err
}

// activate makes scheduled messages active that are due, as many as fit into one transaction.
func (s *inMemoryMessageStoreState) activate(ctx context.Context) error {
	s.mu.Lock()
	before := s.schedules
	s.mu.Unlock()
	var next, last int64
	err := s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *messageTx) (err error) {
		next, last, err = w.activate(s)
		return err
	})
	if err != nil {
		return err
	}
	s.e.recordUse(last)
	s.e.m.idler.WakeUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	// otherwise a message that was scheduled at the same time may be due before next
	if s.schedules == before {
		s.activates = next
	}
	return nil
}

// activate makes scheduled messages active in the order of their due times. next is the due time of the next
// scheduled message. last is the due time of the last message that was activated, or 0 if none was.
func (w *messageTx) activate(s *inMemoryMessageStoreState) (next, last int64, err error) {
	var due []host.DeadlineIndexEntry
	next = host.Never
	it := engine.Expect(w.Scan(engine.Prefix(s.Keys.Family(layout.FamilyDue)), false), maxActivate+1)
	for next == host.Never && it.Next() {
		e, err := host.ParseEntry(layout.StorePrefixLen+1, it.Key())
		if err != nil {
			it.Close()
			return 0, 0, err
		}
		if e.At > w.now || len(due) == maxActivate {
			next = e.At
			break
		}
		due = append(due, e)
	}
	if err := it.Close(); err != nil {
		return 0, 0, err
	}
	for _, e := range due {
		if w.moved >= maxMoved {
			return e.At, last, nil
		}
		done, err := w.arrive(s, int64(e.ID), e.At)
		if err != nil {
			return 0, 0, err
		}
		if last = e.At; !done {
			return e.At, last, nil
		}
	}
	return next, last, nil
}
