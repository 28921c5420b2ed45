package metamorphic

import (
	"os"
	"strconv"
)

// SeedVariable is the environment variable with the first seed of random tests. CI draws a new one for each
// run and prints it; the same number runs the same histories again.
const SeedVariable = "MAYFLY_TEST_SEED"

// FirstSeed returns the first seed of random tests: from the environment if it is set there, otherwise the
// build's default. A value that is not a number counts as 0.
func FirstSeed() uint64 {
	text, ok := os.LookupEnv(SeedVariable)
	if !ok || text == "" {
		return defaultSeed()
	}
	n, _ := strconv.ParseUint(text, 10, 63)
	return n
}

// failedSeed is the seed of a history that has failed, and the mode in which it failed.
type failedSeed struct {
	seed uint64
	mode HistoryRunConditions
}

// keptSeeds returns the seeds of random histories that have failed before, each with the mode in which it
// failed. Every Check runs them again.
func keptSeeds() []failedSeed {
	return []failedSeed{
		{23537794335624, HistoryRunConditions{Sweep: Never, Reopen: Never, Ranges: 1, Policy: DefaultPolicy}},
		{23537794335624, HistoryRunConditions{Sweep: Never, Reopen: Never, Ranges: 4, Policy: DefaultPolicy}},
	}
}
