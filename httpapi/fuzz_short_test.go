//go:build !long

package httpapi

// fuzzSeries is the number of random request sequences that a fuzz target runs without -tags long.
const fuzzSeries = 24

// fuzzSeed returns the seed of the random sequences: always the same.
func fuzzSeed() uint64 { return 1 }
