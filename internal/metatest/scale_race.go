//go:build race && !long

package metatest

// How much Check does under the race detector, which makes everything some ten times slower: fewer of the
// same histories.
const (
	histories = 8
	stepsEach = 60
	modesEach = 3
)

// How much the test of queries alone does: for each number of ranges so many sets of documents, and so many
// queries each.
const (
	QueryDatasets = 10
	QueriesEach   = 50
)

// Crashes is with how many seeds the store is made to crash under work: each has some hundred wrecks.
const Crashes = 1

// QueueHistories is how many random histories are played on a queue, with and without sessions each, and
// QueueMessages how many messages go through one whose memory must not grow with them.
const (
	QueueHistories = 1
	QueueMessages  = 5_000
)

// defaultSeed is where random tests begin unless the environment says where.
func defaultSeed() uint64 { return 1 }
