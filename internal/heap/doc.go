// Package heap keeps the first of some elements at hand. It does what container/heap does, without its
// interface: elements are of any type, and nothing is boxed. Merges of iterators, the best of many scores and
// the first rows of an ORDER BY are made with it.
package heap
