package simulation

// KeptSeeds returns the seeds of simulations that have found a defect of Mayfly. The tests run them
// again. Seeds that have failed are added here, with a description of the defect.
func KeptSeeds() []uint64 {
	return []uint64{
		1010, // a split of a range that another server had split panicked
	}
}
