// Package metatest writes random histories of a container and compares what a store answers with what a plain
// map would: the store's rules said a second time, as simply as they can be said.
//
// A history is text, one step a line, so that what a failing test prints can be read, cut down by hand and
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
//   - Generate draws a history from a seed. Its keys, times to live and unique values come from small sets, so that
//     steps collide; an etag is named by its role (cur, old), so that a history still means something when a
//     step is taken out of it.
//   - Mode.Apply puts the axes into the history: sweeps and reopens become steps, the number of ranges and the indexing
//     policy that it begins with settings, and what others do while a step is under way its acts (Act).
//   - Run gives each step to a Subject and to a Twin and compares the two answers, and Shrink cuts a failing
//     history down.
//   - Check does all of this for many seeds and all axes.
//
// # The twin
//
// The Twin has no floors, no generations and no index. It lets its clock pass second by second and marks, in
// every second, the items that the plain rule says are dead; the mark never goes away. That the store, which
// keeps two numbers instead, gives the same answers is the point of the exercise. Queries it leaves to
// package naive, over the items that are alive; of the indexing policy it knows only which ORDER BY is
// refused under it (Refused).
//
// # What comes between
//
// A step can meet others in its gaps, which are the calls that it makes of the engine:
//
//	at 9 create a@x ttl=5 v=4 between=2:advance:7,2:sweep
//
// Gap 2 of a write lies behind its closure and before its commit. There the clock goes on by seven seconds,
// and the reaper comes. One goroutine runs at a time (between), and who would have to wait comes later: so
// such a history goes the same way each time, and is cut down like any other. The step takes effect at one
// moment, before, between or behind what changes meanwhile; the answer must be that of one of those
// (outcomes), and the history goes on with the twins that would have given it. Each sweep in such a history
// reports how much it leaves, which is what is alive and nothing else.
//
// # Worlds
//
// A World is a smaller kind of history, of times to live alone: leases, ceilings and imports beside the
// writes, and 25 partitions that share a container, a default and a clock. Its Simulation goes second by
// second, too, and shares nothing with the Twin.
//
// # Queries
//
// RandomFields and RandomQuery draw documents and queries from the same few words, so that the one finds the
// other. They serve tests of queries without histories as well.
//
// # Names instead of values
//
// Etags, rids and LSNs differ from run to run. An answer names them by the order in which they came up (e1,
// e2, r1), and times by the seconds since the history began. OpenStore, the Subject over package store, keeps
// what each name stood for and fails where an etag, a rid or an LSN comes to name something else. The rows of
// a query are shown without them.
package metatest
