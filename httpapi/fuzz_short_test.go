//go:build !long

package httpapi

// How much the fuzz targets do in a plain run of the tests.
const fuzzSeries = 24

// fuzzSeed is where random series begin.
func fuzzSeed() uint64 { return 1 }
