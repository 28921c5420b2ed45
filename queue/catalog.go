package queue

import (
	"strings"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// Entities and rules are records of the host's catalog:
//
//	00 · q · 0 · name       a queue or topic
//	00 · q · topic · name   a subscription of it
//	00 · y · subscription · name   a rule of it
//
// topic and subscription are the catalog's numbers of these entities. Names are in lower case, escaped and
// terminated.
const (
	kindEntity = 'q'
	kindRule   = 'y'
)

// entityRecord is the stored form of an entity in the catalog. Times are milliseconds since 1970.
type entityRecord struct {
	Number     uint32            `json:"number"`
	Kind       entity.Kind       `json:"kind"`
	Path       string            `json:"path"` // in the spelling of the client that created it
	Topic      uint32            `json:"topic,omitempty"`
	Created    int64             `json:"created"`
	Updated    int64             `json:"updated"`
	Accessed   int64             `json:"accessed,omitempty"` // as of the last orderly shutdown
	Properties entity.Properties `json:"properties"`
}

func recordKey(kind byte, parent uint32, name string) []byte {
	return jsondoc.AppendEscaped(host.AppendCatalogHead(nil, kind, parent), []byte(strings.ToLower(name)))
}

// key returns the record's key. A subscription is keyed by the last segment of its path.
func (r *entityRecord) key() []byte {
	name := r.Path
	if r.Topic != 0 {
		_, name, _ = entity.SplitSubscription(r.Path)
	}
	return recordKey(kindEntity, r.Topic, name)
}

// scope returns the engine scope of the entity: a subscription lies in the scope of its topic.
func (r *entityRecord) scope() []byte {
	if r.Topic != 0 {
		return layout.EntityPrefix(r.Topic)
	}
	return layout.EntityPrefix(r.Number)
}

// tenant implements host.Tenant for queues.
type tenant struct{ q *Queues }

// KeySpace implements host.Tenant.
func (tenant) KeySpace() host.KeySpace {
	return host.KeySpace{Name: "queues", Kinds: string([]byte{kindEntity, kindRule}), First: 0x40, Last: 0x7F}
}

// Scopes implements host.Tenant.
func (tenant) Scopes(r engine.Reader) (list [][]byte, err error) {
	err = host.ScanRecords(r, kindEntity, func(_ []byte, rec entityRecord) error {
		if rec.Topic == 0 {
			list = append(list, rec.scope())
		}
		return nil
	})
	return list, err
}

// loadEntity creates the state in memory of a stored entity.
func (m *dataset) loadEntity(r engine.Reader, st *storedEntity) (*entityState, error) {
	e := m.add(st.rec)
	e.rules.Store(st.rules)
	for _, s := range e.stores {
		if s == nil {
			continue
		}
		if err := s.load(r); err != nil {
			m.forget([]*entityState{e})
			return nil, err
		}
	}
	m.recordTime(max(st.rec.Created, st.rec.Updated))
	return e, nil
}

// dropRecords deletes the records of an entity, with those of its rules.
func dropRecords(t *host.Change, e *entityState) {
	rec := e.record()
	t.Delete(rec.key())
	for _, r := range e.rules.Load().list {
		dropRule(t, e, r.Name)
	}
}

func dropRule(t *host.Change, e *entityState, name string) {
	t.Delete(recordKey(kindRule, e.number, name))
}
