//go:build long

package metatest

import "math/rand/v2"

// How much Check does with -tags long: other histories each time.
const (
	histories = 1500
	stepsEach = 150
	modesEach = 4
)

// How much the test of queries alone does: for each number of ranges so many sets of documents, and so many
// queries each.
const (
	QueryDatasets = 3000
	QueriesEach   = 100
)

// Crashes is with how many seeds the store is made to crash under work: each has some hundred wrecks.
const Crashes = 25

// QueueHistories is how many random histories are played on a queue, with and without sessions each, and
// QueueMessages how many messages go through one whose memory must not grow with them.
const (
	QueueHistories = 100
	QueueMessages  = 100_000
)

// defaultSeed is where random tests begin unless the environment says where.
func defaultSeed() uint64 { return rand.Uint64() >> 1 }
