//go:build long

package metamorphic

import "math/rand/v2"

// The size of the test of random histories (sequences of operations) with -tags long: the number of
// histories, the steps of each, and the number of modes (how often the reaper sweeps and the store is
// reopened, for example) in which each runs. The seeds differ in each run.
const (
	histories = 1500
	stepsEach = 150
	modesEach = 4
)

// The size of the test that only runs queries: sets of documents for each number of partition key ranges, and
// queries for each set.
const (
	QueryDatasets = 3000
	QueriesEach   = 100
)

// Crashes is the number of seeds with which the store is crashed under load; each creates some hundred
// crashed states.
const Crashes = 25

// QueueHistories is the number of random histories that run on a queue, with sessions and without.
// QueueMessages is the number of messages that are sent through a queue, whose memory must not grow with
// them.
const (
	QueueHistories = 100
	QueueMessages  = 100_000
)

// defaultSeed returns the first seed of random tests unless the environment sets it.
func defaultSeed() uint64 { return rand.Uint64() >> 1 }
