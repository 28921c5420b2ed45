package racetest

import "testing"

// Sequential skips the test if the race detector is enabled. It is for long tests with a single goroutine.
func Sequential(t testing.TB) {
	if t.Helper(); On {
		t.Skip("one goroutine does everything: nothing for the race detector to find")
	}
}

// Fewer returns how often to repeat something: n times or, if the race detector is enabled, n/divisor times,
// but at least once.
func Fewer(n, divisor int) int {
	if !On {
		return n
	}
	return max(n/divisor, 1)
}

// Campaign returns how often a test repeats its steps: few times, or many times with -tags long. few must be
// enough for every kind of step to occur.
func Campaign(many, few int) int {
	if Long {
		return many
	}
	return few
}
