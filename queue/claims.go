package queue

import (
	"crypto/rand"

	"github.com/mayflydb/mayfly/queue/internal/cursor"
	"github.com/mayflydb/mayfly/queue/message"
)

// Callers of the methods in this file hold the store's mutex.

// claim reserves a message for one operation. It returns nil if the message is claimed already. If several
// servers share the engine, a claim in memory could not exclude the other servers. The claim that is returned
// then reserves nothing; instead each transaction checks that the message has no lock (messageTx.isFree).
func (s *inMemoryMessageStoreState) claim(seq int64, r *Receiver) *inMemoryMessageClaim {
	if s.e.m.shared {
		return &inMemoryMessageClaim{seq: seq, lockDeadline: lockDeadline{index: -1}}
	}
	if s.claims[seq] != nil {
		return nil
	}
	c := &inMemoryMessageClaim{seq: seq, busy: true, holder: r}
	if r != nil && r.lock != nil {
		c.session, c.group = r.lock, r.lock.id
	}
	c.lockDeadline = lockDeadline{index: -1, claim: c}
	s.claims[seq] = c
	return c
}

// forget ends the claim on a message (its reservation in memory for one operation). Receivers do not get the
// message again: it no longer exists, or it is no longer active.
func (s *inMemoryMessageStoreState) forget(c *inMemoryMessageClaim) {
	s.due.forget(&c.lockDeadline)
	if c.locked {
		delete(s.tokens, c.token)
	}
	if c.holder != nil && c.holder.held[c.seq] == c {
		delete(c.holder.held, c.seq)
	}
	if s.claims[c.seq] == c {
		delete(s.claims, c.seq)
	}
}

// unclaim ends the claim on a message (its reservation in memory for one operation) and makes the message
// available to receivers again. It wakes one waiting receiver, or schedules the forwarding if the store
// forwards its messages. A deferred message only loses its claim, because receivers read it by its number.
func (s *inMemoryMessageStoreState) unclaim(c *inMemoryMessageClaim) {
	s.forget(c)
	if c.deferred {
		return
	}
	// a free session is read from its first message on
	if p := s.cursorOf(c.group); p != nil && !s.e.m.shared {
		p.Release(c.seq)
		p.Waiters.Wake(1)
	}
	if s.forwardsTo() != "" {
		s.forwardAtLocked(s.now())
	}
}

// lock turns the claim that a receive has on a message into a peek-lock that ends at the millisecond until,
// and issues its lock token.
func (s *inMemoryMessageStoreState) lock(c *inMemoryMessageClaim, until int64) {
	c.token, c.locked, c.busy = newToken(), true, false
	s.tokens[c.token] = c
	if c.holder != nil {
		c.holder.held[c.seq] = c
	}
	if c.session == nil {
		s.rearm(&c.lockDeadline, until)
	}
}

// rearm sets the millisecond at which a message's or session's lock lapses, and the store's timer with it.
func (s *inMemoryMessageStoreState) rearm(d *lockDeadline, until int64) {
	s.due.set(d, until)
	s.e.m.timers.arm(s, until)
}

// lapses returns the millisecond in which the claim's lock lapses.
func (c *inMemoryMessageClaim) lapses() int64 {
	if c.session != nil {
		return c.session.lockDeadline.until
	}
	return c.lockDeadline.until
}

// held returns the lock with this token. It returns nil if the lock has lapsed, is being settled, or never
// existed.
func (s *inMemoryMessageStoreState) held(token message.UUID, now int64) *inMemoryMessageClaim {
	c := s.tokens[token]
	if c == nil || c.busy || c.session != nil && c.session.lost || c.lapses() <= now {
		return nil
	}
	return c
}

// holdSession records that a receiver has the lock of a session.
func (s *inMemoryMessageStoreState) holdSession(r *Receiver, id string, until int64) {
	l := &sessionLock{id: id, holder: r}
	l.lockDeadline = lockDeadline{index: -1, lock: l}
	r.lock, s.sessions[id] = l, l
	s.receivers[r] = struct{}{}
	s.rearm(&l.lockDeadline, until)
}

// endSession ends the lock of a session. The messages that it covers become available again, except those
// that are being settled. This does not count as a delivery.
func (s *inMemoryMessageStoreState) endSession(l *sessionLock) {
	l.lost = true
	for _, c := range l.holder.held {
		if !c.busy {
			s.forget(c)
		}
	}
	s.dropSession(l)
}

// dropSession frees a session whose lock has ended, and wakes a receiver that waits for a free session.
func (s *inMemoryMessageStoreState) dropSession(l *sessionLock) {
	s.due.forget(&l.lockDeadline)
	if s.sessions[l.id] == l {
		delete(s.sessions, l.id)
	}
	l.cursor.Waiters.WakeAll()
	s.free.Wake(1)
}

// popReturned claims at most n of the messages that receivers have already passed (their numbers are below
// the next number to read) and that have become available again.
func (s *inMemoryMessageStoreState) popReturned(p *cursor.ReceivePosition, r *Receiver,
	n int) (list []*inMemoryMessageClaim) {
	for len(list) < n {
		seq, ok := p.PopReturned()
		if !ok {
			break
		}
		if c := s.claim(seq, r); c != nil {
			list = append(list, c)
		}
	}
	return list
}

// newToken returns a random lock token.
func newToken() (t message.UUID) {
	_, _ = rand.Read(t[:]) // crypto/rand.Read never fails
	return t
}
