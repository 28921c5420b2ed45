//go:build !unix

package bench

import "time"

// processCPU is not told by this system.
func processCPU() (time.Duration, bool) { return 0, false }
