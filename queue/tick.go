package queue

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// What happens to a store as time passes, and concerns who receives from it: locks lapse, what is scheduled
// arrives, and what could not be forwarded at once is. The timers bring it about, and the reaper; a receive
// sees to it first. So what anybody is told does not depend on who came when: each change is judged as of the
// moment that it belongs to.

const (
	maxLapse    = 64  // locks that are ended in one transaction
	maxActivate = 256 // scheduled messages that are brought in one transaction
)

// tick does what is due, a transaction of each kind at most. more reports that something is left.
func (s *messageStore) tick(ctx context.Context) (more bool, err error) {
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
	more, err = s.endLocks(ctx)
	if err != nil {
		return more, err
	}
	s.mu.Lock()
	due := s.ended == nil && s.activates <= s.now()
	s.mu.Unlock()
	if due {
		err = s.activate(ctx)
	}
	s.mu.Lock()
	due = s.ended == nil && s.forwards <= s.now()
	s.mu.Unlock()
	if due && err == nil {
		s.e.m.forward(ctx, []*messageStore{s})
	}
	return more || s.nextWakeup() <= s.now(), err
}

// catchUp is what a receive waits for: no lock is over that still keeps a message, and what is scheduled
// has begun to arrive.
func (s *messageStore) catchUp(ctx context.Context) error {
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
		more = len(s.due) > 0 && s.due[0].until <= s.now()
		s.mu.Unlock()
	}
	return nil
}

func (s *messageStore) now() int64 { return s.e.m.in.Clock().Millis() }

// earliest is the moment in which something is due next; host.Never: nothing. The caller holds the mutex.
func (s *messageStore) earliest() int64 {
	first := min(s.activates, s.forwards)
	if len(s.due) > 0 {
		first = min(first, s.due[0].until)
	}
	return first
}

// nextWakeup is when the timers must come again.
func (s *messageStore) nextWakeup() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return host.Never
	}
	return s.earliest()
}

// lapsed is a lock that is over.
type lapsed struct {
	*claim
	at    int64 // when it was over
	after after // what has become of its message
}

// endLocks ends locks that are over. more reports that there are others.
func (s *messageStore) endLocks(ctx context.Context) (more bool, err error) {
	s.mu.Lock()
	list, locks := s.popLapsed(s.now())
	s.mu.Unlock()
	done := 0
	for done < len(list) && err == nil {
		upto := done
		err = s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *work) error {
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
		case i < done && l.after == back, i >= done && l.stale:
			s.unclaim(l.claim)
		case i < done || s.ended != nil:
			s.forget(l.claim)
		case l.session == nil:
			s.due.set(&l.deadline, l.at)
		}
	}
	for _, l := range locks {
		if err != nil && s.ended == nil {
			s.due.set(&l.deadline, l.deadline.until)
			continue
		}
		s.endSession(l)
	}
	if err != nil {
		s.e.m.timers.arm(s, s.now()+retryTimer)
	}
	return len(s.due) > 0 && s.due[0].until <= s.now(), err
}

// popLapsed takes out locks that are over, and those of sessions with all messages that they cover. The
// caller holds the mutex.
func (s *messageStore) popLapsed(now int64) (list []lapsed, sessions []*sessionLock) {
	for len(list) < maxLapse && len(s.due) > 0 && s.due[0].until <= now {
		d := s.due[0]
		s.due.forget(d)
		if d.claim != nil {
			if !d.claim.busy { // else it is being settled, and ends by that
				d.claim.busy = true
				list = append(list, lapsed{claim: d.claim, at: d.until})
			}
			continue
		}
		l := d.lock
		l.lost = true
		l.holder.end(s.sessionLost())
		for _, c := range l.holder.held {
			if !c.busy {
				c.busy = true
				list = append(list, lapsed{claim: c, at: d.until})
			}
		}
		sessions = append(sessions, l)
	}
	return list, sessions
}

// lapseLock counts a delivery that has failed because its lock was over. Dead letters are not counted.
func (w *work) lapseLock(s *messageStore, l *lapsed) error {
	p, err := w.in(s)
	if err != nil {
		return err
	}
	h, ok, err := s.header(w, l.seq)
	if l.after = gone; err != nil || !ok {
		return err
	}
	l.after, err = w.giveBack(p, l.seq, &h, l.at, true, nil)
	return err
}

// activate brings scheduled messages whose time has come, as many as one transaction takes.
func (s *messageStore) activate(ctx context.Context) error {
	s.mu.Lock()
	before := s.schedules
	s.mu.Unlock()
	var next, last int64
	err := s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *work) (err error) {
		next, last, err = w.activate(s)
		return err
	})
	if err != nil {
		return err
	}
	s.e.touch(last)
	s.e.m.idler.wakeUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.schedules == before { // else something was scheduled meanwhile, and the next look tells more
		s.activates = next
	}
	return nil
}

// activate brings scheduled messages in the order of their moments, and reports when the next one is due, and
// when the last one was that it has brought; 0: none.
func (w *work) activate(s *messageStore) (next, last int64, err error) {
	var due []host.Entry
	next = host.Never
	it := engine.Expect(w.Scan(engine.Prefix(s.keys.Family(layout.FamilyDue)), false), maxActivate+1)
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
