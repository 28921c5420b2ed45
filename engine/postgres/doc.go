// Package postgres is the engine on PostgreSQL, and on databases that speak its protocol and dialect: the
// contract of package engine kept by one table of keys.
//
// # A scope's lock
//
// Each scope has its ceiling (engine.CeilingKey) as a row of the table, and the value of the row is the next
// LSN. Update locks the rows of its scopes in the order of their bytes (SELECT ... FOR UPDATE) and reads the
// marks and what is known ahead in a second statement of the same pipeline: at READ COMMITTED a statement
// that has waited for a lock sees the state before the wait, and the next one the state after it. A scope
// that has issued no LSN has no ceiling; it is locked by a row of a second table.
//
// # Group commit
//
// In this process a scope has a leader, who holds the transaction, and a queue. The leader takes the lock and
// then has all who have queued up run their functions, each on its own goroutine, in the one transaction. A
// function that fails is undone in the transaction's writes, which are in memory until the commit. All of
// them are answered when the transaction is committed, since each may have read what another one wrote. Where
// it cannot be committed all run again.
//
// # Lost answers
//
// Where the connection breaks behind a COMMIT, nobody knows what has become of it. Each connection therefore
// has a row of its own, the stamp, that each of its transactions sets to the number of the transaction before
// anything else. Who locks the stamp by another connection waits until the lost transaction is over and then
// reads in the stamp whether it has been committed. The stamp is written when the transaction begins, so that
// no COMMIT can still be under way where its row is free and old.
//
// # Time limits
//
// A server that is stopped, or a host that is gone, answers nothing and breaks no connection. So each
// exchange with the database has a limit, by the clock of the machine; where one has passed the connection
// counts as lost. A COMMIT is never cancelled: what waits for a standby then would become visible without
// being safe.
//
// # Views
//
// A View is a transaction at REPEATABLE READ whose snapshot is that of its first statement. Views and Updates
// have pools of connections of their own, because each may contain the other. What a View or an Update has
// read once is remembered until its function returns.
//
// # Keys
//
// An index of PostgreSQL takes rows of 2,704 bytes at most. A key of 2,593 bytes or more is stored as its
// first 2,560 bytes, the byte FF and the SHA-256 of all of it, with the whole key before the value. Among
// keys that agree in their first 2,560 bytes the order is that of the hashes.
package postgres
