//go:build race && !long

package metatest

// How many random timelines a test of them plays, and how many answers a test of the boundary judges.
const (
	Timelines = 500
	Judgments = 30_000
)
