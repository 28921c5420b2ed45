package queue

import (
	"slices"
	"strings"
)

// changeChildren adds a subscription to its topic, or removes it. It replaces the list and never modifies
// it, so that readers can iterate over the old one. The caller holds the dataset's mutex.
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
