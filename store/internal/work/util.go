package work

import (
	"cmp"
	"slices"
)

// SortBy sorts s by a key of its elements.
func SortBy[E any, K cmp.Ordered](s []E, key func(E) K) {
	slices.SortFunc(s, func(a, b E) int { return cmp.Compare(key(a), key(b)) })
}

// Without is a copy of s without e: readers of s are not disturbed.
func Without[E comparable](s []E, e E) []E {
	return slices.DeleteFunc(slices.Clone(s), func(x E) bool { return x == e })
}
