//go:build race && !long

package metatest

// The amount of work of Check under the race detector, which makes everything some ten times slower: fewer of
// the same histories.
const (
	histories = 8
	stepsEach = 60
	modesEach = 3
)

// The amount of work of the test of queries alone: sets of documents for each number of ranges, and queries
// for each set.
const (
	QueryDatasets = 10
	QueriesEach   = 50
)

// Crashes is the number of seeds with which the store is crashed under load; each makes some hundred crashed
// states.
const Crashes = 1

// QueueHistories is how many random histories run on a queue, with and without sessions each. QueueMessages
// is how many messages pass through a queue whose memory must not grow with them.
const (
	QueueHistories = 1
	QueueMessages  = 5_000
)

// defaultSeed returns the first seed of random tests unless the environment sets it.
func defaultSeed() uint64 { return 1 }
