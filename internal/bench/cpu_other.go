//go:build !unix

package bench

import "time"

// processCPU returns false: this system does not report CPU time.
func processCPU() (time.Duration, bool) { return 0, false }
