package queue

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/internal/record"
)

// queuesTenantAdapter implements host.Tenant for Queues: through it the host opens queues and topics on an
// engine.
type queuesTenantAdapter struct{ q *Queues }

// KeySpace implements host.Tenant: it returns the ranges of keys and the kinds of catalog records that
// belong to queues and topics.
func (queuesTenantAdapter) KeySpace() host.TenantKeySpace {
	return host.TenantKeySpace{Name: "queues", Kinds: string([]byte{record.KindEntity, record.KindRule}),
		First: 0x40, Last: 0x7F}
}

// Scopes implements host.Tenant: it returns the engine scopes of all queues and topics.
func (queuesTenantAdapter) Scopes(r engine.Reader) (list [][]byte, err error) {
	err = host.ScanRecords(r, record.KindEntity, func(_ []byte, rec record.EntityRecord) error {
		if rec.Topic == 0 {
			list = append(list, rec.Scope())
		}
		return nil
	})
	return list, err
}

// loadEntity creates the state in memory of a stored entity.
func (m *loadedEntities) loadEntity(r engine.Reader, st *record.EntityWithRules) (*entityState, error) {
	e := m.add(st.Rec)
	e.rules.Store(st.Rules)
	for _, s := range e.stores {
		if s == nil {
			continue
		}
		if err := s.load(r); err != nil {
			m.forget([]*entityState{e})
			return nil, err
		}
	}
	m.recordTime(max(st.Rec.Created, st.Rec.Updated))
	return e, nil
}

// dropRecords deletes the records of an entity, with those of its rules.
func dropRecords(t *host.CatalogTxn, e *entityState) {
	rec := e.record()
	t.Delete(rec.Key())
	for _, r := range e.rules.Load().List {
		dropRule(t, e, r.Name)
	}
}

func dropRule(t *host.CatalogTxn, e *entityState, name string) {
	t.Delete(record.Key(record.KindRule, e.number, name))
}
