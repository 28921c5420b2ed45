// Package view is what a container is to those who only look: one state of it as plain values, and what an
// item and its keys are.
//
//	state.go  State: the definition, the policy, the moment, the ranges and the tombstones, which belong together
//	item.go   Item, read from its stored value, and all the keys that exist because it does
//	terms.go  its index entries as they lie in the engine
//
// The store fills a State from what it holds in memory and hands it out with a snapshot of the engine that
// was made under it. Whoever has both can tell all that is true of the container at that moment, and change
// nothing: package store/internal/check proves that its keys agree, and store/inspect looks ahead.
//
// The writers of items make keys by the same functions. There is no second opinion about which keys an item
// has.
package view
