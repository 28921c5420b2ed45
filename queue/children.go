package queue

import (
	"slices"
	"strings"
)

// changeChildren adds a subscription to a topic, or takes it away. Who goes through the subscriptions has a
// list that does not change. The resident's mutex is held.
func (e *entity) changeChildren(child *entity, add bool) {
	list := slices.DeleteFunc(slices.Clone(*e.children.Load()), func(c *entity) bool { return c == child })
	if add {
		list = append(list, child)
		sortByPath(list)
	}
	e.children.Store(&list)
}

// sortByPath puts entities in the order of their names, without case.
func sortByPath(list []*entity) {
	slices.SortFunc(list, func(a, b *entity) int {
		return strings.Compare(strings.ToLower(a.path), strings.ToLower(b.path))
	})
}
