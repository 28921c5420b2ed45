package queue

import (
	"testing"

	"go.uber.org/goleak"
)

// The tests run side by side, so that only after all of them a goroutine that is left belongs to none.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
