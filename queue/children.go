package queue

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/queue/internal/fanout"
)

// changeChildren adds a subscription to its topic's list of subscriptions, or removes it. It stores a new
// list and never modifies the old one, so that readers can iterate without a lock. The caller holds the
// dataset's mutex.
func (e *entityState) changeChildren(child *entityState, add bool) {
	list := slices.DeleteFunc(
		slices.Clone(*e.children.Load()),
		func(c *entityState) bool { return c == child },
	)
	if add {
		list = append(list, child)
		sortByPath(list)
	}
	e.children.Store(&list)
}

// sortByPath sorts entities by path, ignoring case.
func sortByPath(list []*entityState) {
	slices.SortFunc(list, func(a, b *entityState) int {
		return strings.Compare(strings.ToLower(a.path), strings.ToLower(b.path))
	})
}

// topicRules holds the rules of a topic's subscriptions. It is not updated: after a subscription or a rule
// has changed, the next publication makes a new one.
type topicRules struct {
	children *[]*entityState
	table    *fanout.TopicRules[*entityState]
}

// fanOut returns the rules of all subscriptions of the topic, built again if a rule has changed since the
// last call. The caller runs in a transaction on the topic's engine scope; no rule changes during it.
func (e *entityState) fanOut() *fanout.TopicRules[*entityState] {
	children := e.children.Load()
	if t := e.subscriptionRules.Load(); t != nil && t.children == children && t.fresh() {
		return t.table
	}
	list := make([]fanout.Subscription[*entityState], 0, len(*children))
	for _, c := range *children {
		list = append(list, fanout.Subscription[*entityState]{To: c, Number: c.number, Rules: c.rules.Load()})
	}
	table := fanout.NewTable(list)
	e.subscriptionRules.Store(&topicRules{children, table})
	return table
}

// fresh reports whether t still has the current rules of all subscriptions.
func (t *topicRules) fresh() bool {
	for _, s := range t.table.Subscriptions() {
		if s.To.rules.Load() != s.Rules {
			return false
		}
	}
	return true
}
