//go:build !long && !race

package metatest

// How many random timelines a test runs, and how many answers a boundary test checks.
const (
	Timelines = 600
	Judgments = 30_000
)
