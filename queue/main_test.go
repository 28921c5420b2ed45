package queue

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, and then checks that no goroutine is left. Single tests cannot check this,
// because they run in parallel.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
