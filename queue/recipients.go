package queue

import (
	"context"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// Recipients returns the paths of the subscriptions that would receive the message if it were sent to the
// topic now, in the order of their numbers. For a queue it returns none. Errors: CodeEntityNotFound, and the
// errors of Send for a message that is refused.
func (q *Queues) Recipients(ctx context.Context, to entity.Address, m *message.Message) ([]string, error) {
	e, arrivals, err := q.accept(ctx, to, []*message.Message{m})
	if err != nil || e.kind != entity.Topic {
		return nil, err
	}
	h := layout.MessageHeader{Session: arrivals[0].Session, TTL: arrivals[0].TTL, Enqueued: e.m.in.Clock().Millis()}
	var paths []string
	for _, c := range e.fanOut().Match(arrivals[0].msg, &h) {
		paths = append(paths, c.To.path)
	}
	return paths, nil
}
