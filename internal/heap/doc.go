// Package heap is a generic container/heap: it needs no interface, and elements are not boxed. It is used to
// merge iterators, to find the best scores, and to find the first rows of an ORDER BY.
package heap
