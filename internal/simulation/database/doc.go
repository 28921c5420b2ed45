// Package database is a model of a PostgreSQL database that several servers share: an engine in memory with
// the semantics of engine/postgres. It exists for simulations. In this package "database" always means this
// model.
//
//	db := database.New(database.Options{Seed: 1, Network: n})
//	a, b := db.Open(machine), db.Open(other)
//
// Each Engine is the engine of one server. It implements engine.Engine, engine.Getter, engine.SharedEngine,
// engine.DatabaseTimeReporter and engine.CommitNotifier.
//
// # Exchanges
//
// A server communicates with the database by exchanges. An exchange is a round trip: a request, its
// execution, and the response. It takes time, by the clock of Options, and each part of it can fail: the
// request or the response is lost, or the request arrives after the server has stopped waiting. So a server
// may not know the outcome of a commit. It then queries the outcome, which the database returns only when
// the transaction has ended, as engine/postgres does with its stamps.
//
// The number of exchanges follows engine/postgres: one to begin a transaction, one to commit it, and one for
// each read whose keys were not read before.
//
// # Transactions
//
// A transaction holds the locks of its scopes from its beginning until its end. Each of its statements
// reads the data that are committed at that moment, so keys outside of its scopes may change between two
// statements. A View reads the data as of its first statement. Updates of one scope in one server share
// transactions (group commit).
//
// A deletion of a range of keys deletes the keys that existed when the statement began, even if it then
// waits for other transactions. This is what PostgreSQL does at READ COMMITTED.
//
// # Failures
//
// Fail breaks all connections and begins an outage: committed data stay, running transactions are rolled
// back. Freeze stops the database: requests wait, and are executed when it continues, even if the servers
// have stopped waiting by then. An Engine can be paused, as a process can be stopped by its machine, and
// killed.
//
// # Defects
//
// Defects make the database or its connections violate the rules on purpose, so that tests can prove that a
// simulation detects them.
package database
