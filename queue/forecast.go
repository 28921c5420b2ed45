package queue

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// Deadlines calls fn with the moment in which each message of a store expires; mortal is false for one that
// never does: a deferred one, a dead letter, one without a time to live, and one that is scheduled, whose
// life has not begun. What has expired and is not purged yet is among them. fn ends it by returning false.
func (q *Queues) Deadlines(ctx context.Context, a entity.Address,
	fn func(at time.Time, mortal bool) bool) error {
	s, err := q.store(a)
	if err != nil {
		return err
	}
	return wrap(s.e.m.in.Engine().View(ctx, func(r engine.Reader) error {
		return s.eachHeader(ctx, r, 0, func(_ int64, h layout.Header) (bool, error) {
			at := s.expires(&h)
			if at == host.Never {
				return fn(time.Time{}, false), nil
			}
			return fn(moment(at), true), nil
		})
	}))
}
