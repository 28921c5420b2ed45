package queue

import (
	"context"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
)

// Update replaces the properties of an entity; see Change.
func (q *Queues) Update(ctx context.Context, path string, p entity.Properties) (entity.Entity, error) {
	return q.Change(ctx, path, func(now *entity.Properties) error {
		*now = p
		return nil
	})
}

// Change changes properties of an entity: fn receives the current ones and modifies them. No other change
// can happen in between. All locks on the entity's messages are lost, unless the properties remain equal.
// Errors: CodeEntityNotFound, CodeArgument for an immutable property, CodeArgumentOutOfRange, and errors of
// fn.
func (q *Queues) Change(ctx context.Context, path string,
	fn func(p *entity.Properties) error) (entity.Entity, error) {
	m, leave, err := q.manage(ctx)
	if err != nil {
		return entity.Entity{}, err
	}
	defer leave()
	e, err := m.findPath(path)
	if err != nil {
		return entity.Entity{}, err
	}
	p, err := m.changed(e, fn)
	if err != nil {
		return entity.Entity{}, err
	}
	for _, s := range e.stores {
		if s != nil {
			if err := s.catchUp(ctx); err != nil { // messages due until now follow the old properties
				return entity.Entity{}, err
			}
		}
	}
	same := p.Equal(e.properties.Load())
	rec := e.record()
	rec.Updated = m.in.Clock().Millis()
	rec.Properties = p
	err = m.in.Catalog().Change(ctx, func(t *host.Change) error { return host.SetRecord(t, rec.key(), rec) },
		e.scope)
	if err != nil {
		return entity.Entity{}, wrap(err)
	}
	m.note(rec.Updated)
	e.updated.Store(rec.Updated)
	if same { // locks and links survive an update without effect
		return m.entity(ctx, e)
	}
	e.properties.Store(&p)
	e.generation.Add(1)
	for _, s := range e.stores {
		if s != nil {
			s.changed()
		}
	}
	m.idler.wakeUp()
	m.q.changes.Notify()
	for _, s := range e.stores {
		if s != nil && s.forwardsTo() != "" {
			m.forward(ctx, []*messageStore{s})
		}
	}
	return m.entity(ctx, e)
}

// changed returns the properties of e after fn, completed and validated.
func (m *dataset) changed(e *entityState, fn func(p *entity.Properties) error) (entity.Properties, error) {
	p := *e.properties.Load()
	err := fn(&p)
	if err == nil {
		p, err = p.Complete(e.kind, e.path, m.opts.Basic)
	}
	if err == nil {
		err = m.checkTargets(e.path, &p)
	}
	if err == nil {
		err = p.CheckImmutable(e.kind, e.path, e.properties.Load())
	}
	return p, err
}
