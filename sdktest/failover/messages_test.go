package failover

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

// messageObservations holds what the clients have observed of each message, by id, and the violations that
// they have noticed.
type messageObservations struct {
	mu     sync.Mutex
	known  map[string]*modelMessage
	acks   ackStatistics
	faults violationList
}

// modelMessage is what the clients have observed of one message.
type modelMessage struct {
	acked     bool      // its sender was told that it is stored
	ending    bool      // a receiver has asked to complete it
	completed time.Time // when it was told that it is; zero: it was not
	locks     []lockInterval
}

// lockInterval is the time from began to ends in which a receiver had the lock of a message, by the
// server's clock.
type lockInterval struct {
	receiver    int
	began, ends time.Time
}

func (l lockInterval) String() string {
	return fmt.Sprintf("the lock of %d from %v to %v", l.receiver, l.began.Format(time.StampMilli),
		l.ends.Format(time.StampMilli))
}

// change calls fn, with m locked, to change what is recorded of the message with this id.
func (m *messageObservations) change(id string, fn func(*modelMessage)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[id] == nil {
		m.known[id] = &modelMessage{}
	}
	fn(m.known[id])
}

// send sends messages to one server until the load ends. A message that was not acknowledged is not sent
// again.
func (l *combinedWorkload) send(s *mayflyServer, number int) {
	for try := 0; l.life.Err() == nil; try++ {
		l.sendOver(s, fmt.Sprintf("%d-%d", number, try))
		l.rest()
	}
}

// sendOver sends messages over one connection to a server, until there is an error or the load ends. Their
// ids begin with name.
func (l *combinedWorkload) sendOver(s *mayflyServer, name string) {
	c := s.bus(l.t)
	defer closeClient(c)
	q, err := c.NewSender(queueName, nil)
	if err != nil {
		return
	}
	for n := 0; l.life.Err() == nil; n++ {
		id := fmt.Sprintf("%s-%d", name, n)
		l.messages.change(id, func(*modelMessage) {})
		ctx, cancel := context.WithTimeout(l.life, time.Minute)
		err := q.SendMessage(ctx, &sb.Message{MessageID: &id, Body: make([]byte, 200)}, nil)
		cancel()
		if err != nil {
			return
		}
		l.messages.change(id, func(m *modelMessage) { m.acked = true })
		l.messages.acks.add()
	}
}

// receive receives messages from one server and completes two of three, until the load ends. The others keep
// their locks.
func (l *combinedWorkload) receive(s *mayflyServer, number int) {
	for l.life.Err() == nil {
		l.receiveOver(s, number)
		l.rest()
	}
}

func (l *combinedWorkload) receiveOver(s *mayflyServer, number int) {
	c := s.bus(l.t)
	defer closeClient(c)
	q, err := c.NewReceiverForQueue(queueName, nil)
	if err != nil {
		return
	}
	for l.life.Err() == nil {
		ctx, cancel := context.WithTimeout(l.life, time.Minute)
		list, err := q.ReceiveMessages(ctx, 10, nil)
		for _, m := range list {
			l.received(m, number)
		}
		for i, m := range list {
			if err != nil || i%3 == 2 {
				continue
			}
			l.messages.change(m.MessageID, func(m *modelMessage) { m.ending = true })
			if err = q.CompleteMessage(ctx, m, nil); err == nil {
				l.messages.change(m.MessageID, func(m *modelMessage) { m.completed = time.Now() })
				l.messages.acks.add()
			}
		}
		cancel()
		if err != nil {
			return
		}
	}
}

// received records that the receiver with the number by has received a message. It is a violation if the
// lock began after the message was completed, or overlaps another lock of the message. The beginning of
// the lock is compared, since the client may have read the message from the connection much later.
func (l *combinedWorkload) received(r *sb.ReceivedMessage, by int) {
	has := lockInterval{receiver: by, began: r.LockedUntil.Add(-lockTime), ends: *r.LockedUntil}
	l.messages.change(r.MessageID, func(m *modelMessage) {
		if !m.completed.IsZero() && has.began.After(m.completed) {
			l.messages.faults.add(fmt.Sprintf("message %s was completed at %v: %v", r.MessageID, m.completed,
				has))
		}
		for _, other := range m.locks {
			if has.began.Before(other.ends) && other.began.Before(has.ends) {
				l.messages.faults.add(fmt.Sprintf("message %s: %v and %v", r.MessageID, other, has))
			}
		}
		m.locks = append(m.locks, has)
	})
}

func closeClient(c *sb.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = c.Close(ctx) // its connection may be broken
}

// checkMessages receives all messages that are left, and fails the test if an acknowledged message is lost
// or stored twice, or a completed one is still there.
func (l *combinedWorkload) checkMessages() {
	left := l.drain()
	r := &l.result
	acked, completed := 0, 0
	for id, m := range l.messages.known {
		n := left[id]
		delete(left, id)
		switch {
		case !m.completed.IsZero() && n > 0:
			r.wrong++
			l.t.Errorf("message %s is there after it was completed", id)
		case n > 1:
			r.twice++
			l.t.Errorf("message %s is there %d times: %+v", id, n, *m)
		case m.acked && !m.ending && n == 0:
			r.lost++
			l.t.Errorf("message %s is lost: %+v", id, *m)
		}
		if m.acked {
			acked++
		} else {
			r.unknown++
		}
		if !m.completed.IsZero() {
			completed++
		}
	}
	for id := range left {
		r.wrong++
		l.t.Errorf("nobody sent message %s", id)
	}
	r.acknowledged += acked + completed
	l.t.Logf("%d messages acknowledged, %d completed", acked, completed)
}

// drain receives and completes all messages, from all servers in turn, and returns how often each id was
// received. A locked message is received when its lock ends.
func (l *combinedWorkload) drain() map[string]int {
	left := map[string]int{}
	end := time.Now().Add(time.Minute + lockTime)
	for n := 0; l.active() > 0; n++ {
		if time.Now().After(end) {
			l.t.Errorf("%d messages do not come out", l.active())
			break
		}
		l.drainFrom(l.servers[n%len(l.servers)], left)
	}
	return left
}

// drainFrom receives messages from one server and completes them, until none arrives for a second. It
// counts them in left by id.
func (l *combinedWorkload) drainFrom(s *mayflyServer, left map[string]int) {
	c := s.bus(l.t)
	defer closeClient(c)
	q, err := c.NewReceiverForQueue(queueName, nil)
	must(l.t, err)
	for {
		ctx, cancel := context.WithTimeout(l.t.Context(), time.Second)
		list, err := q.ReceiveMessages(ctx, 100, nil)
		cancel()
		for _, m := range list {
			must(l.t, q.CompleteMessage(l.t.Context(), m, nil))
			left[m.MessageID]++
		}
		if err != nil {
			return
		}
	}
}

// active returns how many messages the queue has.
func (l *combinedWorkload) active() int {
	var q struct{ Active int }
	out := l.servers[0].mayfly(l.t, "queue", "show", queueName, "--json")
	must(l.t, json.Unmarshal([]byte(out), &q))
	return q.Active
}
