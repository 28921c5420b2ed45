// Package simulation simulates servers that share one PostgreSQL database. Each server is the real host,
// store and queues; PostgreSQL and the network are replaced by a model (package database).
//
// A simulation runs in a bubble of testing/synctest, so its time is simulated: two minutes of many servers
// take seconds.
//
//	synctest.Test(t, func(*testing.T) {
//		report = simulation.Run(simulation.Config{Seed: 1, Servers: 4, ...})
//	})
//
// # What happens
//
// Clients write, read and query documents, and send, receive and settle messages, also in sessions. They
// choose a server for each operation. At the same time an operator starts, stops, kills and pauses servers,
// makes the database fail and freeze, splits ranges and changes times to live. Connections break before a
// request was executed, after it, or before a commit that is executed later. The clocks of the servers
// differ by up to an hour and in their rates.
//
// # What is checked
//
//   - Each document has one writer. A read must show the last version that was acknowledged before it
//     began, or a later one, and nothing if the document was deleted or has expired. A document that was
//     found absent stays absent until it is written again.
//   - A write that was acknowledged is not lost, and is executed once. No LSN is issued twice. Unique keys
//     are unique.
//   - A message has one holder at a time. It is never received after it was completed, before it is due, or
//     a second time with another sequence number. If its send was acknowledged, it is received in the end.
//     The messages of a session come in their order, and a session has one holder.
//   - No two running servers work under the same lease.
//   - At the end, without disturbances, all of the above holds for every document, by reads, queries and
//     change feeds, and for every message. A send to one server wakes a receiver that waits at another one.
//     The checks of the store and of the queues find nothing.
//
// # What a seed determines
//
// The clients and the operator draw from the seed. The delays and failures of exchanges follow from the
// seed, the server's name and the simulated time, so they do not depend on what other servers do. Delays
// differ by nanoseconds, so as a rule one goroutine runs at a time. A seed does not determine Go's choices
// inside of a server: the order of goroutines that wake at the same moment, of the ready cases of a select,
// and of the keys of a map. Two runs of a seed are therefore equal at first and may differ later. So a
// failure is repeated by its seed only if it does not depend on such a choice. It helps to run a seed
// several times.
//
// # Throughput
//
// Measure simulates clients that create documents as fast as they can, over a database whose commits and rows
// take time. It compares their throughput with a formula.
package simulation
