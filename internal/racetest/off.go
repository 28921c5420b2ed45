//go:build !race

package racetest

// On tells whether the race detector watches.
const On = false
