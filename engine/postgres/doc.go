// Package postgres is the engine for PostgreSQL, and for databases that speak its protocol and dialect. It
// implements package engine with one table of keys.
//
// # A scope's lock
//
// Each scope has its ceiling (engine.CeilingKey) as a row of the table; the value of the row is the next LSN.
// Update locks the rows of its scopes in byte order (SELECT ... FOR UPDATE). A second statement of the same
// pipeline reads the marks, and the keys that the caller expects to read. It must be a second statement: at
// READ COMMITTED, a statement that has waited for a lock sees the state before the wait, and the next
// statement sees the state after it. A scope that has issued no LSN has no ceiling; it is locked by a row of
// another table, mayfly_newscope.
//
// # Group commit
//
// In this process a scope has a leader, which owns the transaction, and a queue. The leader locks the scope.
// Then the queued Updates run their functions in the leader's transaction, one after the other, each on its
// own goroutine. If a function fails, its writes are undone; they are in memory until the commit. All members
// of the group get their results when the transaction is committed, since each may have read what another one
// wrote. If the transaction cannot be committed, all functions run again.
//
// # Lost responses
//
// If the connection breaks after a COMMIT was sent, the outcome is unknown. Each connection therefore has its
// own row, the stamp. Each transaction first sets the stamp of its connection to the transaction's number. To
// find out the outcome, another connection locks the stamp: that waits until the lost transaction has ended.
// Then the stamp shows whether the transaction was committed. Since the stamp is written at the beginning of
// the transaction, no COMMIT can still be running when its row is unlocked and holds the old number.
//
// # Time limits
//
// A server that is stopped, or a host that is gone, sends no response and breaks no connection. So each
// exchange with the database has a limit, by the clock of the machine; when it has passed, the connection
// counts as lost. A COMMIT is never cancelled: if it waits for a standby, cancelling would make it visible
// although it is not safe.
//
// # Views
//
// A View is a transaction at REPEATABLE READ whose snapshot is that of its first statement. Views and Updates
// have separate connection pools, because each may run inside the other. A View or an Update caches what it
// has read until its function returns.
//
// # Keys
//
// A row of a PostgreSQL index has at most 2,704 bytes. A key of 2,593 bytes or more is stored as its first
// 2,560 bytes, the byte FF and the SHA-256 of the whole key; the whole key is stored before the value. Keys
// with the same first 2,560 bytes are ordered by their hashes.
package postgres
