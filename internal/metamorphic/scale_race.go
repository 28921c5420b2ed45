//go:build race && !long

package metamorphic

// The number of histories and modes that Check runs under the race detector, which is about ten times slower:
// the first ones of a normal run.
const (
	histories = 8
	stepsEach = 60
	modesEach = 3
)

// The size of the test that only runs queries: sets of documents for each number of partition key ranges, and
// queries for each set.
const (
	QueryDatasets = 10
	QueriesEach   = 50
)

// Crashes is the number of seeds with which the store is crashed under load; each creates some hundred
// crashed states.
const Crashes = 1

// QueueHistories is the number of random histories that run on a queue, with sessions and without.
// QueueMessages is the number of messages that are sent through a queue, whose memory must not grow with
// them.
const (
	QueueHistories = 1
	QueueMessages  = 5_000
)

// defaultSeed returns the first seed of random tests unless the environment sets it.
func defaultSeed() uint64 { return 1 }
