//go:build long

package httpapi

import "math/rand/v2"

// fuzzSeries is the number of random request sequences that a fuzz target runs with -tags long.
const fuzzSeries = 5000

// fuzzSeed returns the seed of the random sequences: another one each time.
func fuzzSeed() uint64 { return rand.Uint64() }
