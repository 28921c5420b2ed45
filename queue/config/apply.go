package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/queue"
)

// Apply makes the entities. It makes all of them before it lets one forward to another, in whatever order the
// file has them. Where it fails, what came before is done; made again, it goes on.
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

// apply makes an entity or brings it to what the file says, with what it forwards to or without.
func (c *Config) apply(ctx context.Context, queues *queue.Queues, e *entity, forwards bool) error {
	old, err := queues.Get(ctx, e.path)
	absent := err != nil && queue.CodeOf(err) == queue.CodeEntityNotFound
	if err != nil && !absent {
		return placed(e.at, err)
	}
	if !absent && old.Kind != e.kind {
		return e.at.Fail("'%s' is there as a %s", e.path, strings.ToLower(old.Kind.String()))
	}
	p := old.Properties
	if absent {
		p = queue.Defaults(e.kind)
	}
	last := e.at
	for _, s := range e.set {
		if forwards || s.name != forwardTo && s.name != forwardDead {
			s.set(&p)
			last = s.at
		}
	}
	switch {
	case absent:
		rules := make([]queue.Rule, len(e.rules))
		for i, r := range e.rules {
			rules[i] = r.Rule
		}
		if _, err = queues.Create(ctx, e.kind, e.path, p, rules...); err != nil {
			return placed(e.at, err)
		}
	case !same(p, old.Properties):
		if _, err = queues.Update(ctx, e.path, p); err != nil {
			return placed(last, err)
		}
	}
	if absent || forwards || !e.ruled {
		return nil
	}
	return c.applyRules(ctx, queues, e)
}

// same compares properties as the store keeps them: a target may be written with a scheme and a host.
func same(a, b queue.Properties) bool {
	for _, p := range []*queue.Properties{&a, &b} {
		for _, target := range []*string{&p.ForwardTo, &p.ForwardDeadLettersTo} {
			if parsed, _, err := queue.ParseAddress(*target); err == nil {
				*target = strings.ToLower(parsed.Entity)
			}
		}
	}
	return reflect.DeepEqual(a, b)
}

// applyRules gives a subscription the rules of the file, and those alone.
func (c *Config) applyRules(ctx context.Context, queues *queue.Queues, e *entity) error {
	wanted := make(map[string]bool)
	for _, r := range e.rules {
		wanted[strings.ToLower(r.Name)] = true
		old, err := queues.Rule(ctx, e.path, r.Name)
		switch {
		case err != nil && queue.CodeOf(err) == queue.CodeRuleNotFound:
			_, err = queues.CreateRule(ctx, e.path, r.Rule)
		case err == nil && !sameRule(old, r.Rule):
			_, err = queues.UpdateRule(ctx, e.path, r.Rule)
		}
		if err != nil {
			return placed(r.at, err)
		}
	}
	const all = 1 << 20
	there, err := queues.Rules(ctx, e.path, 0, all)
	if err != nil {
		return placed(e.at, err)
	}
	for _, r := range there {
		if len(wanted) == 0 || wanted[strings.ToLower(r.Name)] {
			continue // without a rule in the file the subscription keeps what it has
		}
		if err := queues.DeleteRule(ctx, e.path, r.Name); err != nil {
			return placed(e.at, err)
		}
	}
	return nil
}

// sameRule compares rules as they are stored.
func sameRule(a, b queue.Rule) bool {
	before, err1 := json.Marshal([]any{a.Filter, a.Action})
	after, err2 := json.Marshal([]any{b.Filter, b.Action})
	return err1 == nil && err2 == nil && bytes.Equal(before, after)
}

// at gives an error its place in the file.
func placed(at tree.Place, err error) error {
	reason := err.Error()
	var own *queue.Error
	if errors.As(err, &own) {
		reason = own.Message
	}
	return &Error{Place: at, Reason: reason, Err: err}
}
