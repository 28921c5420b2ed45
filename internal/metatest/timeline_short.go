//go:build !long && !race

package metatest

// How many random timelines a test of them plays, and how many answers a test of the boundary judges.
const (
	Timelines = 2_000
	Judgments = 80_000
)
