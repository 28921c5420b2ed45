package queue

import (
	"context"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/record"
	"github.com/mayflydb/mayfly/queue/rule"
)

// DefaultRule is the name of the rule that a subscription has if it is created without rules.
const DefaultRule = "$Default"

// The maximal numbers of rules in all subscriptions of a topic together.
const (
	maxSQLRules         = 2_000
	maxCorrelationRules = 100_000
)

func checkRule(r entity.Rule) error {
	if strings.EqualFold(r.Name, DefaultRule) { // stored in this spelling
		return nil
	}
	return entity.CheckName("rule", r.Name, false)
}

// CreateRule adds a rule to a subscription. It applies to messages that arrive later. Errors:
// CodeEntityNotFound, CodeRuleExists, CodeQuotaExceeded, CodeArgument.
func (q *Queues) CreateRule(ctx context.Context, subscription string, r entity.Rule) (entity.Rule, error) {
	return q.setRule(ctx, subscription, r, false)
}

// UpdateRule replaces a rule. It fails with CodeRuleNotFound if there is none.
func (q *Queues) UpdateRule(ctx context.Context, subscription string, r entity.Rule) (entity.Rule, error) {
	return q.setRule(ctx, subscription, r, true)
}

func (q *Queues) setRule(ctx context.Context, subscription string, r entity.Rule,
	update bool) (entity.Rule, error) {
	if err := checkRule(r); err != nil {
		return entity.Rule{}, err
	}
	err := q.changeRules(
		ctx,
		subscription,
		func(e *entityState, t *host.CatalogTxn, now int64) (*record.RuleList, error) {
			set := e.rules.Load()
			at, there := set.Find(r.Name)
			switch {
			case there && !update:
				return nil, &entity.Error{Code: entity.CodeRuleExists, Entity: e.path,
					Message: "The messaging entity '" + ruleName(
						e,
						r.Name,
					) + "' already exists. " + entity.HelpLink}
			case !there && update:
				return nil, ruleNotFound(e, r.Name)
			case there:
				r.Created = set.List[at].Created
			default:
				r.Created = moment(now)
				if err := e.topic.roomForRule(r); err != nil {
					return nil, err
				}
			}
			return set.With(r), host.SetRecord(t, record.Key(record.KindRule, e.number, r.Name), r)
		},
	)
	return r, err
}

// DeleteRule deletes a rule. It fails with CodeRuleNotFound if there is none. It does not count as activity
// of the subscription.
func (q *Queues) DeleteRule(ctx context.Context, subscription, name string) error {
	drop := func(e *entityState, t *host.CatalogTxn, _ int64) (*record.RuleList, error) {
		if _, there := e.rules.Load().Find(name); !there {
			return nil, ruleNotFound(e, name)
		}
		dropRule(t, e, name)
		return e.rules.Load().Without(name), nil
	}
	return q.changeRules(ctx, subscription, drop)
}

func ruleNotFound(e *entityState, name string) *entity.Error {
	return &entity.Error{Code: entity.CodeRuleNotFound, Entity: e.path,
		Message: "The messaging entity '" + ruleName(e, name) + "' could not be found. " + entity.HelpLink}
}

// ruleName returns the name of a rule of the subscription e in the form in which Service Bus's error messages
// contain it, with the topic and the subscription.
func ruleName(e *entityState, name string) string {
	topic, subscription, _ := entity.SplitSubscription(e.path)
	return resourceName(topic, subscription, name)
}

// changeRules changes the rules of a subscription in one transaction. fn writes the change and returns the
// rules that the subscription has then. No message is published to the topic during that transaction.
func (q *Queues) changeRules(ctx context.Context, subscription string,
	fn func(e *entityState, t *host.CatalogTxn, now int64) (*record.RuleList, error)) error {
	return host.RetryMoved(func() error { return q.changeRulesOnce(ctx, subscription, fn) })
}

func (q *Queues) changeRulesOnce(ctx context.Context, subscription string,
	fn func(e *entityState, t *host.CatalogTxn, now int64) (*record.RuleList, error)) error {
	m, leave, err := q.manage(ctx)
	if err != nil {
		return err
	}
	defer leave()
	e, err := m.findKind(subscription, entity.Subscription)
	if err != nil {
		return err
	}
	var set *record.RuleList
	var version uint64
	before, now := e.rules.Load(), m.in.Clock().Millis()
	err = m.in.Catalog().Change(ctx, func(t *host.CatalogTxn) (err error) {
		version = m.changeVersion(t, e.scope)
		set, err = fn(e, t, now)
		return err
	}, e.scope)
	if err != nil {
		return wrap(err)
	}
	m.changed(ctx, e.topic, version, func() { e.rules.Store(set) })
	if len(set.List) >= len(before.List) {
		e.recordUse(now)
	}
	return nil
}

// Rules returns the rules of a subscription, sorted by name. It skips the first skip rules and returns at
// most top.
func (q *Queues) Rules(ctx context.Context, subscription string, skip, top int) ([]entity.Rule, error) {
	m, err := q.dataset()
	if err != nil {
		return nil, err
	}
	if err := m.learn(ctx); err != nil {
		return nil, err
	}
	e, err := m.findKind(subscription, entity.Subscription)
	if err != nil {
		return nil, err
	}
	return page(slices.Clone(e.rules.Load().List), skip, top), ctx.Err()
}

// Rule returns one rule of a subscription. It fails with CodeRuleNotFound if there is none with this name.
func (q *Queues) Rule(ctx context.Context, subscription, name string) (entity.Rule, error) {
	m, err := q.dataset()
	if err != nil {
		return entity.Rule{}, err
	}
	if err := m.learn(ctx); err != nil {
		return entity.Rule{}, err
	}
	e, err := m.findKind(subscription, entity.Subscription)
	if err != nil {
		return entity.Rule{}, err
	}
	set := e.rules.Load()
	at, ok := set.Find(name)
	if !ok {
		return entity.Rule{}, ruleNotFound(e, name)
	}
	return set.List[at], ctx.Err()
}

// page returns the elements of a list after the first skip, at most top.
func page[T any](list []T, skip, top int) []T {
	list = list[min(max(skip, 0), len(list)):]
	return list[:min(max(top, 0), len(list))]
}

// ruleCounts returns the numbers of rules of all subscriptions of a topic, by kind of filter.
func (e *entityState) ruleCounts() (sql, correlation int) {
	for _, s := range *e.children.Load() {
		for _, r := range s.rules.Load().List {
			switch r.Filter.Kind() {
			case rule.KindCorrelation:
				correlation++
			default:
				sql++
			}
		}
	}
	return sql, correlation
}

// roomForRule fails with CodeQuotaExceeded if the topic already has the maximal number of rules with this
// kind of filter.
func (e *entityState) roomForRule(r entity.Rule) error {
	sql, correlation := e.ruleCounts()
	if r.Filter.Kind() == rule.KindCorrelation && correlation >= maxCorrelationRules ||
		r.Filter.Kind() != rule.KindCorrelation && sql >= maxSQLRules {
		return &entity.Error{Code: entity.CodeQuotaExceeded, Entity: e.path,
			Message: "The topic '" + e.path + "' has as many rules as it can have."}
	}
	return nil
}
