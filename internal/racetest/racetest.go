package racetest

import "testing"

// Sequential skips a long test without concurrency under the race detector.
func Sequential(t testing.TB) {
	if t.Helper(); On {
		t.Skip("one goroutine does everything: nothing for the race detector to find")
	}
}

// Fewer returns how often to repeat something: n times, or n/divisor times under the race detector, at least
// once.
func Fewer(n, divisor int) int {
	if !On {
		return n
	}
	return max(n/divisor, 1)
}

// Campaign returns how often a test repeats itself: few times, or many times with -tags long. The few
// repetitions must meet every kind of step.
func Campaign(many, few int) int {
	if Long {
		return many
	}
	return few
}
