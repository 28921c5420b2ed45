//go:build !long

package metatest

// How much Check does: always the same histories, so that a change which passed once passes again.
const (
	histories = 320
	stepsEach = 60
	modesEach = 3
)

func firstSeed() uint64 { return 1 }
