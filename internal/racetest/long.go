//go:build long

package racetest

// Long reports whether campaigns are long: they are with -tags long.
const Long = true
