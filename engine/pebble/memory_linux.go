package pebble

import (
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// totalMemory returns the bytes of memory of the computer, or of the container (cgroup) if it has fewer. It
// returns 0 if the system does not report them.
func totalMemory() int64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return 0
	}
	total := min(uint64(info.Totalram)*uint64(info.Unit), math.MaxInt64)
	for _, file := range []string{ // cgroup v2, cgroup v1
		"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
	} {
		total = min(total, cgroupLimit(file))
	}
	return int64(total)
}

// cgroupLimit returns the memory limit in a file of a cgroup, in bytes. It returns math.MaxUint64 if there
// is no limit (the file contains "max") or no such file.
func cgroupLimit(file string) uint64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return math.MaxUint64
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return math.MaxUint64
	}
	return n
}
