package query

import (
	"runtime/debug"
	"testing"
)

// TestMain runs the tests with less frequent garbage collections, since the tests create much garbage and
// keep little memory.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}
