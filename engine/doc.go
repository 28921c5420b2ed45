// Package engine is the seam between the store and what keeps its bytes.
//
// An engine keeps ordered keys. It offers two verbs. View gives a function one consistent snapshot. Update
// gives a function a transaction that is alone in the scopes that it names, reads its own writes, commits
// atomically and is durable on return. There is no way to begin or commit by hand: rollback, and the release
// of what was locked, exist once, in the engine.
//
// # Scopes and LSNs
//
// A scope is a byte prefix, in practice one storage slot of one container. Transactions of one scope are
// serial; transactions of different scopes run side by side. Each scope issues log sequence numbers (LSNs).
// Inside a scope the order of LSNs is the order of commits is the order of visibility.
//
// An LSN counts a transaction, not a write: a caller takes one for all that it writes in a scope, and numbers
// its writes below it by itself. Only who has more writes than it has numbers takes another.
//
// An LSN must never name two transactions, not even where the first was read by somebody and then lost in a
// crash. Therefore an LSN is only issued below a ceiling that is durable already, and a scope that is opened
// again starts at its ceiling.
//
// # Marks
//
// A scope has a mark, a number that its callers set and that is told with every position: for what they keep
// in memory about the scope. Who finds another mark than he knows reads that anew. It costs no read of its
// own: an engine that is alone has it in memory, and one that is not reads it where it reads the position.
//
// # Visible is not durable
//
// An engine may show a commit before it is durable (Pebble does). Horizon reports how far a scope is durable.
// The rule for callers: nothing is answered that is not durable. Who has read an LSN above the horizon
// calls Update with a function that writes nothing; it returns when everything before it is durable.
//
// # Errors
//
// Errors are the sentinels of this package, wrapped where there is more to say. A panic inside a function
// that View or Update runs is passed on to the caller of View or Update, after the locks have been released.
//
// The package engine/enginetest holds the conformance suite that every engine must pass.
package engine
