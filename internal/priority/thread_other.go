//go:build !linux

package priority

// Supported reports that the system has threads that stand back.
const Supported = false

func threadID() int { return 0 }

func lowerThread(int, int) {}
