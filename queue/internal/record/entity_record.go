package record

import (
	"encoding/binary"
	"fmt"
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
	KindEntity = 'q'
	KindRule   = 'y'
)

// EntityRecord is the stored form of an entity in the catalog. Times are milliseconds since 1970.
type EntityRecord struct {
	Number     uint32            `json:"number"`
	Kind       entity.Kind       `json:"kind"`
	Path       string            `json:"path"` // in the spelling of the client that created it
	Topic      uint32            `json:"topic,omitempty"`
	Created    int64             `json:"created"`
	Updated    int64             `json:"updated"`
	Accessed   int64             `json:"accessed,omitempty"` // as of the last orderly shutdown of the server
	Properties entity.Properties `json:"properties"`
}

// Key returns the catalog key of an entity or rule. parent is the number of the topic or subscription that it
// belongs to, or 0. Case is ignored in the name.
func Key(kind byte, parent uint32, name string) []byte {
	return jsondoc.AppendEscaped(host.AppendCatalogHead(nil, kind, parent), []byte(strings.ToLower(name)))
}

// Key returns the record's key. A subscription is keyed by the last segment of its path.
func (r *EntityRecord) Key() []byte {
	name := r.Path
	if r.Topic != 0 {
		_, name, _ = entity.SplitSubscription(r.Path)
	}
	return Key(KindEntity, r.Topic, name)
}

// Scope returns the engine scope of the entity, in which writing transactions run one after the other. That
// of a subscription is the scope of its topic.
func (r *EntityRecord) Scope() []byte {
	if r.Topic != 0 {
		return layout.EntityPrefix(r.Topic)
	}
	return layout.EntityPrefix(r.Number)
}

// EntityWithRules is what the catalog contains about an entity.
type EntityWithRules struct {
	Rec     EntityRecord
	Rules   *RuleList // of a subscription
	Version uint64    // of its scope
}

// ReadAll reads all entities, topics before their subscriptions. It sets EntityWithRules.Version only if
// versions is set.
func ReadAll(r engine.Reader, versions bool) (list []*EntityWithRules, err error) {
	byNumber := make(map[uint32]*EntityWithRules)
	var subscriptions []*EntityWithRules
	err = host.ScanRecords(r, KindEntity, func(_ []byte, rec EntityRecord) error {
		st := &EntityWithRules{Rec: rec, Rules: &RuleList{}}
		byNumber[rec.Number] = st
		if rec.Topic != 0 {
			subscriptions = append(subscriptions, st)
			return nil
		}
		list = append(list, st)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if versions {
		if err := readVersions(r, list); err != nil {
			return nil, err
		}
	}
	for _, st := range subscriptions {
		topic := byNumber[st.Rec.Topic]
		if topic == nil {
			return nil, corrupt("the subscription " + st.Rec.Path + " has no topic")
		}
		st.Version = topic.Version
		list = append(list, st)
	}
	return list, host.ScanRecords(r, KindRule, func(key []byte, rec entity.Rule) error {
		st := byNumber[binary.BigEndian.Uint32(key[host.CatalogHead-4:])]
		if st == nil || st.Rec.Kind != entity.Subscription {
			return corrupt("the rule " + rec.Name + " has no subscription")
		}
		st.Rules = st.Rules.With(rec)
		return nil
	})
}

// readVersions reads EntityWithRules.Version: for each queue and topic the mark of its engine scope, a number
// that changes when the records of the entity change.
func readVersions(r engine.Reader, list []*EntityWithRules) error {
	keys := make([][]byte, len(list))
	for i, st := range list {
		keys[i] = engine.MarkKey(st.Rec.Scope())
	}
	return engine.GetEach(r, keys, func(i int, v []byte) (more bool, err error) {
		if v != nil {
			list[i].Version, err = engine.ParseMark(v)
		}
		return true, err
	})
}

// corrupt returns the error for records of a catalog that contradict each other.
func corrupt(what string) error { return fmt.Errorf("%w: %s", engine.ErrCorrupt, what) }
