//go:build !linux

package pebble

// totalMemory returns 0: the memory of this system is not known.
func totalMemory() int64 { return 0 }
