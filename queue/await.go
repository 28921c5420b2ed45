package queue

import "github.com/mayflydb/mayfly/queue/entity"
import "context"

// hasEnded reports why the store takes no receivers any more; nil: it does.
func (s *messageStore) hasEnded() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		return nil
	}
	return s.ended
}

// Await waits until an entity is as until wants it, and returns how it is. It is no activity of the entity.
// Errors: CodeEntityNotFound, also where it is deleted meanwhile, and CodeTimeout where ctx ends before,
// CodeCancelled where the server stops or is put back to a snapshot.
func (q *Queues) Await(ctx context.Context, path string,
	until func(entity.Entity) bool) (entity.Entity, error) {
	for {
		m, err := q.dataset()
		if err != nil {
			return entity.Entity{}, err
		}
		e, err := m.findPath(path)
		if err != nil {
			return entity.Entity{}, err
		}
		changed := e.changes.Changed() // before the look, so that nothing comes between
		if ended := e.stores[entity.Main].hasEnded(); ended != nil {
			return entity.Entity{}, ended
		}
		is, err := q.Get(ctx, path)
		if ctx.Err() == nil && (err != nil || until(is)) {
			return is, err
		}
		select {
		case <-ctx.Done():
			return is, &entity.Error{Code: entity.CodeTimeout, Entity: e.path,
				Message: "'" + e.path + "' did not become as it was waited for in time."}
		case <-changed:
		}
	}
}
