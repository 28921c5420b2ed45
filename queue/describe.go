package queue

import (
	"context"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/view"
)

// Get returns one entity with its counts. It does not count as activity of the entity (AutoDeleteOnIdle).
func (q *Queues) Get(ctx context.Context, path string) (entity.Entity, error) {
	m, err := q.dataset()
	if err != nil {
		return entity.Entity{}, err
	}
	if err := m.learn(ctx); err != nil {
		return entity.Entity{}, err
	}
	if err := m.bringDue(ctx); err != nil {
		return entity.Entity{}, err
	}
	e, err := m.findPath(path)
	if err != nil {
		return entity.Entity{}, err
	}
	return m.entity(ctx, e)
}

// List returns queues, topics, or the subscriptions of a topic, according to kind, sorted by name. It skips
// the first skip entities and returns at most top. topic is used for subscriptions only.
func (q *Queues) List(ctx context.Context, kind entity.Kind, topic string,
	skip, top int) ([]entity.Entity, error) {
	m, err := q.dataset()
	if err != nil {
		return nil, err
	}
	if err := m.learn(ctx); err != nil {
		return nil, err
	}
	if err := m.bringDue(ctx); err != nil {
		return nil, err
	}
	var all []*entityState
	if kind == entity.Subscription {
		t, err := m.findKind(topic, entity.Topic)
		if err != nil {
			return nil, err
		}
		all = *t.children.Load()
	} else {
		all = slices.Clone(m.list())
		sortByPath(all)
	}
	var list []*entityState
	for _, e := range all {
		if e.kind != kind {
			continue
		}
		idle, err := m.isIdle(ctx, e)
		if err != nil {
			return nil, err
		}
		if !idle {
			list = append(list, e)
		}
	}
	list = page(list, skip, top)
	out := make([]entity.Entity, 0, len(list))
	for _, e := range list {
		one, err := m.entity(ctx, e)
		if entity.ErrorCodeOf(err) == entity.CodeEntityNotFound && err != nil {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// entity returns the description of an entity, with its counts.
func (m *loadedEntities) entity(ctx context.Context, e *entityState) (entity.Entity, error) {
	out := entity.Entity{
		Kind:       e.kind,
		Path:       e.path,
		Properties: *e.properties.Load(),
		Created:    moment(e.created),
		Updated:    moment(e.updated.Load()),
		Accessed:   accessedAt(e),
	}
	err := m.in.Engine().View(ctx, func(r engine.Reader) error {
		if m.shared {
			u, err := view.ReadUse(r, e.number)
			if err != nil {
				return err
			}
			e.noteUse(u)
			out.Accessed = accessedAt(e)
		}
		for sub, s := range e.stores {
			if s == nil {
				continue
			}
			c, err := s.ReadCounters(r)
			if err != nil {
				return err
			}
			out.Bytes += c.Bytes
			switch entity.SubQueue(sub) {
			case entity.Main:
				out.Counts.Active, out.Counts.Scheduled = c.Active, c.Scheduled
			case entity.DeadLetters:
				out.Counts.DeadLetter = c.Active
			case entity.TransferDeadLetters:
				out.Counts.TransferDeadLetter = c.Active
			}
		}
		return nil
	})
	if e.kind == entity.Topic {
		out.Subscriptions = len(*e.children.Load())
		out.SQLFilters, out.CorrelationFilters = e.ruleCounts()
	}
	return out, wrap(err)
}

func accessedAt(e *entityState) (at time.Time) {
	if ms := e.accessed.Load(); ms > 0 {
		at = moment(ms)
	}
	return at
}
