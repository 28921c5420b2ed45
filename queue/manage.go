package queue

import (
	"context"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
)

// Limits of the number of entities.
const (
	maxEntities      = 10_000
	maxSubscriptions = 2_000 // per topic
)

// manage begins a change of the catalog. Records carry the time of the change, so manage also keeps the
// clock from being moved meanwhile. leave ends the change.
func (q *Queues) manage(ctx context.Context) (m *dataset, leave func(), err error) {
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
func (m *dataset) findPath(path string) (*entityState, error) {
	a, management, err := entity.ParseAddress(path)
	if err != nil {
		return nil, err
	}
	if a.Sub != entity.Main || management {
		return nil, &entity.Error{Code: entity.CodeArgument, Entity: path,
			Message: "'" + path + "' is no entity by itself."}
	}
	return m.find(a)
}

func (m *dataset) findKind(path string, kind entity.Kind) (*entityState, error) {
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
	rec, topic, err := nameEntity(kind, path)
	if err != nil {
		return entity.Entity{}, err
	}
	m, leave, err := q.manage(ctx)
	if err != nil {
		return entity.Entity{}, err
	}
	defer leave()
	if err := m.sweepIdle(ctx); err != nil { // idle entities must not block their names
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
		rec.Accessed = rec.Created // the service reports no access time for new queues and topics
	}
	err = m.in.Catalog().Change(ctx, func(t *host.Change) error {
		if rec.Number = t.Number(); rec.Topic == 0 { // LSNs begin above those of deleted entities
			t.RaiseLSN(rec.scope(), m.in.Catalog().Highest()+1)
		}
		createStores(t, rec.Number, kind)
		for i := range set.list {
			set.list[i].Created = moment(rec.Created)
			if err := host.SetRecord(t, recordKey(kindRule, rec.Number, set.list[i].Name),
				set.list[i]); err != nil {
				return err
			}
		}
		return host.SetRecord(t, rec.key(), rec)
	}, scopesOf(parent)...)
	if err != nil {
		return entity.Entity{}, wrap(err)
	}
	m.note(rec.Created)
	e := m.add(rec)
	e.rules.Store(set)
	return m.entity(ctx, e)
}

func scopesOf(e *entityState) [][]byte {
	if e == nil {
		return nil
	}
	return [][]byte{e.scope}
}

// nameEntity validates the path of a new entity. For a subscription it also returns the topic.
func nameEntity(kind entity.Kind, path string) (rec entityRecord, topic string, err error) {
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
	return entityRecord{Kind: kind, Path: a.Entity}, topic, err
}

// admit checks that an entity may be created, and returns its completed properties.
func (m *dataset) admit(kind entity.Kind, path string, parent *entityState,
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

// resourceName returns the name of a subscription or rule as it appears in the service's messages.
func resourceName(topic string, names ...string) string {
	return "Topic:" + topic + "|" + strings.Join(names, "|")
}

// checkTargets checks that the forwarding targets of an entity exist, and normalizes their spelling.
func (m *dataset) checkTargets(path string, p *entity.Properties) error {
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

// writtenTarget returns a forwarding target without outer slashes. A scheme and host, if present, are in
// lower case.
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
	a, _, err := entity.ParseAddress(target)
	if err != nil {
		return ""
	}
	return a.Entity
}

func firstRules(kind entity.Kind, rules []entity.Rule) (*ruleSet, error) {
	set := &ruleSet{}
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
		set = set.with(r)
	}
	return set, nil
}

// Delete deletes an entity with all its messages, a topic with its subscriptions, and ends their receivers.
func (q *Queues) Delete(ctx context.Context, path string) error {
	m, leave, err := q.manage(ctx)
	if err != nil {
		return err
	}
	defer leave()
	e, err := m.findPath(path)
	if err != nil {
		return err
	}
	return m.drop(ctx, e)
}

// drop deletes an entity. The caller holds the catalog's lock.
func (m *dataset) drop(ctx context.Context, e *entityState) error {
	list := append([]*entityState{e}, *e.children.Load()...)
	err := m.in.Catalog().Change(ctx, func(t *host.Change) error {
		if e.topic == nil {
			at, err := t.Positions([][]byte{e.scope})
			if err != nil {
				return err
			}
			t.NoteHighest(at[0].LSN)
		}
		for _, d := range list {
			dropRecords(t, d)
			dropStores(t, d.number)
		}
		return nil
	}, e.scope)
	if err != nil {
		return wrap(err)
	}
	m.forget(list)
	return nil
}

// Get returns one entity with its counts. It does not count as activity.
func (q *Queues) Get(ctx context.Context, path string) (entity.Entity, error) {
	m, err := q.dataset()
	if err != nil {
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
		all = m.list()
		sortByPath(all)
	}
	now := m.in.Clock().Millis()
	var list []*entityState
	for _, e := range all {
		if e.kind == kind && !e.idleTooLong(now) {
			list = append(list, e)
		}
	}
	list = page(list, skip, top)
	out := make([]entity.Entity, 0, len(list))
	for _, e := range list {
		one, err := m.entity(ctx, e)
		if entity.CodeOf(err) == entity.CodeEntityNotFound && err != nil {
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
func (m *dataset) entity(ctx context.Context, e *entityState) (entity.Entity, error) {
	out := entity.Entity{
		Kind:       e.kind,
		Path:       e.path,
		Properties: *e.properties.Load(),
		Created:    moment(e.created),
		Updated:    moment(e.updated.Load()),
		Accessed:   accessedAt(e),
	}
	err := m.in.Engine().View(ctx, func(r engine.Reader) error {
		for sub, s := range e.stores {
			if s == nil {
				continue
			}
			c, err := s.read(r)
			if err != nil {
				return err
			}
			out.Bytes += c.Bytes
			switch entity.Sub(sub) {
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
