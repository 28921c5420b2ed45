package simulation

// KeptSeeds are the seeds of simulations that have found a fault of Mayfly. The campaign repeats them. Add
// each seed that has failed here, with what it has found.
func KeptSeeds() []uint64 {
	return []uint64{
		1010, // a split of a range that another server had split panicked
	}
}
