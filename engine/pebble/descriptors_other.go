//go:build !unix

package pebble

import "math"

// DescriptorLimit is how many file descriptors this process may have open: here as many as there is memory
// for.
func DescriptorLimit() int { return math.MaxInt32 }
