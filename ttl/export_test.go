package ttl

// The pure part of the pacing, for the golden tests.
var (
	Pause   = pause
	Backoff = backoff
)
