// Package mayflytest gives a test its own Mayfly server: a store in memory, an endpoint on a loopback port
// for the SDKs of Azure Cosmos DB, and a clock that stands still until the test moves it.
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
// server is closed when the test ends. A goroutine or a request that is left over fails the test.
//
// # Time
//
// The clock is that of the data: it drives _ts, expiry, the change feed's times and GetCurrentTimestamp. The
// program's own time does not change; code under test that reads the time can be given Clock. When Advance
// returns, all effects of the move have happened: expired items are not only hidden but purged, and feeds and
// webhooks have been notified.
//
// # Seeds
//
// WithSeed fills a server from files: databases, containers, documents, scripts, users, and queues that
// expired documents are forwarded to. mayfly serve --seed uses the same files.
//
// # Faults
//
// Fail makes requests fail: with a 429 to be retried, with a dropped connection, or with a missing response
// although the write was done. With a seed the same requests fail in each run.
//
// # States
//
// Snapshot stores the present state and Restore returns to it, in milliseconds: fill the store once, and
// restore it before each case. Databases and containers that were looked up in the store before a Restore
// must be looked up again; HTTP clients need not do anything.
package mayflytest
