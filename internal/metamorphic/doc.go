// Package metamorphic generates random histories of a container and compares the results of a store
// ("answers") with those of a simple model, which implements the store's rules a second time, as simply as
// possible.
//
// A history is text, one step a line, so that the output of a failing test can be read, reduced by hand and
// kept as a golden timeline:
//
//	timeline kind=v2 ranges=1 default=10 unique
//	at 10 create a@x ttl=5 u=1 v=1
//	at 14 replace a@x v=2 fields={"n":1,"tags":["a"]} if-match=cur
//	at 16 batch atomic upsert:b@x patch:a@x read:a@x v=3
//	at 19 read a@x
//	at 20 sweep
//	at 20 list page=2
//	at 21 query in=x page=1 @n=1 SELECT VALUE c.id FROM c WHERE c.n = @n ORDER BY c.v
//
// The parts, in the order in which data flows:
//
//   - Generate draws a history from a seed. Its keys, times to live and unique values come from small sets,
//     so that steps collide. An etag is named by its role (cur, old), so that a history stays meaningful when
//     a step is removed.
//   - HistoryRunConditions.Apply adds the conditions to the history: sweeps and reopens become steps, the
//     number of ranges and the initial indexing policy become settings, and concurrent operations become acts
//     (ConcurrentOperation).
//   - Run gives each step to a TestSubject and a ReferenceModel and compares the two answers, and Shrink
//     reduces a failing history.
//   - Check does all of this for many seeds and all modes.
//
// # The model
//
// The model is the type ReferenceModel. It has no index. Its clock advances second by second, and in every
// second it marks the items that have expired by the default and the items' own ttl as they are then; a mark
// is never removed. The store has no marks: it computes from a record of earlier changes of the default which
// items stay expired. The test checks that its answers are the same. For queries the ReferenceModel uses
// package naivequery, over the live items. Of the indexing policy it only models which ORDER BY is refused
// (Refused).
//
// # Concurrent operations
//
// Other operations, called acts, can run in the gaps of a step, which are its calls of the engine:
//
//	at 9 create a@x ttl=5 v=4 between=2:advance:7,2:sweep
//
// Gap 2 of a write is after its closure and before its commit. In the example the clock advances there by
// seven seconds, and then the reaper runs. Only one goroutine runs at a time (interleavingEngine), and an act
// that would have to wait is postponed. So such a history is deterministic, and can be reduced like any
// other. The step takes effect at one moment: before, between or after the concurrent changes. Its answer
// must be the one that is correct at one of these moments (outcomes), and the history continues with the
// models that give this answer. Each sweep in such a history reports how many items are left: exactly the
// live ones.
//
// # Timelines
//
// A ContainerTimeline is a smaller kind of history, only about times to live: writes, leases, imports and
// ceilings (a default that limits the items' own ttl), and 25 partitions that share a container, a default
// and a clock. Its ItemExpiryModel advances second by second, too, and shares no code with the
// ReferenceModel.
//
// # Queries
//
// RandomFields and RandomQuery draw documents and queries from the same few words, so that queries find
// documents. They are also used by tests of queries without histories.
//
// # Names instead of values
//
// Etags, rids and LSNs differ from run to run. An answer names them by the order in which they appeared (e1,
// e2, r1), and gives times in seconds since the history began. OpenStore, the TestSubject over package store,
// records what each name stands for and fails if an etag, a rid or an LSN is used again for something else.
// The rows of a query are shown without them.
package metamorphic
