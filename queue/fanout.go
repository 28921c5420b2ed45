package queue

import (
	"cmp"
	"slices"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// fanOut is the rules of all subscriptions of a topic, arranged so that a publication does not look at each
// of them. Correlation filters are found by the values that they want: those that look at the same names are
// in one index, under the values together. So a publication costs a lookup for each set of names, and not a
// comparison for each filter. All other filters are evaluated one by one.
//
// It does not change. It is made anew by the publication that finds a subscription or a rule changed.
type fanOut struct {
	children *[]*entityState
	sets     []*ruleSet // of the children, in their order
	always   []rulePlace
	indexes  []*correlations
}

// rulePlace is where a rule is: the place of its subscription, and its own in the set of that.
type rulePlace struct{ child, rule int }

// correlations are the filters that look at the same names.
type correlations struct {
	criteria []criterion
	rules    map[string][]rulePlace // by the values that they want, joined
}

// chosen is a subscription that gets something of a message.
type chosen struct {
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

// fresh tells that no rule has changed.
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
	byNames := make(map[string]*correlations)
	for i, c := range *children {
		set := c.rules.Load()
		f.sets = append(f.sets, set)
		for j := range set.list {
			at := rulePlace{i, j}
			list, values := criteria(set.list[j].Filter)
			if len(list) == 0 {
				f.always = append(f.always, at)
				continue
			}
			name := joined(list)
			x := byNames[name]
			if x == nil {
				x = &correlations{criteria: list, rules: make(map[string][]rulePlace)}
				byNames[name] = x
				f.indexes = append(f.indexes, x)
			}
			x.rules[values] = append(x.rules[values], at)
		}
	}
	return f
}

// match is the subscriptions that get something of a message, in the order of their numbers.
func (f *fanOut) match(m *message.Message, h *layout.Header) (list []*chosen) {
	v := &view{m, h}
	places := slices.Clone(f.always)
	for _, x := range f.indexes {
		if values, ok := v.values(x.criteria); ok {
			places = append(places, x.rules[values]...)
		}
	}
	slices.SortFunc(places, func(a, b rulePlace) int {
		if a.child != b.child {
			return a.child - b.child
		}
		return a.rule - b.rule
	})
	var last *chosen
	for _, at := range places {
		r := &f.sets[at.child].list[at.rule]
		if !r.Filter.Match(v) {
			continue
		}
		if to := (*f.children)[at.child]; last == nil || last.to != to {
			last = &chosen{to: to}
			list = append(list, last)
		}
		if r.Action.IsZero() {
			last.plain = true
			continue
		}
		last.acting = append(last.acting, r)
	}
	slices.SortFunc(list, func(a, b *chosen) int { return cmp.Compare(a.to.number, b.to.number) })
	return list
}
