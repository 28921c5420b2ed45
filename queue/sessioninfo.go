package queue

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// SessionInfo describes one session of an entity.
type SessionInfo struct {
	ID       string
	Messages int    // active messages, at most MaxCounted
	State    []byte // nil: none
	Locked   bool
	Holder   string    // the name of the receiver that holds the lock
	Until    time.Time // when the lock ends
}

// MaxCounted is the number of messages of a session at which counting stops.
const MaxCounted = 10_000

// InspectSessions describes the sessions that have active messages or a state, in the order of their ids.
// It skips the first skip sessions and returns at most top. It takes no locks. Errors: see Sessions.
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
	var locked lockState
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) (err error) {
		if locked, err = s.table.inspect(r, ids, nil); err != nil {
			return err
		}
		for i, id := range ids {
			list[i].ID = id
			if list[i].Messages, err = s.countActive(ctx, r, id); err != nil {
				return err
			}
			if list[i].State, err = s.sessionState(r, id); err != nil {
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
		if l, ok := locked.sessions[list[i].ID]; ok {
			list[i].Locked, list[i].Holder, list[i].Until = true, l.Holder, moment(l.Until)
		}
	}
	return list, nil
}

// countActive counts the active messages of a session, MaxCounted at most.
func (s *messageStore) countActive(ctx context.Context, r engine.Reader, id string) (n int, err error) {
	if n, err = s.countReady(ctx, r, id); err != nil || !s.e.m.shared {
		return n, err
	}
	var keys [][]byte
	it := r.Scan(engine.Prefix(s.keys.HeldPrefix(id)), false)
	for n+len(keys) < MaxCounted && it.Next() {
		keys = append(keys, s.keys.Key(layout.FamilyMessage, layout.SeqOf(it.Key())))
	}
	if err := it.Close(); err != nil {
		return n, err
	}
	return n, engine.GetEach(r, keys, func(_ int, v []byte) (bool, error) {
		h, err := layout.DecodeHeader(v)
		if err == nil && h.State == layout.Active {
			n++
		}
		return true, err
	})
}

// countReady counts the active messages of a session that have no stored lock, MaxCounted at most.
func (s *messageStore) countReady(ctx context.Context, r engine.Reader, id string) (n int, err error) {
	it := r.Scan(engine.Prefix(s.keys.SessionPrefix(id)), false)
	for n < MaxCounted && it.Next() {
		if n++; n%maxLook == 0 && ctx.Err() != nil {
			err = ctx.Err()
			break
		}
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return n, err
}
