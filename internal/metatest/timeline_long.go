//go:build long

package metatest

// How many random timelines a test of them plays, and how many answers a test of the boundary judges.
const (
	Timelines = 100_000
	Judgments = 12_000_000
)
