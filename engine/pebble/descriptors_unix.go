//go:build unix

package pebble

import (
	"math"
	"syscall"
)

// DescriptorLimit returns how many file descriptors this process may have open.
func DescriptorLimit() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 1024 // the usual limit
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
