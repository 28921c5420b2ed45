package racetest

import "testing"

// Sequential skips a long test under the race detector: nothing in it goes on side by side.
func Sequential(t testing.TB) {
	if t.Helper(); On {
		t.Skip("one goroutine does everything: nothing for the race detector to find")
	}
}

// Fewer is how often something is repeated: n times, or once in divisor under the race detector, but once at
// least.
func Fewer(n, divisor int) int {
	if !On {
		return n
	}
	return max(n/divisor, 1)
}
