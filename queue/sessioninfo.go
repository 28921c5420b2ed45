package queue

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/view"
)

// SessionInfo describes one session of an entity.
type SessionInfo struct {
	ID       string
	Messages int    // active messages; counting stops at MaxCounted
	State    []byte // nil: none
	Locked   bool
	Holder   string    // the name of the receiver that holds the lock
	Until    time.Time // when the lock ends
}

// MaxCounted is the number at which the counting of a session's messages stops.
const MaxCounted = 10_000

// InspectSessions describes the sessions that have active messages or a state, in the order of their ids. It
// skips the first skip sessions and returns at most top. It takes no locks. Errors: CodeEntityNotFound,
// CodeEntityDisabled if the entity is disabled for receiving, and CodeNotAllowed if it does not require
// sessions.
func (q *Queues) InspectSessions(ctx context.Context, a entity.Address,
	skip, top int) ([]SessionInfo, error) {
	ids, err := q.Sessions(ctx, a, nil, skip, top)
	if err != nil {
		return nil, err
	}
	s, err := q.store(ctx, a)
	if err != nil {
		return nil, err
	}
	list := make([]SessionInfo, len(ids))
	var locked view.MessageAndSessionLocks
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) (err error) {
		if locked, err = s.table.inspect(r, ids, nil); err != nil {
			return err
		}
		for i, id := range ids {
			list[i].ID = id
			if list[i].Messages, err = s.CountActive(ctx, r, id, MaxCounted); err != nil {
				return err
			}
			if list[i].State, err = s.SessionState(r, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = s.e.m.in.Engine().Settle(ctx, s.e.scope, 0)
	}
	if err != nil {
		return nil, wrap(err)
	}
	for i := range list {
		if l, ok := locked.Sessions[list[i].ID]; ok {
			list[i].Locked, list[i].Holder, list[i].Until = true, l.Holder, moment(l.Until)
		}
	}
	return list, nil
}
