//go:build !unix

package main

import "time"

// processCPU is not told by this system.
func processCPU() (time.Duration, bool) { return 0, false }
