package main

import (
	"os"
	"syscall"
)

// lockHolder returns the id of the process that has locked a file, or 0. It does not open the file, because
// closing it would release a lock of this process.
func lockHolder(path string) int {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	file, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer locks.Close()
	return holderOf(locks, file.Ino)
}
