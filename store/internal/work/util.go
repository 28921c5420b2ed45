package work

import (
	"cmp"
	"slices"
)

// SortBy sorts s by a key of its elements.
func SortBy[E any, K cmp.Ordered](s []E, key func(E) K) {
	slices.SortFunc(s, func(a, b E) int { return cmp.Compare(key(a), key(b)) })
}

// Without returns a copy of s without e. s itself is not changed, so it can be read concurrently.
func Without[E comparable](s []E, e E) []E {
	return slices.DeleteFunc(slices.Clone(s), func(x E) bool { return x == e })
}
