//go:build race && !long

package metatest

// How many random timelines a test runs, and how many answers a boundary test checks.
const (
	Timelines = 500
	Judgments = 30_000
)
