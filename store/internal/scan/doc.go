// Package scan reads the items of a scope from one snapshot, range by range: for queries, lists and
// change feeds. Resolve resolves a scope against a state of the container; a DocumentSource reads the part of the
// scope that lies in one range.
//
//	resolved_scope.go   ResolvedKeyOrRange: a resolved scope
//	source.go           Source: items by rid, in order, by index entries (iter.go), by shapes (shapes.go)
//	count.go            counts of items without the expired ones (version.go: versions of a count)
//	continuation.go     continuation tokens
//	route.go            pages over several ranges, in the form of Cosmos DB's gateway
package scan
