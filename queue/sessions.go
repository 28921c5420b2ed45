package queue

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
)

// Sessions returns the ids of the sessions that have active messages or a state, in order. If changed is
// set, it returns only sessions whose state has changed after that time. It skips the first skip sessions
// and returns at most top.
func (q *Queues) Sessions(ctx context.Context, a entity.Address, changed *time.Time,
	skip, top int) (ids []string, err error) {
	s, err := q.store(ctx, a)
	if err != nil {
		return nil, err
	}
	if err := s.readable(); err != nil {
		return nil, err
	}
	if !s.BySession {
		return nil, s.NotAllowed("The entity does not require sessions.")
	}
	s.e.recordUse(s.now())
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) (err error) {
		ids, err = s.ListSessions(ctx, r, changed, skip, top)
		return err
	})
	if err == nil {
		err = s.e.m.in.Engine().Settle(ctx, s.e.scope, 0)
	}
	return ids, wrap(err)
}
