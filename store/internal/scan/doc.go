// Package scan reads the items of a scope from one snapshot, range by range: for queries, lists and change
// feeds. A scope is resolved against a state of the container (Resolve); a Source shows what of it lies
// in one range.
//
//	span.go          a Scope, resolved
//	source.go        Source: items by rid, in order, by index entries (iter.go), by shapes (shapes.go)
//	count.go         counts of items, without those that have expired (version.go: versions of a count)
//	continuation.go  where the next page begins
//	route.go         pages that go over several ranges as Cosmos DB's gateway makes them
package scan
