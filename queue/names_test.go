package queue

import (
	"errors"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/queue/entity"
)

// TestNamesOfFrameworks checks that entities and rules can have the unusual names that frameworks such as
// MassTransit use, for example with dots, dashes or underscores at the ends.
func TestNamesOfFrameworks(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	for _, name := range []string{"txt/.-_123", "ns/PingMessage__", "Bus/Fault--Shop.Contracts/Placed--",
		"MassTransit.Contracts.JobService/SubmitJob--Shop/DoJob--", "tests.bugs.batcheditem__", "_", "-",
		"a.",
		"...", "Subscriptions", "subscriptions/x", "messages", strings.Repeat("q", 260)} {
		w.create(entity.Queue, name, standard())
		e, err := w.q.Get(w.ctx, strings.ToUpper(name))
		if w.must(err); e.Path != name {
			t.Errorf("%q is told as %q", name, e.Path)
		}
		w.remove(name)
		w.create(entity.Topic, name, standard())
		for _, sub := range []string{"batcheditem__", "-.", "subscriptions", "Rules", strings.Repeat("s",
			50)} {
			path := entity.SubscriptionPath(name, sub)
			w.create(entity.Subscription, path, standard())
			if _, err := w.q.CreateRule(w.ctx, path, entity.Rule{Name: "Placed--"}); err != nil {
				t.Errorf("a rule of %q: %v", path, err)
			}
			if e, err := w.q.Get(w.ctx, path); err != nil || e.Path != path {
				t.Errorf("%q is told as %q, %v", path, e.Path, err)
			}
		}
		w.remove(name)
	}
}

// TestNamesRefused checks that invalid names of entities and rules are refused with Service Bus's error
// text.
func TestNamesRefused(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.create(entity.Topic, "t", standard())
	for _, name := range []string{"a//b", "a~b", "a b", "#q", "$q", "a/$b", "a+b", "é", "a::b", "..",
		"a/./b", "a%2Fb"} {
		for _, path := range []string{name, "t/Subscriptions/" + name} {
			kind := entity.Queue
			if path != name {
				if strings.Contains(name, "/") {
					continue
				}
				kind = entity.Subscription
			}
			_, err := w.q.Create(w.ctx, kind, path, standard())
			var refused *entity.NameError
			if w.fails(err, entity.CodeArgument); !errors.As(err, &refused) ||
				!strings.Contains(err.Error(), "SubCode=40000. '"+name+
					"' contains character(s) that is not allowed") {
				t.Errorf("%q: %v", path, err)
			}
		}
	}
	w.create(entity.Subscription, "t/Subscriptions/s", standard())
	_, err := w.q.CreateRule(w.ctx, "t/Subscriptions/s", entity.Rule{Name: "a/b"})
	w.fails(err, entity.CodeArgument)
	_, err = w.q.CreateRule(w.ctx, "t/Subscriptions/s", entity.Rule{Name: "$Other"})
	w.fails(err, entity.CodeArgument)
	for _, path := range []string{"a/Subscriptions", "a/b/subscriptions/c/d"} {
		_, err := w.q.Create(w.ctx, entity.Queue, path, standard())
		w.fails(err, entity.CodeArgument)
	}
	for kind, path := range map[entity.Kind]string{entity.Queue: strings.Repeat("q", 260+1),
		entity.Subscription: "t/Subscriptions/" + strings.Repeat("s", 50+1)} {
		_, err := w.q.Create(w.ctx, kind, path, standard())
		w.fails(err, entity.CodeArgumentOutOfRange)
	}
}

// TestDefaultRuleName checks that the name of a subscription's first rule is found regardless of case, and
// returned as it was written.
func TestDefaultRuleName(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.create(entity.Topic, "t", standard())
	_, err := w.q.Create(
		w.ctx,
		entity.Subscription,
		"t/Subscriptions/s",
		standard(),
		entity.Rule{Name: "$default"},
	)
	w.must(err)
	list, err := w.q.Rules(w.ctx, "t/Subscriptions/s", 0, 10)
	if w.must(err); len(list) != 1 || list[0].Name != "$default" {
		t.Fatalf("the rules are %v", list)
	}
	_, err = w.q.CreateRule(w.ctx, "t/Subscriptions/s", entity.Rule{Name: DefaultRule})
	w.fails(err, entity.CodeRuleExists)
	w.reopen()
	r, err := w.q.Rule(w.ctx, "t/subscriptions/S", "$DEFAULT")
	if w.must(err); r.Name != "$default" {
		t.Errorf("the rule is %q", r.Name)
	}
	w.must(w.q.DeleteRule(w.ctx, "t/Subscriptions/s", DefaultRule))
}
