package queue

import (
	"slices"
	"strings"
)

// changeChildren adds a subscription to a topic, or takes it away. Who goes through the subscriptions has a
// list that does not change. The dataset's mutex is held.
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

// sortByPath puts entities in the order of their names, without case.
func sortByPath(list []*entityState) {
	slices.SortFunc(list, func(a, b *entityState) int {
		return strings.Compare(strings.ToLower(a.path), strings.ToLower(b.path))
	})
}
