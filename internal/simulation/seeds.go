package simulation

// KeptSeeds are the seeds of simulations that have found a fault of Mayfly. Each test run repeats them. Add
// each seed that has failed here, with what it has found.
func KeptSeeds() []uint64 {
	return nil
}
