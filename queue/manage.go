package queue

import (
	"context"
	"strings"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/record"
)

// Limits of the number of entities.
const (
	maxEntities      = 10_000
	maxSubscriptions = 2_000 // per topic
)

// manage begins a change of the catalog. Records contain the time of the change, so the clock cannot be
// moved until leave is called. leave ends the change.
func (q *Queues) manage(ctx context.Context) (m *loadedEntities, leave func(), err error) {
	if m, err = q.dataset(); err != nil {
		return nil, nil, err
	}
	m.in.Enter()
	if err := m.in.Catalog().Lock(ctx); err != nil {
		m.in.Leave()
		return nil, nil, wrap(err)
	}
	return m, func() {
		m.in.Catalog().Unlock()
		m.in.Leave()
	}, nil
}

// findPath returns the entity with a path given by a client.
func (m *loadedEntities) findPath(path string) (*entityState, error) {
	a, err := entityAddress(path)
	if err != nil {
		return nil, err
	}
	return m.find(a)
}

// lookupPath returns the entity with a path given by a client, also if another server has created the entity.
// The caller must not hold the catalog's lock.
func (m *loadedEntities) lookupPath(ctx context.Context, path string) (*entityState, error) {
	a, err := entityAddress(path)
	if err != nil {
		return nil, err
	}
	return m.lookup(ctx, a)
}

// entityAddress parses the path of an entity given by a client.
func entityAddress(path string) (entity.Address, error) {
	a, management, err := entity.ParseAddress(path)
	if err == nil && (a.Sub != entity.Main || management) {
		err = &entity.Error{Code: entity.CodeArgument, Entity: path,
			Message: "'" + path + "' is no entity by itself."}
	}
	return a, err
}

func (m *loadedEntities) findKind(path string, kind entity.Kind) (*entityState, error) {
	e, err := m.findPath(path)
	if err == nil && e.kind != kind {
		return nil, notFound(path)
	}
	return e, err
}

// Create creates an entity. The path of a subscription is "topic/Subscriptions/name". A subscription begins
// with the given rules, or with DefaultRule, which matches all messages, if none are given. Errors:
// CodeEntityExists, also if a queue and a topic have the same name; CodeEntityNotFound for the topic;
// CodeArgument, CodeArgumentOutOfRange, CodeQuotaExceeded.
func (q *Queues) Create(ctx context.Context, kind entity.Kind, path string, p entity.Properties,
	rules ...entity.Rule) (entity.Entity, error) {
	var made entity.Entity
	err := host.RetryMoved(func() (err error) {
		made, err = q.createOnce(ctx, kind, path, p, rules)
		return err
	})
	return made, err
}

func (q *Queues) createOnce(ctx context.Context, kind entity.Kind, path string, p entity.Properties,
	rules []entity.Rule) (entity.Entity, error) {
	rec, topic, err := nameEntity(kind, path)
	if err != nil {
		return entity.Entity{}, err
	}
	m, leave, err := q.manage(ctx)
	if err != nil {
		return entity.Entity{}, err
	}
	defer leave()
	// idle entities that were not deleted yet must not occupy their names
	if err := m.sweepIdle(ctx); err != nil {
		return entity.Entity{}, err
	}
	var parent *entityState
	if kind == entity.Subscription {
		if parent, err = m.findKind(topic, entity.Topic); err != nil {
			return entity.Entity{}, err
		}
		_, name, _ := entity.SplitSubscription(rec.Path)
		rec.Topic, rec.Path = parent.number, entity.SubscriptionPath(parent.path, name)
	}
	if rec.Properties, err = m.admit(kind, rec.Path, parent, p); err != nil {
		return entity.Entity{}, err
	}
	set, err := firstRules(kind, rules)
	if err != nil {
		return entity.Entity{}, err
	}
	rec.Created = m.in.Clock().Millis()
	if rec.Updated = rec.Created; kind == entity.Subscription {
		rec.Accessed = rec.Created // Service Bus reports no access time for new queues and topics
	}
	var version uint64
	err = m.in.Catalog().Change(ctx, func(t *host.CatalogTxn) error {
		if rec.Number = t.Number(); rec.Topic == 0 { // LSNs begin above those of deleted entities
			t.RaiseLSN(rec.Scope(), m.in.Catalog().Highest()+1)
			version = m.firstVersion(t, rec.Scope())
		} else {
			version = m.changeVersion(t, rec.Scope())
		}
		createStores(t, rec.Number, kind)
		for i := range set.List {
			set.List[i].Created = moment(rec.Created)
			if err := host.SetRecord(t, record.Key(record.KindRule, rec.Number, set.List[i].Name),
				set.List[i]); err != nil {
				return err
			}
		}
		return host.SetRecord(t, rec.Key(), rec)
	}, scopesOf(parent)...)
	if err != nil {
		return entity.Entity{}, wrap(err)
	}
	return m.entity(ctx, m.created(ctx, parent, rec, set, version))
}

func scopesOf(e *entityState) [][]byte {
	if e == nil {
		return nil
	}
	return [][]byte{e.scope}
}

// nameEntity validates the path of a new entity. For a subscription it also returns the topic.
func nameEntity(kind entity.Kind, path string) (rec record.EntityRecord, topic string, err error) {
	a, management, err := entity.ParseAddress(path)
	if err != nil {
		return rec, "", err
	}
	topic, name, isSubscription := a.Subscription()
	if a.Sub != entity.Main || management || isSubscription != (kind == entity.Subscription) {
		return rec, "", &entity.Error{Code: entity.CodeArgument, Entity: path,
			Message: "'" + path + "' is not the path of a " + strings.ToLower(kind.String()) + "."}
	}
	if kind == entity.Subscription {
		err = entity.CheckName("subscription", name, false)
	} else {
		err = entity.CheckName(strings.ToLower(kind.String()), a.Entity, true)
	}
	return record.EntityRecord{Kind: kind, Path: a.Entity}, topic, err
}

// admit checks whether an entity may be created, and returns its properties with defaults filled in.
func (m *loadedEntities) admit(kind entity.Kind, path string, parent *entityState,
	p entity.Properties) (entity.Properties, error) {
	m.mu.RLock()
	there, count := m.paths[strings.ToLower(path)] != nil, len(m.paths)
	m.mu.RUnlock()
	switch {
	case there:
		return p, &entity.Error{Code: entity.CodeEntityExists, Entity: path,
			Message: existsText(kind, path)}
	case kind == entity.Subscription && len(*parent.children.Load()) >= maxSubscriptions,
		kind != entity.Subscription &&
			count >= maxEntities:
		return p, &entity.Error{Code: entity.CodeQuotaExceeded, Entity: path,
			Message: "There are as many entities as there can be."}
	}
	p, err := p.Complete(kind, path, m.opts.Basic)
	if err == nil {
		err = m.checkTargets(path, &p)
	}
	return p, err
}

// existsText returns the error message for an entity that exists already.
func existsText(kind entity.Kind, path string) string {
	if topic, name, ok := entity.SplitSubscription(path); ok && kind == entity.Subscription {
		return "The messaging entity '" + resourceName(topic, name) + "' already exists. " + entity.HelpLink
	}
	return "SubCode=40900. Conflict. The messaging entity '" + path + "' exists already."
}

// resourceName returns the name of a subscription or rule as Service Bus's error texts contain it:
// "Topic:news|all|$Default".
func resourceName(topic string, names ...string) string {
	return "Topic:" + topic + "|" + strings.Join(names, "|")
}

// checkTargets checks that the forwarding targets of an entity exist, and normalizes their spelling.
func (m *loadedEntities) checkTargets(path string, p *entity.Properties) error {
	for _, target := range []*string{&p.ForwardTo, &p.ForwardDeadLettersTo} {
		if *target == "" {
			continue
		}
		a, management, err := entity.ParseAddress(*target)
		if err != nil {
			return err
		}
		e, err := m.find(a)
		if err != nil || management || a.Sub != entity.Main || e.kind == entity.Subscription {
			return &entity.Error{Code: entity.CodeArgument, Entity: path,
				Message: "SubCode=40400. The forwarding destination '" +
					*target + "' is no queue or topic that exists."}
		}
		*target = writtenTarget(*target)
	}
	return nil
}

// writtenTarget returns a forwarding target without slashes at its ends, and with its scheme and host, if
// any, in lower case.
func writtenTarget(text string) string {
	scheme, rest, absolute := strings.Cut(text, "://")
	if !absolute {
		return strings.Trim(text, "/")
	}
	host, path, _ := strings.Cut(rest, "/")
	return strings.ToLower(scheme+"://"+host) + "/" + strings.Trim(path, "/")
}

// TargetPath returns the path of the entity that ForwardTo or ForwardDeadLettersTo names; "" for none.
func TargetPath(target string) string {
	if target == "" {
		return ""
	}
	a, _, err := entity.ParseAddress(target)
	if err != nil {
		return ""
	}
	return a.Entity
}

func firstRules(kind entity.Kind, rules []entity.Rule) (*record.RuleList, error) {
	set := &record.RuleList{}
	if kind != entity.Subscription {
		return set, nil
	}
	if len(rules) == 0 {
		rules = []entity.Rule{{Name: DefaultRule}}
	}
	for _, r := range rules {
		if err := checkRule(r); err != nil {
			return nil, err
		}
		set = set.With(r)
	}
	return set, nil
}

// Delete deletes an entity with all its messages, a topic with its subscriptions, and ends their receivers.
func (q *Queues) Delete(ctx context.Context, path string) error {
	return host.RetryMoved(func() error { return q.deleteOnce(ctx, path) })
}

func (q *Queues) deleteOnce(ctx context.Context, path string) error {
	m, leave, err := q.manage(ctx)
	if err != nil {
		return err
	}
	defer leave()
	e, err := m.findPath(path)
	if err != nil {
		return err
	}
	return m.drop(ctx, e, func(*host.CatalogTxn) error { return nil })
}

// drop deletes an entity. It calls check in the transaction, and deletes nothing if check fails. The caller
// holds the catalog's lock.
func (m *loadedEntities) drop(ctx context.Context, e *entityState, check func(*host.CatalogTxn) error) error {
	list := append([]*entityState{e}, *e.children.Load()...)
	var version uint64
	err := m.in.Catalog().Change(ctx, func(t *host.CatalogTxn) error {
		if err := check(t); err != nil {
			return err
		}
		if e.topic == nil {
			at, err := t.Positions([][]byte{e.scope})
			if err != nil {
				return err
			}
			t.RecordHighest(at[0].LSN)
			if m.shared {
				t.SetMark(e.scope, 0)
			}
		} else {
			version = m.changeVersion(t, e.scope)
		}
		e.dropKept()
		for _, d := range list {
			dropRecords(t, d)
			dropStores(t, d.number)
		}
		return nil
	}, e.scope)
	if err != nil {
		return wrap(err)
	}
	if e.topic == nil {
		m.forget(list)
		return nil
	}
	m.changed(ctx, e.topic, version, func() { m.forget(list) })
	return nil
}
