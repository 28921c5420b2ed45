// Package engine is the interface between the store and the storage engines that keep its bytes.
//
// An engine keeps ordered keys and offers two operations. View gives a function one consistent snapshot.
// Update gives a function a transaction: it runs alone in the scopes that it names, reads its own writes,
// commits atomically and is durable on return. There is no explicit begin or commit, so rollback and the
// release of locks are implemented once, in the engine.
//
// # Scopes and LSNs
//
// A scope is a byte prefix of keys, and stands for all keys with that prefix: in practice those of one
// partition range of a container, of one queue or topic, or of the catalog. Transactions of one scope are
// serial; transactions of different scopes run in parallel. Each scope issues log sequence numbers (LSNs).
// Within a scope, LSN order, commit order and visibility order are the same.
//
// An LSN identifies a transaction, not a write. A caller takes one LSN for everything that it writes in a
// scope and numbers its writes below that LSN itself. It takes another LSN only if it has more writes than
// numbers.
//
// An LSN must never identify two transactions, even if the first one was read by somebody and then lost in a
// crash. Therefore an LSN is issued only below a ceiling that is already durable, and a scope that is opened
// again starts at its ceiling.
//
// # Marks
//
// A scope has a mark: a number that callers set and that is returned with every position. It versions what
// callers cache about the scope in memory. A caller that receives another mark than the one it cached must
// read its cached state again. Reading the mark costs nothing extra: an engine with exclusive access has it
// in memory, and a shared engine reads it together with the position.
//
// # Visible is not durable
//
// An engine may show a commit before it is durable (Pebble does). Horizon returns up to which LSN a scope is
// durable. Callers must not return data to clients before it is durable. A caller that has read an LSN above
// the horizon calls Settle, which returns when everything that has been read of the scope is durable.
//
// # Errors
//
// Errors are the sentinels of this package, wrapped with details. A panic inside a function that View or
// Update runs is passed on to the caller of View or Update, after the locks have been released.
//
// The package engine/enginetest holds the conformance suite that every engine must pass.
package engine
