package queue

import (
	"cmp"
	"slices"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/fanout"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// fanOut is the rules of all subscriptions of a topic, with an index over them. It does not change: the
// publication that finds a subscription or a rule changed makes it anew.
type fanOut struct {
	children *[]*entityState
	sets     []*ruleSet // of the children, in their order
	index    fanout.Index
}

// recipient is a subscription that gets copies of a message.
type recipient struct {
	to     *entityState
	plain  bool           // a rule without an action wants it
	acting []*entity.Rule // those with an action that want it, by name
}

// fanOut is the topic's as of now. In a transaction of the topic's scope nobody changes a rule.
func (e *entityState) fanOut() *fanOut {
	children := e.children.Load()
	if f := e.fan.Load(); f != nil && f.children == children && f.fresh() {
		return f
	}
	f := newFanOut(children)
	e.fan.Store(f)
	return f
}

// fresh reports whether the rules are still those of the subscriptions.
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

// match is the subscriptions that get something of a message, in the order of their numbers.
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
		last.acting = append(last.acting, r)
	}
	slices.SortFunc(list, func(a, b *recipient) int { return cmp.Compare(a.to.number, b.to.number) })
	return list
}
