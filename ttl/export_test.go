package ttl

// Pause and Backoff make the functions that compute the reaper's pauses accessible to the tests in package
// ttl_test.
var (
	Pause   = pause
	Backoff = backoff
)
