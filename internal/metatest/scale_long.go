//go:build long

package metatest

import "math/rand/v2"

// How much Check does with -tags long: other histories each time.
const (
	histories = 1500
	stepsEach = 150
	modesEach = 4
)

func firstSeed() uint64 { return rand.Uint64() >> 1 }
