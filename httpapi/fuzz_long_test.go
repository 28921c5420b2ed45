//go:build long

package httpapi

import "math/rand/v2"

// How much the fuzz targets do with -tags long: other series each time.
const fuzzSeries = 5000

// fuzzSeed is where random series begin.
func fuzzSeed() uint64 { return rand.Uint64() }
