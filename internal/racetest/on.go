//go:build race

package racetest

// On reports whether the race detector is enabled.
const On = true
