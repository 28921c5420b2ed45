package fault

import "time"

// ThrottledError is the cause of a CodeThrottled error.
type ThrottledError struct {
	RetryAfter time.Duration // after this time the request would be admitted, if no others come
}

// Error returns the message, which includes RetryAfter.
func (e *ThrottledError) Error() string { return "throughput used up for " + e.RetryAfter.String() }
