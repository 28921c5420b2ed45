package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
)

// sendSessions sends messages of sessions until ctx ends. Each session has one sender, which waits for the
// response to each send.
func (m *messageHistories) sendSessions(ctx context.Context, c *client) {
	for c.think(ctx, 500*time.Millisecond) {
		c.made++
		session := fmt.Sprintf("%s.%d", c.name, c.rng.IntN(3))
		m.post(c, sessionQueue, &messageHistory{id: fmt.Sprintf("%s-%d", c.name, c.made), session: session})
	}
}

// receiveSessions receives the messages of one session after the other until ctx ends.
func (m *messageHistories) receiveSessions(ctx context.Context, c *client) {
	for c.think(ctx, 500*time.Millisecond) {
		_, _ = c.call("receive a session", func(call context.Context, s *simulatedMayflyServer) error {
			return m.receiveSession(call, c, s)
		})
	}
}

func (m *messageHistories) receiveSession(ctx context.Context, c *client, s *simulatedMayflyServer) error {
	short, cancel := context.WithTimeout(ctx, sessionWait)
	defer cancel()
	r, err := s.queues.OpenReceiver(short, address(sessionQueue),
		queue.ReceiverOptions{Session: &queue.SessionRequest{Next: true}})
	if err != nil {
		if code := entity.ErrorCodeOf(err); code == entity.CodeInternal {
			m.w.violate("a session cannot be opened: %v", err)
		}
		return err
	}
	defer r.Close()
	id, until, ok := r.Session()
	if !ok || s.gone.Load() {
		return nil
	}
	h := m.lockSession(id, until)
	defer func() {
		m.mu.Lock()
		h.ended = m.w.now().UnixMilli()
		m.mu.Unlock()
	}()
	for range 1 + c.rng.IntN(3) {
		start := m.w.now()
		list, err := r.TryReceive(ctx, 2)
		if err != nil || s.gone.Load() || m.w.now().UnixMilli() > h.until {
			return err
		}
		held := make(map[*messageHistory]bool)
		for i := range list {
			l, own := m.deliver(&list[i], start, h)
			if l == nil {
				continue
			}
			m.checkOrder(l, held)
			held[l] = true
			if c.rng.IntN(4) > 0 {
				m.settle(c, sessionQueue, l, own, queue.Complete)
			} else {
				return nil // the other messages will be received again
			}
		}
		if !c.think(ctx, 300*time.Millisecond) {
			return nil
		}
	}
	return nil
}

// lockSession records that a receiver has locked a session until the given time, and checks that no other
// lock of the session overlaps.
func (m *messageHistories) lockSession(id string, until time.Time) *sessionLockHolder {
	m.mu.Lock()
	defer m.mu.Unlock()
	ms := until.UnixMilli()
	h := &sessionLockHolder{heldLock{from: ms - lockDuration.Milliseconds(), until: ms}}
	for _, other := range m.holders[id] {
		if h.overlaps(&other.heldLock) {
			m.w.violate("session %s has two holders: from %d to %d and from %d to %d", id, other.from,
				other.end(), h.from, h.until)
		}
	}
	m.holders[id] = append(m.holders[id], h)
	m.w.trace("session %s was locked until %d", id, ms)
	return h
}

// checkOrder checks the order of a session: all messages that were sent before a received message must have
// been settled, or must be in held.
func (m *messageHistories) checkOrder(l *messageHistory, held map[*messageHistory]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, before := range m.sessions[l.session] {
		if before == l {
			return
		}
		if before.sent && !before.attempted && !held[before] {
			m.w.violate("%s was received before %s", l.id, before.id)
		}
	}
}
