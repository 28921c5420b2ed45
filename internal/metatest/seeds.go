package metatest

import (
	"os"
	"strconv"
)

// SeedVariable is the environment variable that names the seed where random tests begin. CI draws a new one
// for each run and prints it; the same number plays the same histories again.
const SeedVariable = "MAYFLY_TEST_SEED"

// FirstSeed is where random tests begin: where the environment says, else where the build does. A variable
// that is no number is 0.
func FirstSeed() uint64 {
	text, ok := os.LookupEnv(SeedVariable)
	if !ok || text == "" {
		return defaultSeed()
	}
	n, _ := strconv.ParseUint(text, 10, 63)
	return n
}

// A keptSeed is a history that has failed, and the mode in which it did.
type keptSeed struct {
	seed uint64
	mode Mode
}

// keptSeeds are played by every Check that has the mode: whoever meets a seed that fails adds it here.
func keptSeeds() []keptSeed {
	return []keptSeed{
		{23537794335624, Mode{Sweep: Never, Reopen: Never, Ranges: 1, Policy: DefaultPolicy}},
		{23537794335624, Mode{Sweep: Never, Reopen: Never, Ranges: 4, Policy: DefaultPolicy}},
	}
}
