// Package view defines the read-only view of a container: one state of it as plain values, and the keys of
// its items.
//
//	container_state.go   ContainerAtTime: definition, policy, moment, ranges and tombstones of one state
//	item.go              DecodedItem: an item as stored, and all keys that exist because of it
//	piece.go             ReadPiece: a bounded number of bytes of a range of keys
//	terms.go             the index entries of an item as stored in the engine
//	lifetime_rules.go    LifetimeRules: times to live of items, also of those written under an earlier policy
//
// The store fills a ContainerAtTime from memory and returns it with a snapshot of the engine that was taken
// under that state. Together they describe the container completely at that moment, and are read-only.
// Package store/internal/check uses them to check the container's keys, and store/inspect to compute
// future expiries.
//
// The writers of items build keys with the same functions, so readers and writers always agree about the
// keys of an item.
package view
