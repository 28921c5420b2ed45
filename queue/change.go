package queue

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
)

// Update replaces the properties of an entity. If a property has changed, all locks on the entity's
// messages are lost. Errors: CodeEntityNotFound, CodeArgument for an immutable property,
// CodeArgumentOutOfRange.
func (q *Queues) Update(ctx context.Context, path string, p entity.Properties) (entity.Entity, error) {
	return q.Change(ctx, path, func(now *entity.Properties) error {
		*now = p
		return nil
	})
}

// Change changes properties of an entity: fn receives the current ones and modifies them. No other change
// can happen in between. If a property has changed, all locks on the entity's messages are lost. Errors:
// CodeEntityNotFound, CodeArgument for an immutable property, CodeArgumentOutOfRange, and errors of fn.
func (q *Queues) Change(ctx context.Context, path string,
	fn func(p *entity.Properties) error) (entity.Entity, error) {
	var e *entityState
	err := host.RetryMoved(func() (err error) {
		e, err = q.changeOnce(ctx, path, fn)
		return err
	})
	if err != nil {
		return entity.Entity{}, err
	}
	for _, s := range e.stores {
		if s != nil && s.forwardsTo() != "" {
			e.m.forward(ctx, []*inMemoryMessageStoreState{s})
		}
	}
	return e.m.entity(ctx, e)
}

func (q *Queues) changeOnce(ctx context.Context, path string,
	fn func(p *entity.Properties) error) (*entityState, error) {
	m, leave, err := q.manage(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	e, err := m.findPath(path)
	if err != nil {
		return nil, err
	}
	p, err := m.changedProperties(e, fn)
	if err != nil {
		return nil, err
	}
	for _, s := range e.stores {
		if s != nil {
			if err := s.catchUp(ctx); err != nil { // messages that are due by now follow the old properties
				return nil, err
			}
		}
	}
	same := p.Equal(e.properties.Load())
	rec := e.record()
	rec.Updated = m.in.Clock().Millis()
	rec.Properties = p
	var version uint64
	var unlocked *messageTx
	err = m.in.Catalog().Change(ctx, func(t *host.CatalogTxn) (err error) {
		version = m.changeVersion(t, e.scope)
		if unlocked = nil; m.shared && !same {
			if unlocked, err = m.unlockEntity(t.Txn, e); err != nil {
				return err
			}
		}
		return host.SetRecord(t, rec.Key(), rec)
	}, e.scope)
	if err != nil {
		return nil, wrap(err)
	}
	m.changed(ctx, e.top(), version, func() { e.adopt(&rec, e.rules.Load()) })
	if unlocked != nil {
		unlocked.tell()
	}
	return e, nil
}

// unlockEntity ends all stored locks of an entity's messages, in a transaction that changes the entity.
func (m *loadedEntities) unlockEntity(t engine.Txn, e *entityState) (*messageTx, error) {
	w := m.begin(t)
	for _, s := range e.stores {
		if s != nil {
			if err := w.unlockAll(s); err != nil {
				return nil, err
			}
		}
	}
	w.finish()
	return w, nil
}

// changedProperties returns the properties of the entity e as fn changes them, with defaults filled in. It
// returns an error if fn fails, if they are invalid, or if fn has changed one that cannot be changed. e
// itself stays unchanged.
func (m *loadedEntities) changedProperties(e *entityState,
	fn func(p *entity.Properties) error) (entity.Properties, error) {
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
