package config

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/rule"
)

// Apply creates the entities, or updates existing ones. It first creates all entities and then sets their
// forwarding targets, so that the file can have them in any order. If it fails, the changes made so far
// remain, and another call makes the rest.
func (c *Config) Apply(ctx context.Context, queues *queue.Queues) error {
	for _, forwards := range []bool{false, true} {
		for _, e := range c.entities {
			if err := c.apply(ctx, queues, e, forwards); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply creates or updates an entity. It sets the entity's forwarding targets only if forwards is set.
func (c *Config) apply(ctx context.Context, queues *queue.Queues, e *declaredEntity, forwards bool) error {
	old, err := queues.Get(ctx, e.path)
	absent := err != nil && entity.ErrorCodeOf(err) == entity.CodeEntityNotFound
	if err != nil && !absent {
		return withPosition(e.at, err)
	}
	if !absent && old.Kind != e.kind {
		return e.at.Fail("'%s' is there as a %s", e.path, strings.ToLower(old.Kind.String()))
	}
	p := old.Properties
	if absent {
		p = entity.Defaults(e.kind)
	}
	last := e.setProperties(&p, forwards)
	p = queues.Completed(e.kind, p)
	switch {
	case absent:
		rules := make([]entity.Rule, len(e.rules))
		for i, r := range e.rules {
			rules[i] = r.Rule
		}
		if _, err = queues.Create(ctx, e.kind, e.path, p, rules...); err != nil {
			return withPosition(e.at, err)
		}
	case !same(p, old.Properties):
		if _, err = queues.Update(ctx, e.path, p); err != nil {
			return withPosition(last, err)
		}
	}
	if absent || forwards || !e.hasRules {
		return nil
	}
	return c.applyRules(ctx, queues, e)
}

// setProperties sets the properties that the file gives: all of them, or with forwards unset all but the
// forwarding targets. It returns the file position of the last property that it has set, or that of the
// entity if there is none.
func (e *declaredEntity) setProperties(p *entity.Properties, forwards bool) (last tree.FilePosition) {
	last = e.at
	for _, s := range e.set {
		if forwards || s.name != forwardTo && s.name != forwardDead {
			s.set(p)
			last = s.at
		}
	}
	return last
}

// Differences returns the changes that Apply would make to existing entities, each as an *Error. It writes
// nothing.
func (c *Config) Differences(ctx context.Context, queues *queue.Queues) (list []error, err error) {
	for _, e := range c.entities {
		old, err := queues.Get(ctx, e.path)
		switch {
		case err != nil && entity.ErrorCodeOf(err) == entity.CodeEntityNotFound:
			continue
		case err != nil:
			return nil, withPosition(e.at, err)
		case old.Kind != e.kind:
			kind := strings.ToLower(old.Kind.String())
			list = append(list, e.at.Fail("'%s' is there as a %s", e.path, kind))
			continue
		}
		p := old.Properties
		e.setProperties(&p, true)
		p = queues.Completed(e.kind, p)
		if !same(p, old.Properties) {
			list = append(list, e.at.Fail("'%s' exists with a different %s", e.path,
				strings.Join(differing(e.kind, p, old.Properties), ", ")))
		}
		rules, err := c.ruleDifferences(ctx, queues, e)
		if err != nil {
			return nil, err
		}
		list = append(list, rules...)
	}
	return list, nil
}

// ruleDifferences returns the differences between the rules of a subscription in the file and its existing
// rules.
func (c *Config) ruleDifferences(ctx context.Context, queues *queue.Queues, e *declaredEntity) (list []error,
	err error) {
	if len(e.rules) == 0 {
		return nil, nil
	}
	there, err := queues.Rules(ctx, e.path, 0, allRules)
	if err != nil {
		return nil, withPosition(e.at, err)
	}
	for _, r := range e.rules {
		at := slices.IndexFunc(there, func(o entity.Rule) bool { return strings.EqualFold(o.Name, r.Name) })
		if at < 0 {
			list = append(list, r.at.Fail("'%s' has no rule '%s' there", e.path, r.Name))
			continue
		}
		if !sameRule(there[at], r.Rule) {
			list = append(list, r.at.Fail("the rule '%s' of '%s' is there another way", r.Name, e.path))
		}
		there = slices.Delete(there, at, at+1)
	}
	for _, o := range there {
		list = append(list, e.at.Fail("'%s' has a rule '%s' there, which is not in the file", e.path, o.Name))
	}
	return list, nil
}

// same reports whether the properties of two entities are equal. Forwarding targets are equal if they name
// the same entity, in any case, with or without scheme and host.
func same(a, b entity.Properties) bool {
	for _, p := range []*entity.Properties{&a, &b} {
		for _, target := range []*string{&p.ForwardTo, &p.ForwardDeadLettersTo} {
			if parsed, _, err := entity.ParseAddress(*target); err == nil {
				*target = strings.ToLower(parsed.Entity)
			}
		}
	}
	return reflect.DeepEqual(a, b)
}

// allRules is a page size larger than the maximal number of rules of a subscription, so that one page
// contains all rules.
const allRules = 1 << 20

// applyRules makes the rules of a subscription equal to those of the file.
func (c *Config) applyRules(ctx context.Context, queues *queue.Queues, e *declaredEntity) error {
	wanted := make(map[string]bool)
	for _, r := range e.rules {
		wanted[strings.ToLower(r.Name)] = true
		old, err := queues.Rule(ctx, e.path, r.Name)
		switch {
		case err != nil && entity.ErrorCodeOf(err) == entity.CodeRuleNotFound:
			_, err = queues.CreateRule(ctx, e.path, r.Rule)
		case err == nil && !sameRule(old, r.Rule):
			_, err = queues.UpdateRule(ctx, e.path, r.Rule)
		}
		if err != nil {
			return withPosition(r.at, err)
		}
	}
	there, err := queues.Rules(ctx, e.path, 0, allRules)
	if err != nil {
		return withPosition(e.at, err)
	}
	for _, r := range there {
		if len(wanted) == 0 || wanted[strings.ToLower(r.Name)] {
			continue // if the file has no list of rules, the subscription keeps its rules
		}
		if err := queues.DeleteRule(ctx, e.path, r.Name); err != nil {
			return withPosition(e.at, err)
		}
	}
	return nil
}

// sameRule reports whether rules are equal. The order of parameters is ignored, because clients send them in
// any order.
func sameRule(a, b entity.Rule) bool {
	type parts struct {
		kind                 rule.FilterKind
		condition, action    string
		parameters, ofAction []rule.Parameter
		correlation          rule.CorrelationFilter
	}
	of := func(r entity.Rule) parts {
		c := r.Filter.Correlation()
		p := parts{r.Filter.Kind(), r.Filter.Expression(), r.Action.Expression(),
			append(slices.Clone(r.Filter.Parameters()), c.Properties...),
			slices.Clone(r.Action.Parameters()), c}
		p.correlation.Properties = nil
		for _, list := range [][]rule.Parameter{p.parameters, p.ofAction} {
			for i := range list {
				list[i].Value = list[i].Value.Plain() // a number in a file has no type
			}
			slices.SortFunc(list, func(a, b rule.Parameter) int { return strings.Compare(a.Name, b.Name) })
		}
		return p
	}
	before, after := of(a), of(b)
	return before.kind == after.kind && before.condition == after.condition &&
		before.action == after.action && slices.Equal(before.parameters, after.parameters) &&
		slices.Equal(before.ofAction, after.ofAction) &&
		reflect.DeepEqual(before.correlation, after.correlation)
}

// withPosition adds the position in the file to an error.
func withPosition(at tree.FilePosition, err error) error {
	reason := err.Error()
	var own *entity.Error
	if errors.As(err, &own) {
		reason = own.Message
	}
	return &Error{FilePosition: at, Reason: reason, Err: err}
}
