package store

import (
	"cmp"
	"slices"
)

// sortBy sorts s by a key of its elements.
func sortBy[E any, K cmp.Ordered](s []E, key func(E) K) {
	slices.SortFunc(s, func(a, b E) int { return cmp.Compare(key(a), key(b)) })
}

// without is a copy of s without e: readers of s are not disturbed.
func without[E comparable](s []E, e E) []E {
	return slices.DeleteFunc(slices.Clone(s), func(x E) bool { return x == e })
}
