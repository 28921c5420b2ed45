// Package mayflytest gives a test a whole Mayfly of its own: a store in memory, an endpoint on a loopback
// port that the SDKs of Azure Cosmos DB can talk to, and a clock that stands still until the test moves it.
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
// New takes a few milliseconds, so each test can have its own, in parallel with others. What it starts it
// ends when the test does, and a goroutine or a request that is left over fails the test.
//
// # Time
//
// The clock is that of the data: it drives _ts, expiry, the change feed's times and GetCurrentTimestamp. It
// is not the program's: code under test that asks for the time by itself can be given Clock. Advance returns
// when all that the move has brought about has happened: what has expired by then is not only hidden, it is
// purged, and feeds and webhooks have been told.
//
// # Seeds
//
// WithSeed gives a server what files say that it has: databases, containers, documents, scripts, users, and
// queues that expired documents are forwarded to. The same files serve mayfly serve --seed.
//
// # Faults
//
// Fail lets requests fail: with a 429 to be repeated, with a connection that is dropped, with an answer that
// does not come although the write was done. By a seed they are the same in each run.
//
// # States
//
// Snapshot keeps the present state and Restore goes back to it, in milliseconds: fill the store once, and put
// it back before each case. What was looked up in the store before a Restore (databases, containers) has to
// be looked up again; over HTTP nothing is to be done.
package mayflytest
