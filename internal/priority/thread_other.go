//go:build !linux

package priority

// Supported reports whether the operating system has a priority for each thread.
const Supported = false

func threadID() int { return 0 }

func lowerThread(int, int) {}
