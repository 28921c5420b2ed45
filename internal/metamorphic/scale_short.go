//go:build !long && !race

package metamorphic

// The number of histories and modes that Check runs. The seeds are always the same, so that a change that has
// passed once passes again. CI draws another first seed in each run, so that more cases are covered over
// time.
const (
	histories = 12
	stepsEach = 60
	modesEach = 3
)

// The size of the test that only runs queries: the number of sets of documents for each number of partition
// key ranges, and the number of queries for each set.
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
