//go:build !race

package store

// longSeeds is with how many seeds a test that is long in itself is run.
const longSeeds = 3
