package fault

import "time"

// ThrottledError is the cause of a CodeThrottled error.
type ThrottledError struct {
	RetryAfter time.Duration // when the request would be admitted if there were no others
}

// Error returns the message with the wait.
func (e *ThrottledError) Error() string { return "throughput used up for " + e.RetryAfter.String() }
