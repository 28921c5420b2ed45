//go:build !unix

package pebble

import "math"

// DescriptorLimit returns how many file descriptors this process may have open: on this system there is no
// limit.
func DescriptorLimit() int { return math.MaxInt32 }
