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

const topicName = "topic"

// maxSubscriptions is the number of subscriptions that a simulation creates.
const maxSubscriptions = 6

// topicHistory has the messages that were sent to a topic, and its subscriptions, which are created
// meanwhile. A message whose send was acknowledged must be, once, in each subscription whose creation was
// acknowledged before the send began.
type topicHistory struct {
	w             *RunningSimulation
	mu            sync.Mutex // guards the following fields
	messages      []*topicMessage
	subscriptions []*topicSubscription
}

// topicMessage is a message that was sent to the topic.
type topicMessage struct {
	id      string
	began   time.Time // of the send
	sent    bool      // the send was acknowledged
	refused bool      // the send failed for certain
}

// topicSubscription is a subscription of the topic. created is the time at which its creation was
// acknowledged; zero: it was not.
type topicSubscription struct {
	path    string
	created time.Time
}

// create creates the topic of the simulation.
func (h *topicHistory) create(ctx context.Context, s *simulatedMayflyServer) error {
	_, err := s.queues.Create(ctx, entity.Topic, topicName, entity.Defaults(entity.Topic))
	return err
}

// send sends messages to the topic until ctx ends.
func (h *topicHistory) send(ctx context.Context, c *client) {
	for c.think(ctx, 500*time.Millisecond) {
		c.made++
		m := &topicMessage{id: fmt.Sprintf("%s-%d", c.name, c.made), began: h.w.now()}
		h.mu.Lock()
		h.messages = append(h.messages, m)
		h.mu.Unlock()
		err, lost := c.call("send to the topic "+m.id,
			func(ctx context.Context, s *simulatedMayflyServer) error {
				list := []*message.Message{message.New([]byte(m.id))}
				return s.queues.Send(ctx, address(topicName), list, nil)
			})
		h.mu.Lock()
		switch {
		case lost:
		case err == nil:
			m.sent = true
		case entity.ErrorCodeOf(err) == entity.CodeInternal:
			h.w.violate("a send of %s to the topic fails with %v", m.id, err)
		case !uncertain(err):
			m.refused = true
		}
		h.mu.Unlock()
	}
}

// subscribe creates subscriptions of the topic, one after the other, until ctx ends or there are
// maxSubscriptions.
func (h *topicHistory) subscribe(ctx context.Context, c *client) {
	p := entity.Defaults(entity.Subscription)
	p.LockDuration = lockDuration
	for c.think(ctx, 5*time.Second) && c.made < maxSubscriptions {
		c.made++
		sub := &topicSubscription{path: entity.SubscriptionPath(topicName, fmt.Sprintf("s%d", c.made))}
		err, lost := c.call("create "+sub.path, func(ctx context.Context, s *simulatedMayflyServer) error {
			_, err := s.queues.Create(ctx, entity.Subscription, sub.path, p)
			return err
		})
		if code := entity.ErrorCodeOf(err); err != nil && !lost &&
			(code == entity.CodeInternal || code == entity.CodeEntityNotFound) {
			h.w.violate("%s cannot be created: %v", sub.path, err)
		}
		if err == nil && !lost {
			sub.created = h.w.now()
		}
		h.mu.Lock()
		h.subscriptions = append(h.subscriptions, sub)
		h.mu.Unlock()
	}
}

// check receives all messages of the subscriptions and compares them with what was sent.
func (h *topicHistory) check(ctx context.Context, s *simulatedMayflyServer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, sub := range h.subscriptions {
		received := h.drain(ctx, s, sub)
		for _, m := range h.messages {
			n := received[m.id]
			delete(received, m.id)
			switch {
			case n > 1:
				h.w.violate("%s is %d times in %s", m.id, n, sub.path)
			case n == 1 && m.refused:
				h.w.violate("%s is in %s, but its send was refused", m.id, sub.path)
			case n == 0 && m.sent && !sub.created.IsZero() && sub.created.Before(m.began):
				h.w.violate("%s is lost: it is not in %s", m.id, sub.path)
			}
		}
		if len(received) > 0 {
			h.w.violate("%s has %d messages that nobody has sent", sub.path, len(received))
		}
	}
}

// drain receives all messages of a subscription and counts them by their ids.
func (h *topicHistory) drain(ctx context.Context, s *simulatedMayflyServer,
	sub *topicSubscription) map[string]int {
	received := make(map[string]int)
	r, err := s.queues.OpenReceiver(ctx, address(sub.path),
		queue.ReceiverOptions{Mode: queue.ReceiveAndDelete})
	if err != nil {
		if !sub.created.IsZero() {
			h.w.violate("%s is lost: %v", sub.path, err)
		}
		return received
	}
	defer r.Close()
	for {
		list, err := r.TryReceive(ctx, 100)
		if err != nil {
			h.w.violate("a receive from %s fails at the end: %v", sub.path, err)
		}
		for i := range list {
			body, _ := list[i].Message.Data()
			received[string(body)]++
		}
		if len(list) == 0 {
			return received
		}
	}
}
