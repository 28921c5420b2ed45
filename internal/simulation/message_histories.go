package simulation

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// The names of the queues that the simulation uses.
const (
	plainQueue   = "plain"
	sessionQueue = "sessions"
	probeQueue   = "probe"
)

// lockDuration is how long locks of messages and sessions are valid.
const lockDuration = 10 * time.Second

// messageHistories has the histories of all messages, as known to the clients.
type messageHistories struct {
	w  *RunningSimulation
	mu sync.Mutex // guards the following fields and the histories
	of map[string]*messageHistory
	// sessions maps a session to its messages, in the order in which they were sent.
	sessions map[string][]*messageHistory
	holders  map[string][]*sessionLockHolder // by session
}

// messageHistory is what clients have done with a message, and what they know about it.
type messageHistory struct {
	id      string
	session string
	due     time.Time // when it becomes available; zero: at once
	sent    bool      // the send was acknowledged
	refused bool      // the send failed for certain
	number  int64     // its sequence number, as it was delivered; 0: not yet
	dead    bool      // a client has begun to dead-letter it
	// attempted means that a client has begun to complete or dead-letter the message. done is the time at
	// which this was acknowledged.
	attempted bool
	done      time.Time   // zero: not yet
	holds     []*heldLock // all known locks of the message
}

// heldLock is a lock of a message that a client has. Times are in milliseconds since 1970.
type heldLock struct {
	token       message.UUID
	from, until int64
	ended       int64 // when the client began to settle the message; 0: not yet
	by          *sessionLockHolder
}

// overlaps reports whether two locks were certainly valid at the same time.
func (h *heldLock) overlaps(other *heldLock) bool {
	return h.from < other.end() && other.from < h.end()
}

func (h *heldLock) end() int64 {
	if h.ended > 0 {
		return min(h.ended, h.until)
	}
	return h.until
}

// sessionLockHolder is a receiver that has locked a session, with the time of that lock.
type sessionLockHolder struct{ heldLock }

func (m *messageHistories) init(w *RunningSimulation) {
	m.w, m.of = w, make(map[string]*messageHistory)
	m.sessions, m.holders = make(map[string][]*messageHistory), make(map[string][]*sessionLockHolder)
}

// create creates the queues of the simulation.
func (m *messageHistories) create(ctx context.Context, s *simulatedMayflyServer) error {
	for _, name := range []string{plainQueue, sessionQueue, probeQueue} {
		p := entity.Defaults(entity.Queue)
		p.LockDuration, p.MaxDeliveryCount = lockDuration, 1000
		p.RequiresSession = name == sessionQueue
		if _, err := s.queues.Create(ctx, entity.Queue, name, p); err != nil {
			return err
		}
	}
	return nil
}

func address(name string) entity.Address { return entity.Address{Entity: name} }

// post sends a message and records the outcome.
func (m *messageHistories) post(c *client, name string, l *messageHistory) {
	m.mu.Lock()
	m.of[l.id] = l
	if l.session != "" {
		m.sessions[l.session] = append(m.sessions[l.session], l)
	}
	m.mu.Unlock()
	msg := message.New([]byte(l.id))
	if l.session != "" {
		msg.SetText(message.GroupID, l.session)
	}
	if !l.due.IsZero() {
		msg.SetScheduled(l.due.UnixMilli())
	}
	err, lost := c.call("send "+l.id, func(ctx context.Context, s *simulatedMayflyServer) error {
		return s.queues.Send(ctx, address(name), []*message.Message{msg}, nil)
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case lost:
	case err == nil:
		l.sent = true
	case entity.ErrorCodeOf(err) == entity.CodeInternal:
		m.w.violate("a send of %s fails with %v", l.id, err)
	case !uncertain(err):
		l.refused = true
	}
}

// uncertain reports whether an operation on messages may have had its effect although it failed.
func uncertain(err error) bool {
	switch entity.ErrorCodeOf(err) {
	case entity.CodeMessageLockLost, entity.CodeSessionLockLost, entity.CodeMessageNotFound,
		entity.CodeSessionCannotBeLocked, entity.CodeEntityNotFound:
		return false
	}
	return true
}

// send sends messages until ctx ends. About a quarter of them are scheduled, so that they become available
// only up to 20 seconds later.
func (m *messageHistories) send(ctx context.Context, c *client) {
	for c.think(ctx, 500*time.Millisecond) {
		c.made++
		l := &messageHistory{id: fmt.Sprintf("%s-%d", c.name, c.made)}
		if c.rng.IntN(4) == 0 {
			wait := time.Duration(c.rng.Int64N(int64(20 * time.Second)))
			l.due = m.w.now().Add(wait).Truncate(time.Millisecond)
		}
		m.post(c, plainQueue, l)
	}
}

// receive receives messages and settles them until ctx ends.
func (m *messageHistories) receive(ctx context.Context, c *client) {
	for c.think(ctx, 300*time.Millisecond) {
		var list []queue.Delivery
		start := m.w.now()
		wait := c.rng.IntN(3) == 0
		err, lost := c.call("receive", func(ctx context.Context, s *simulatedMayflyServer) error {
			r, err := s.queues.OpenReceiver(ctx, address(plainQueue), queue.ReceiverOptions{KeepLocks: true})
			if err != nil {
				return err
			}
			defer r.Close()
			if wait {
				short, cancel := context.WithTimeout(ctx, 3*time.Second)
				defer cancel()
				list, err = r.Receive(short, 3)
			} else {
				list, err = r.TryReceive(ctx, 3)
			}
			return err
		})
		if lost {
			continue
		}
		if err != nil && entity.ErrorCodeOf(err) == entity.CodeInternal {
			m.w.violate("a receive fails with %v", err)
		}
		for i := range list {
			if l, h := m.deliver(&list[i], start, nil); l != nil {
				m.handle(ctx, c, plainQueue, l, h)
			}
		}
	}
}

// deliver checks a message that was received, by a receive that began at start, and records its lock. by
// is the holder of the session of the message, or nil if the queue has no sessions.
func (m *messageHistories) deliver(d *queue.Delivery, start time.Time,
	by *sessionLockHolder) (*messageHistory, *heldLock) {
	body, _ := d.Message.Data()
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.of[string(body)]
	if l == nil {
		m.w.violate("a message %q was received, which nobody has sent", body)
		return nil, nil
	}
	b := &d.Broker
	h := &heldLock{token: d.Token, until: b.LockedUntil, by: by}
	h.from = h.until - lockDuration.Milliseconds()
	if by != nil {
		h.from, h.until = start.UnixMilli(), by.until
	}
	m.w.trace("%s was received as %d, locked until %d", l.id, b.SequenceNumber, h.until)
	switch {
	case l.refused:
		m.w.violate("%s was received, but its send was refused", l.id)
	case l.number != 0 && l.number != b.SequenceNumber && l.due.IsZero():
		m.w.violate("%s is there twice, as %d and %d", l.id, l.number, b.SequenceNumber)
	case !l.done.IsZero() && l.done.Before(start):
		m.w.violate("%s was received after it was completed", l.id)
	case !l.due.IsZero() && m.w.now().Before(l.due):
		m.w.violate("%s was received %v early", l.id, l.due.Sub(m.w.now()))
	}
	for _, other := range l.holds {
		if by == nil && h.overlaps(other) {
			m.w.violate("%s has two holders: from %d to %d and from %d to %d", l.id, other.from, other.end(),
				h.from, h.until)
		}
	}
	l.number, l.holds = b.SequenceNumber, append(l.holds, h)
	return l, h
}

// handle settles a received message, renews its lock, or does nothing with it.
func (m *messageHistories) handle(ctx context.Context, c *client, name string, l *messageHistory,
	h *heldLock) {
	if !c.think(ctx, time.Second) {
		return
	}
	switch n := c.rng.IntN(20); {
	case n < 12:
		m.settle(c, name, l, h, queue.Complete)
	case n < 14:
		m.settle(c, name, l, h, queue.Abandon)
	case n < 15:
		m.settle(c, name, l, h, queue.DeadLetter)
	case n < 18 && h.by == nil:
		m.renew(c, name, l, h)
		if c.think(ctx, 5*time.Second) {
			m.settle(c, name, l, h, queue.Complete)
		}
	}
}

// settle settles a message with the given outcome, which ends its lock.
func (m *messageHistories) settle(c *client, name string, l *messageHistory, h *heldLock,
	how queue.SettlementOutcome) {
	m.mu.Lock()
	again, start := l.attempted, m.w.now().UnixMilli()
	h.ended = start
	if how != queue.Abandon {
		l.attempted = true
		l.dead = l.dead || how == queue.DeadLetter
	}
	m.mu.Unlock()
	what := fmt.Sprintf("settle %s by %d", l.id, how)
	err, lost := c.call(what, func(ctx context.Context, s *simulatedMayflyServer) error {
		return s.queues.Settle(ctx, address(name), h.token, queue.SettlementRequest{Outcome: how}, nil)
	})
	if lost {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.w.now()
	switch {
	case err == nil && how != queue.Abandon:
		for _, other := range l.holds {
			if other.from > h.from && other.from < start && other.ended == 0 {
				m.w.violate("%s was settled by a lock that another one had replaced", l.id)
			}
		}
		l.done = now
	case err == nil:
	case entity.ErrorCodeOf(err) == entity.CodeInternal:
		m.w.violate("to settle %s fails with %v", l.id, err)
	case entity.ErrorCodeOf(err) == entity.CodeMessageLockLost:
		if !again && h.by == nil && now.UnixMilli() < h.until {
			m.w.violate("the lock of %s was lost %d ms before its end", l.id, h.until-now.UnixMilli())
		}
		if how != queue.Abandon && !again {
			l.attempted = false
		}
	}
}

// renew renews the lock of a received message, and records its new end.
func (m *messageHistories) renew(c *client, name string, l *messageHistory, h *heldLock) {
	var until []time.Time
	err, lost := c.call("renew "+l.id, func(ctx context.Context, s *simulatedMayflyServer) (err error) {
		until, err = s.queues.RenewLocks(ctx, address(name), []message.UUID{h.token})
		return err
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case lost:
	case err == nil && len(until) == 1:
		h.until = until[0].UnixMilli()
	case entity.ErrorCodeOf(err) == entity.CodeMessageLockLost && m.w.now().UnixMilli() < h.until:
		m.w.violate("the lock of %s was lost %d ms before its end", l.id, h.until-m.w.now().UnixMilli())
	}
}
