// Package mayflytest gives a test its own Mayfly server: a store in memory, an endpoint on a loopback port
// for the SDKs of Azure Cosmos DB, and a clock that does not advance until the test moves it. The server has
// no endpoint for Service Bus: queues and topics that a seed defines can be used only through the API under
// /_mayfly.
//
//	func TestSession(t *testing.T) {
//		m := mayflytest.New(t)
//		sessions := m.Container("app/sessions", "/user")
//		app := NewApp(m.URL(), m.Key())
//
//		app.Login("ada")                    // writes {"id": "s1", "user": "ada", "ttl": 1800}
//		m.Advance(30 * time.Minute)         // no sleeping
//		if app.IsLoggedIn("ada") { ... }
//	}
//
// New takes a few milliseconds, so each test can have its own server, in parallel with other tests. The
// server is closed when the test ends. The test fails if a goroutine or a request of the server is still
// running then.
//
// # Time
//
// The clock is that of the data: it determines _ts, expiry, the times in the change feed and
// GetCurrentTimestamp. The program's own time does not change; if the code under test reads the time, let it
// read Clock. When Advance returns, all effects of the move have happened: expired items have been purged,
// and feeds and webhooks have been notified.
//
// # Seeds
//
// WithSeed fills a server from files (seeds): databases, containers, documents, scripts, users, and queues
// to which expired documents are forwarded. mayfly serve --seed uses the same files.
//
// # Faults
//
// Fail makes requests fail: with status 429, with a dropped connection, or with no response although the
// write succeeded. If a rule selects requests at random, FaultRule.Seed makes the same requests fail in each
// run.
//
// # States
//
// Snapshot stores the current state and Restore returns to it, in milliseconds: fill the store once, and
// restore it before each test case. After a Restore, get databases and containers from Store or Container
// again: those from before are not valid. HTTP clients need not do anything.
package mayflytest
