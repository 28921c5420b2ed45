package queue

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// Deadlines calls fn with the expiry time of each message of a store. mortal reports whether the message
// expires. It is false for a deferred message, a dead letter, a message without a time to live, and a
// scheduled message, whose time to live has not begun. Expired messages that have not been purged yet are
// included. Deadlines stops as soon as fn returns false.
func (q *Queues) Deadlines(ctx context.Context, a entity.Address,
	fn func(at time.Time, mortal bool) bool) error {
	s, err := q.store(ctx, a)
	if err != nil {
		return err
	}
	return wrap(s.e.m.in.Engine().View(ctx, func(r engine.Reader) error {
		return s.EachHeader(ctx, r, 0, func(_ int64, h layout.MessageHeader) (bool, error) {
			at := s.expires(&h)
			if at == host.Never {
				return fn(time.Time{}, false), nil
			}
			return fn(moment(at), true), nil
		})
	}))
}
