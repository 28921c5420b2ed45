package queue

import (
	"cmp"
	"slices"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/fanout"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// fanOut is the rules of all subscriptions of a topic, with an index over them. It is immutable: after a
// subscription or a rule has changed, the next publication builds a new one.
type fanOut struct {
	children *[]*entityState
	sets     []*ruleSet // of the children, in the same order
	index    fanout.Index
}

// recipient is a subscription that gets copies of a message.
type recipient struct {
	to      *entityState
	plain   bool           // a rule without an action matches
	actions []*entity.Rule // matching rules with an action, by name
}

// fanOut returns the topic's current fanOut. Within a transaction of the topic's scope no rule can change.
func (e *entityState) fanOut() *fanOut {
	children := e.children.Load()
	if f := e.subscriptionRules.Load(); f != nil && f.children == children && f.fresh() {
		return f
	}
	f := newFanOut(children)
	e.subscriptionRules.Store(f)
	return f
}

// fresh reports whether all subscriptions still have the same rules.
func (f *fanOut) fresh() bool {
	for i, c := range *f.children {
		if c.rules.Load() != f.sets[i] {
			return false
		}
	}
	return true
}

func newFanOut(children *[]*entityState) *fanOut {
	f := &fanOut{children: children}
	for i, c := range *children {
		set := c.rules.Load()
		f.sets = append(f.sets, set)
		for j := range set.list {
			f.index.Add(fanout.Place{Subscription: i, Rule: j}, set.list[j].Filter)
		}
	}
	return f
}

// match returns the subscriptions that receive a message, in the order of their numbers.
func (f *fanOut) match(m *message.Message, h *layout.Header) (list []*recipient) {
	v := &fanout.View{Message: m, Header: h}
	var last *recipient
	for _, at := range f.index.Candidates(v) {
		r := &f.sets[at.Subscription].list[at.Rule]
		if !r.Filter.Match(v) {
			continue
		}
		if to := (*f.children)[at.Subscription]; last == nil || last.to != to {
			last = &recipient{to: to}
			list = append(list, last)
		}
		if r.Action.IsZero() {
			last.plain = true
			continue
		}
		last.actions = append(last.actions, r)
	}
	slices.SortFunc(list, func(a, b *recipient) int { return cmp.Compare(a.to.number, b.to.number) })
	return list
}
