package fault

import "time"

// ThrottledError is the cause of a CodeThrottled error.
type ThrottledError struct {
	RetryAfter time.Duration // when the request would be admitted if no other came
}

// Error names the wait.
func (e *ThrottledError) Error() string { return "throughput used up for " + e.RetryAfter.String() }
