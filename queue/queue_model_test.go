package queue

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// queueModel is a simple model of a queue, with which TestHistories compares the real one: maps of its
// messages, dead letters and sessions.
type queueModel struct {
	now, started int64
	last         int64
	props        entity.Properties
	msgs         map[int64]*modelMessage
	dead         map[int64]*modelMessage
	seen         map[string]int64
	sessions     map[string]*modelSession
}

type modelMessage struct {
	text, session, reason string
	seq                   int64
	state                 layout.MessageState
	count                 int32
	enqueued, ttl, due    int64
	until                 int64 // of its lock; 0: none
	token                 message.UUID
	holder                *modelSession
}

type modelSession struct {
	id    string
	until int64
	r     *Receiver
}

func newQueueModel(p entity.Properties, now int64) *queueModel {
	return &queueModel{now: now, started: now, props: p, msgs: map[int64]*modelMessage{},
		dead: map[int64]*modelMessage{}, seen: map[string]int64{}, sessions: map[string]*modelSession{}}
}

// clone returns the model of the queue after a crash: without locks, or with them if stored is set,
// because they are then stored in the engine.
func (w *queueModel) clone(stored bool) *queueModel {
	c := *w
	if stored {
		c.msgs, c.dead, c.seen = copied(w.msgs), copied(w.dead), maps.Clone(w.seen)
		return &c
	}
	c.msgs, c.dead = cloned(w.msgs), cloned(w.dead)
	c.seen, c.sessions = maps.Clone(w.seen), map[string]*modelSession{}
	return &c
}

func copied(list map[int64]*modelMessage) map[int64]*modelMessage {
	c := make(map[int64]*modelMessage)
	for seq, m := range list {
		one := *m
		c[seq] = &one
	}
	return c
}

func cloned(list map[int64]*modelMessage) map[int64]*modelMessage {
	c := make(map[int64]*modelMessage)
	for seq, m := range list {
		one := *m
		one.unlock()
		c[seq] = &one
	}
	return c
}

func (m *modelMessage) unlock() { m.until, m.token, m.holder = 0, message.UUID{}, nil }

func (m *modelMessage) locked() bool { return m.until > 0 || m.holder != nil }

func (w *queueModel) ordered(list map[int64]*modelMessage) []*modelMessage {
	return slices.SortedFunc(maps.Values(list), func(a, b *modelMessage) int {
		return cmp.Compare(a.seq, b.seq)
	})
}

func (w *queueModel) deadline(m *modelMessage) int64 {
	h := layout.MessageHeader{Enqueued: m.enqueued, TTL: m.ttl}
	return h.Deadline(millis(w.props.DefaultTTL))
}

func (w *queueModel) expired(m *modelMessage, at int64) bool {
	return m.state == layout.Active && w.deadline(m) <= at
}

// send adds a message with this message id to the model, and returns its sequence number. A duplicate is
// dropped: send returns 0 for it or, if it is scheduled, a sequence number that no message has.
func (w *queueModel) send(m modelMessage, id string) int64 {
	if w.props.RequiresDuplicateDetection {
		if at, ok := w.seen[id]; ok && w.now < at+w.props.DuplicateDetectionWindow.Milliseconds() {
			if m.due <= 0 {
				return 0
			}
			w.last++
			return w.last
		}
		w.seen[id] = w.now
	}
	w.last++
	m.seq, m.enqueued = w.last, w.now
	if m.state = layout.Scheduled; m.due <= w.now {
		m.state, m.due, m.ttl = layout.Active, 0, capTTL(m.ttl, w.props.DefaultTTL)
	}
	w.msgs[m.seq] = &m
	return m.seq
}

// deferred defers a locked message. If it has reached MaxDeliveryCount, it is dead-lettered instead.
func (w *queueModel) deferred(m *modelMessage) {
	m.unlock()
	if m.count++; m.count >= w.props.MaxDeliveryCount {
		w.deadLetter(m, "MaxDeliveryCountExceeded")
		return
	}
	m.state = layout.Deferred
}

// fail ends the lock of a message that was not settled, and counts a failed delivery if counts is set. The
// message becomes available again, unless it has expired by the millisecond at or has reached
// MaxDeliveryCount.
func (w *queueModel) fail(m *modelMessage, at int64, counts bool) {
	m.unlock()
	if counts {
		m.count++
	}
	switch {
	case m.state == layout.Deferred:
	case w.expired(m, at):
		w.lapse(m)
	case counts && m.count >= w.props.MaxDeliveryCount:
		w.deadLetter(m, "MaxDeliveryCountExceeded")
	}
}

func (w *queueModel) lapse(m *modelMessage) {
	if w.props.DeadLetterOnExpiration {
		w.deadLetter(m, "TTLExpiredException")
		return
	}
	delete(w.msgs, m.seq)
}

func (w *queueModel) deadLetter(m *modelMessage, reason string) {
	delete(w.msgs, m.seq)
	m.unlock()
	m.reason, m.state = reason, layout.Active
	w.dead[m.seq] = m
}

// advance sets the time of the model. Locks lapse, and scheduled messages become active.
func (w *queueModel) advance(now int64) {
	w.now = now
	for _, m := range w.ordered(w.msgs) {
		if m.until > 0 && m.until <= now {
			w.fail(m, m.until, true)
		}
	}
	for _, s := range w.sessions {
		if s.until <= now {
			w.endSession(s, true)
		}
	}
	var due []*modelMessage
	for _, m := range w.ordered(w.msgs) {
		if m.state == layout.Scheduled && m.due <= now {
			due = append(due, m)
		}
	}
	slices.SortStableFunc(due, func(a, b *modelMessage) int { return cmp.Compare(a.due, b.due) })
	for _, m := range due {
		delete(w.msgs, m.seq)
		w.last++
		m.seq, m.state, m.enqueued = w.last, layout.Active, max(m.due, w.started)
		m.ttl = capTTL(m.ttl, w.props.DefaultTTL)
		w.msgs[m.seq] = m
	}
}

// endSession ends the lock of a session and of its messages. If it has lapsed, their deliveries count as
// failed.
func (w *queueModel) endSession(s *modelSession, lapsed bool) {
	delete(w.sessions, s.id)
	for _, m := range w.ordered(w.msgs) {
		if m.holder != s {
			continue
		}
		if lapsed {
			w.fail(m, s.until, true)
		} else {
			m.unlock()
		}
	}
}

// purge removes the expired messages that are not locked, as the reaper does.
func (w *queueModel) purge() {
	for _, m := range w.ordered(w.msgs) {
		if !m.locked() && w.expired(m, w.now) {
			w.lapse(m)
		}
	}
}

// available returns the messages of a session that can be received now. Without sessions, session is "".
func (w *queueModel) available(session string) (list []*modelMessage) {
	for _, m := range w.ordered(w.msgs) {
		if m.state == layout.Active && !m.locked() && !w.expired(m, w.now) && m.session == session {
			list = append(list, m)
		}
	}
	return list
}

// nextSession returns the unlocked session with the oldest message. ok is false if there is none.
func (w *queueModel) nextSession() (id string, ok bool) {
	for _, m := range w.ordered(w.msgs) {
		if m.state == layout.Active && !w.expired(m, w.now) && w.sessions[m.session] == nil {
			return m.session, true
		}
	}
	return "", false
}

// lines returns one line of text for each message that the queue and the dead-letter queue must have.
// Expired messages that are not locked are omitted, because they may have been purged.
func (w *queueModel) lines() (main, dead []string) {
	for _, m := range w.ordered(w.msgs) {
		if m.locked() || !w.expired(m, w.now) {
			main = append(main, line(m.seq, m.text, m.state, m.count, m.enqueued, m.ttl, m.due))
		}
	}
	for _, m := range w.ordered(w.dead) {
		dead = append(dead, fmt.Sprintf("%d %s +%d %s", m.seq, m.text, m.count, m.reason))
	}
	return main, dead
}

func line(seq int64, text string, st layout.MessageState, count int32, enqueued, ttl, due int64) string {
	return fmt.Sprintf("%d %s state=%d +%d enqueued=%d ttl=%d due=%d",
		seq, text, st, count, enqueued, ttl, due)
}
