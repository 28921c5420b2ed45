//go:build long

package racetest

// Long reports whether tests repeat their steps often. It is true with -tags long.
const Long = true
