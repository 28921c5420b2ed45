//go:build !race

package racetest

// On reports whether the race detector watches.
const On = false
