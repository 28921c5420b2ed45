//go:build unix

package bench

import (
	"syscall"
	"time"
)

// processCPU is the CPU time, user and system, that this process has used.
func processCPU() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
