package httpapi

import (
	"flag"
	"runtime/debug"
	"testing"
)

// The tests create much garbage and keep little: a third of their time was collections. Those that run in
// parallel wait for the time limits of connections most of the time. A flag of the command replaces the
// number.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	m.Run()
}
