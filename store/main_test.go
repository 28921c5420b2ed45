package store

import (
	"os"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// Tests make much garbage and keep little: a third of their time was collections. They run side by side, so
// that only after all of them a goroutine that is left belongs to none.
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
