package queue

import (
	"context"

	"github.com/mayflydb/mayfly/queue/entity"
)

// hasEnded returns the error with which receivers must end, for example because the entity was deleted, and
// nil as long as the store accepts receivers.
func (s *inMemoryMessageStoreState) hasEnded() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		return nil
	}
	return s.ended
}

// Await waits until the function until returns true for an entity, and returns the entity. It does not count
// as activity of the entity (AutoDeleteOnIdle). Errors: CodeEntityNotFound, also if the entity is deleted
// during the wait; CodeTimeout if ctx ends first; CodeCancelled if the server stops or restores a snapshot.
func (q *Queues) Await(ctx context.Context, path string,
	until func(entity.Entity) bool) (entity.Entity, error) {
	for {
		is, done, err := q.awaitChange(ctx, path, until)
		if done || err != nil {
			return is, err
		}
	}
}

// awaitChange returns the entity and done = true if until returns true for it, or an error if it cannot be
// read. Otherwise it waits for the next change of the entity and returns done = false.
func (q *Queues) awaitChange(ctx context.Context, path string,
	until func(entity.Entity) bool) (is entity.Entity, done bool, err error) {
	m, err := q.dataset()
	if err != nil {
		return is, false, err
	}
	e, err := m.lookupPath(ctx, path)
	if err != nil {
		return is, false, err
	}
	e.awaiting.Add(1)
	defer e.awaiting.Add(-1)
	m.in.Awaiting([][]byte{e.scope})
	changed := e.changes.Changed() // called before Get, so that no change between the two is missed
	if ended := e.stores[entity.Main].hasEnded(); ended != nil {
		return is, false, ended
	}
	is, err = q.Get(ctx, path)
	if ctx.Err() == nil && (err != nil || until(is)) {
		return is, true, err
	}
	select {
	case <-ctx.Done():
		return is, false, &entity.Error{Code: entity.CodeTimeout, Entity: e.path,
			Message: "'" + e.path + "' did not become as it was waited for in time."}
	case <-changed:
		return is, false, nil
	}
}
