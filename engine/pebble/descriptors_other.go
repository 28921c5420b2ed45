//go:build !unix

package pebble

import "math"

// DescriptorLimit returns how many file descriptors this process may have open. This system has no limit,
// so it returns math.MaxInt32.
func DescriptorLimit() int { return math.MaxInt32 }
