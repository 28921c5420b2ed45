// Package transaction has the transactions on the items of one partition range of a container.
//
// An operation on an item has two halves. ImmutableContainerProperties.Prepare does everything that does not
// depend on stored items, before any lock is taken: it parses and validates the document, hashes the
// partition key, and creates the index entries. Tx.Apply does the rest inside a transaction. A single write,
// a batch, a patch and a script all use these two, so that no rule is implemented twice.
//
// The functions put and del of a Tx are the only code that writes the keys of items (tx*.go). Requests and
// the reaper both use them, so that an item, its feed entry, its deadline and its unique keys stay
// consistent.
//
// A caller begins a Tx with the state and the partition range that are in force, and holds the container's
// gate until Learn has returned:
//
//	t.Begin(txn, container, state, partition, now)
//	result := t.Apply(prepared)
//	t.Finish() // the last step inside of the engine's transaction
//	t.Learn()  // after the commit
//
// A ghost is an item that has expired, or was deleted with its whole partition key, and is still stored. A
// transaction purges a ghost that holds an id or a unique key which a write needs. If the ghost must be moved
// to an expiry sink, the transaction lacks the sink's scopes: it ends with ErrBlocked, and Blocked names the
// item. The caller moves it and runs the transaction again.
package transaction
