//go:build race && !long

package metamorphic

// Timelines is the number of random sequences of events (timelines) that a test runs. Judgments is the
// number of answers about expiring items that a test checks while the clock runs.
const (
	Timelines = 500
	Judgments = 30_000
)
