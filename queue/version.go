package queue

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/internal/record"
)

// The properties and rules of entities are kept in memory, and in records of the catalog. If several servers
// share the engine, each has its own copy. Therefore the copies have versions: a change of a queue, or of a
// topic or one of its subscriptions, increments the mark of its scope. A transaction first compares the
// marks of its scopes with the versions in memory. If one differs, the transaction writes nothing, the
// server reads the records again, and then repeats the transaction.
//
// Catalog.CatchUp of package host finds entities that another server has created or deleted.

// errOutdated is returned by a transaction on an entity that another server has changed, so that its state in
// memory is outdated.
var errOutdated = errors.New("queue: another server has changed the entity")

// current fails with errOutdated if the state in memory of an entity whose scope the transaction t uses is
// outdated, since another server has changed the entity. A deleted entity counts as current, since its stores
// do not exist.
func (m *loadedEntities) current(t engine.Txn, scopes [][]byte) error {
	if !m.shared {
		return nil
	}
	for _, scope := range scopes {
		e := m.numbered(layout.NumberOf(scope))
		if mark := t.Mark(scope); e != nil && mark != 0 && mark != e.version.Load() {
			return errOutdated
		}
	}
	return nil
}

// changeVersion increments the version of a queue's or topic's engine scope, in the transaction that changes
// its records, and returns the new one. Other servers see by it that their state in memory is outdated. If
// only one server has the engine open, it does nothing.
func (m *loadedEntities) changeVersion(t engine.Txn, scope []byte) uint64 {
	if !m.shared {
		return 0
	}
	next := t.Mark(scope) + 1
	t.SetMark(scope, next)
	return next
}

// firstVersion sets the version of a new queue or topic, which the engine keeps for its scope, and returns
// it. Other servers compare it with the version that they have in memory.
func (m *loadedEntities) firstVersion(t engine.Txn, scope []byte) uint64 {
	if !m.shared {
		return 0
	}
	t.SetMark(scope, 1)
	return 1
}

// created adds to the state in memory an entity that this server has just stored. parent is the topic of a
// subscription.
func (m *loadedEntities) created(ctx context.Context, parent *entityState, rec record.EntityRecord,
	rules *record.RuleList,
	version uint64) (e *entityState) {
	m.recordTime(rec.Created)
	add := func() {
		e = m.add(rec)
		e.rules.Store(rules)
	}
	if parent == nil {
		add()
		e.version.Store(version)
		return e
	}
	if m.changed(ctx, parent, version, add); e == nil {
		e = m.numbered(rec.Number) // adoptAll has added it
	}
	return e
}

// refresh reads the records of the entities in memory again, after another server has changed some of them.
func (m *loadedEntities) refresh(ctx context.Context) error {
	if err := m.loading.Lock(ctx); err != nil {
		return err
	}
	defer m.loading.Unlock()
	return m.in.Engine().View(ctx, func(r engine.Reader) error { return m.adoptAll(r, false) })
}

// reread implements host.OpenedTenant.Changed: it reads the records of entities again, after the catalog has
// changed.
func (m *loadedEntities) reread(ctx context.Context, r engine.Reader) error {
	if err := m.loading.Lock(ctx); err != nil {
		return err
	}
	defer m.loading.Unlock()
	return m.adoptAll(r, true)
}

// adoptAll updates the state in memory from the records that r shows, except where the state in memory is
// newer. If complete is set, it also adds and removes queues and topics; the caller then holds the catalog's
// lock, so that none can have been created or deleted since r was opened. Otherwise it only updates those
// that are in memory, and their subscriptions. The caller holds m.loading.
func (m *loadedEntities) adoptAll(r engine.Reader, complete bool) error {
	list, err := record.ReadAll(r, m.shared)
	if err != nil {
		return err
	}
	there := make(map[uint32]bool)
	versions := make(map[*entityState]uint64)
	for _, st := range list {
		there[st.Rec.Number] = true
		e, err := m.adoptOne(r, st, complete)
		if err != nil {
			return err
		}
		if e != nil {
			versions[e.top()] = st.Version
		}
	}
	var gone []*entityState
	for _, e := range m.list() {
		if there[e.number] {
			continue
		}
		// If the version in memory is higher than that of r, the entity may have been created after r.
		have := e.top().version.Load()
		next, known := versions[e.top()]
		if next > have || complete && (!known || next == have) {
			gone = append(gone, e)
		}
	}
	m.forget(gone)
	for e, next := range versions {
		if next > e.version.Load() {
			e.version.Store(next)
			e.changes.Notify()
		}
	}
	return nil
}

// adoptOne updates the state in memory of one entity from its record st, unless the state is newer, and
// returns it. An entity that is not in memory is loaded if its topic is in memory and older than the record,
// and with complete also if the topic is not in memory or is as old as the record. Otherwise adoptOne returns
// nil.
func (m *loadedEntities) adoptOne(r engine.Reader, st *record.EntityWithRules,
	complete bool) (*entityState, error) {
	e := m.numbered(st.Rec.Number)
	if e == nil {
		topic := m.numbered(st.Rec.Topic)
		if !complete && (topic == nil || st.Version <= topic.version.Load()) ||
			topic != nil && st.Version < topic.version.Load() {
			return nil, nil
		}
		return m.loadEntity(r, st)
	}
	if st.Version > e.top().version.Load() {
		e.adopt(&st.Rec, st.Rules)
	}
	return e, nil
}

// adopt applies a change of the entity that another server has stored. rules are the rules that it has now.
func (e *entityState) adopt(rec *record.EntityRecord, rules *record.RuleList) {
	e.m.recordTime(max(rec.Created, rec.Updated))
	e.updated.Store(max(rec.Updated, e.updated.Load()))
	e.rules.Store(rules)
	if rec.Properties.Equal(e.properties.Load()) { // locks and links are kept if an update changes nothing
		return
	}
	p := rec.Properties
	e.properties.Store(&p)
	for _, s := range e.stores {
		if s != nil {
			s.changed()
		}
	}
	e.m.idler.WakeUp()
	e.m.q.changes.Notify()
}

// changed calls fn, which applies a change of entity records that this server has stored to the entities in
// memory. It does not call fn if the records have been read again since the change was stored (adoptAll).
func (m *loadedEntities) changed(ctx context.Context, top *entityState, version uint64, fn func()) {
	if !m.shared {
		fn()
		return
	}
	// The change is stored, so the wait for adoptAll must not be canceled.
	_ = m.loading.Lock(context.WithoutCancel(ctx))
	defer m.loading.Unlock()
	if top.version.Load() < version {
		fn()
		top.version.Store(version)
	}
}

// learn reads which entities other servers have created or deleted. The caller does not hold the catalog's
// lock.
func (m *loadedEntities) learn(ctx context.Context) error {
	if !m.shared {
		return nil
	}
	err := m.in.Catalog().CatchUp(ctx)
	return wrap(err)
}
