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
// Clients write, read and query documents, read change feeds, send, receive and settle messages, also in
// sessions, and send messages to a topic whose subscriptions are created meanwhile. They choose a server for
// each operation. At the same time an operator starts, stops, kills and pauses servers, makes the database
// fail and freeze, splits ranges and changes times to live. Connections break before a request was executed,
// after it, or before a commit that is executed later. The clocks of the servers differ by up to an hour and
// in their rates.
//
// # What is checked
//
//   - Each document has one writer. A read must show the last version that was acknowledged before it
//     began, or a later one, and nothing if the document was deleted or has expired. A document that was
//     found absent stays absent until it is written again.
//   - A write that was acknowledged is not lost, and is executed once. No LSN is issued twice. Unique keys
//     are unique.
//   - A client that reads a change feed page by page, at several servers, receives the versions of a document
//     in their order, and the last version of each document that exists in the end.
//   - A message has one holder at a time. It is never received after it was completed, before it is due, or
//     a second time with another sequence number. If its send was acknowledged, it is received in the end.
//     The messages of a session come in their order, and a session has one holder.
//   - A message that was sent to a topic is, once, in each subscription that was created before.
//   - No two running servers work under the same lease.
//   - At the end, without disturbances, all of the above holds for every document, by reads, queries and
//     change feeds, and for every message. A send to one server wakes a receiver that waits at another one.
//     The checks of the store and of the queues find nothing.
//
// # What a seed determines
//
// The clients and the operator draw from the seed. The delay and the failure of an exchange follow from the
// seed, the server's name, the simulated time, and the operation and the keys of the exchange. So they do not
// depend on what other servers and goroutines do. Delays differ by nanoseconds, so as a rule one goroutine
// runs at a time.
//
// Go itself makes more choices: the order of goroutines that wake at the same moment, when a goroutine is
// preempted, which ready case a select takes, the order of the keys of a map, and when it collects garbage.
// On the processors of a machine no seed determines them. The tests therefore run simulations in a sandbox:
// the test binary of this package, compiled to WebAssembly (GOOS=wasip1), in the runtime wazero. There the
// whole Go program has one thread without preemption. Its only inputs are the simulation's configuration, a
// clock that advances with each call, and a stream of random bytes that follows from the seed. Go seeds its
// own choices from that stream. So a seed determines every step, on every machine, as long as the code is
// the same. TestSeeds runs seeds twice and compares all steps.
//
//	MAYFLY_TEST_SEED=5 go test -tags long ./internal/simulation -run TestSeeds/repeat
//	MAYFLY_TEST_SEED=5 go test ./internal/simulation -tags long -run TestCampaign
//
// The first command runs a short simulation of a seed, the second one the simulation of the campaign and
// those of the following seeds. A change of the code changes the run of a seed: after the correction of a
// fault, the fault needs a test of its own where it was made.
//
// Outside of a sandbox a simulation takes about a tenth of the processor time, and the race detector can
// check it. Most runs of a seed are equal there, too, but not all.
//
// # Steps
//
// Config.Steps receives the steps of a simulation as they happen: what clients and operators do, each
// exchange with the database, and each commit. A test that fails prints the actions of clients and operators,
// and writes all steps to a file if the flag -artifacts is set. If the program panics, the test prints the
// last steps.
//
// # Throughput
//
// Measure simulates clients that create documents as fast as they can, over a database whose commits and rows
// take time. It compares their throughput with a formula.
package simulation
