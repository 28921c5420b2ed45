package httpapi

import (
	"flag"
	"runtime/debug"
	"testing"
)

// TestMain runs the tests with less frequent garbage collection, because they create much garbage and keep
// little, and with four tests in parallel, because those mostly wait for time limits. The flag -parallel
// replaces the number.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	m.Run()
}
