package priority

import (
	"testing"

	"golang.org/x/sys/unix"
)

// mine returns the nice value of the calling thread.
func mine(t *testing.T) int {
	t.Helper()
	kept, err := unix.Getpriority(unix.PRIO_PROCESS, unix.Gettid())
	if err != nil {
		t.Fatal(err)
	}
	return 20 - kept
}
