package httpapi

import (
	"runtime/debug"
	"testing"
)

// Tests make much garbage and keep little: a third of their time was collections.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}
