//go:build race

package store

// longSeeds is with how many seeds a test that is long in itself is run: fewer under the race detector, which
// makes everything some ten times slower.
const longSeeds = 1
