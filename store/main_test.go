package store

import (
	"os"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs all tests and then fails if a goroutine is still running. It lets the garbage collector
// run less often, because the tests make much garbage and keep little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(
			goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"), // ends by itself
			goleak.IgnoreTopFunction(
				"github.com/cockroachdb/pebble/v2.(*ConcurrencyLimitScheduler).periodicGranter"),
		); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
