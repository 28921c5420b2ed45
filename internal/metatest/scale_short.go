//go:build !long && !race

package metatest

// How much Check does: as many histories as it takes for each mode to meet several, and always the same ones,
// so that a change which passed once passes again. CI draws other ones for each run, so that what one run
// does not come to another one does.
const (
	histories = 32
	stepsEach = 60
	modesEach = 3
)

// How much the test of queries alone does: for each number of ranges so many sets of documents, and so many
// queries each.
const (
	QueryDatasets = 32
	QueriesEach   = 50
)

// Crashes is with how many seeds the store is made to crash under work: each has some hundred wrecks.
const Crashes = 1

// QueueHistories is how many random histories are played on a queue, with and without sessions each, and
// QueueMessages how many messages go through one whose memory must not grow with them.
const (
	QueueHistories = 3
	QueueMessages  = 20_000
)

// defaultSeed is where random tests begin unless the environment says where.
func defaultSeed() uint64 { return 1 }
