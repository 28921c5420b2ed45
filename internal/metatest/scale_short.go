//go:build !long && !race

package metatest

// The amount of work of Check: always the same histories, so
// that a change which passed once passes again. CI draws other histories in each run, so that over time more
// cases are covered.
const (
	histories = 12
	stepsEach = 60
	modesEach = 3
)

// The amount of work of the test of queries alone: sets of documents for each number of ranges, and queries
// for each set.
const (
	QueryDatasets = 12
	QueriesEach   = 50
)

// Crashes is the number of seeds with which the store is crashed under load; each creates some hundred
// crashed states.
const Crashes = 2

// QueueHistories is the number of random histories that run on a queue, with sessions and without.
// QueueMessages is the number of messages that are sent through a queue, whose memory must not grow with
// them.
const (
	QueueHistories = 2
	QueueMessages  = 20_000
)

// defaultSeed returns the first seed of random tests unless the environment sets it.
func defaultSeed() uint64 { return 1 }
