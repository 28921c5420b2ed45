//go:build long

package metatest

// How many random timelines a test runs, and how many answers a boundary test checks.
const (
	Timelines = 100_000
	Judgments = 12_000_000
)
