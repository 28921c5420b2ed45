package requestlog

import (
	"hash/maphash"
	"time"
)

// attemptGrouper finds log entries that are attempts of the same operation. A request is a further attempt
// if, shortly before it, an equal request failed with a status after which clients retry. add must be called
// for all entries in order.
type attemptGrouper struct {
	seed maphash.Seed
	open map[uint64]lastFailedRequestAttempt // failed requests that may be retried, by attemptGrouper.key
}

// lastFailedRequestAttempt is the most recent attempt of an operation; it has failed and may be retried.
type lastFailedRequestAttempt struct {
	first    uint64
	count    int
	ended    time.Time
	retry    time.Duration
	activity string
}

const (
	// retryWindow is the maximum time between a failed request and its retry, in addition to the delay
	// that the response asked the client to wait. SDKs wait for up to 15 seconds between attempts.
	retryWindow = 20 * time.Second
	// sameWindow is the maximum time between a failed request and its retry if both have the same activity id
	// or correlated id. Without such an id, retryWindow is the maximum.
	sameWindow = 2 * time.Minute
	// maxOpen is the maximum number of failed requests for which an attemptGrouper expects a retry.
	maxOpen = 4096
)

func newAttemptGrouper() *attemptGrouper {
	return &attemptGrouper{seed: maphash.MakeSeed(), open: make(map[uint64]lastFailedRequestAttempt)}
}

// add recognizes whether the log entry r is another attempt of an operation whose last attempt could be
// retried. It sets r.Attempt, the number of the attempt from 1, and r.First, the ID of the first attempt. key
// must be the result of f.key(r), which needs the entry's headers and body.
func (f *attemptGrouper) add(r *RetrievedEntry, key uint64) {
	r.Attempt, r.First = 1, r.ID
	last, known := f.open[key]
	if known && last.isRetriedBy(r) {
		r.Attempt, r.First = last.count+1, last.first
	}
	if !isRetryable(r) {
		delete(f.open, key)
		return
	}
	if len(f.open) >= maxOpen {
		f.drop(r.Began)
	}
	f.open[key] = lastFailedRequestAttempt{first: r.First, count: r.Attempt, ended: r.Began.Add(r.Took),
		retry:    r.Retry,
		activity: r.group()}
}

// drop forgets failed requests that happened too long ago to be retried. If too many are left, it forgets
// all.
func (f *attemptGrouper) drop(now time.Time) {
	for key, a := range f.open {
		if now.Sub(a.ended) > a.retry+retryWindow {
			delete(f.open, key)
		}
	}
	if len(f.open) >= maxOpen {
		clear(f.open)
	}
}

func (a *lastFailedRequestAttempt) isRetriedBy(r *RetrievedEntry) bool {
	window := a.retry + retryWindow
	if same := r.group(); same != "" && same == a.activity {
		window = a.retry + sameWindow
	}
	return r.Began.Sub(a.ended) <= window
}

// group returns the id that the client has set for all requests of an operation, or "" if it has set none.
func (r *RetrievedEntry) group() string {
	if r.Correlated != "" {
		return r.Correlated
	}
	return r.Activity
}

// isRetryable reports whether clients retry a request with this result.
func isRetryable(r *RetrievedEntry) bool {
	switch r.Status {
	case 0, 408, 410, 429, 449, 503:
		return true
	}
	return false
}

// key returns a hash of the content of a request. Attempts of the same operation have the same key.
func (f *attemptGrouper) key(r *RetrievedEntry) uint64 {
	var h maphash.Hash
	h.SetSeed(f.seed)
	for _, part := range [...]string{r.Method, r.Operation, r.URI, r.Entity, r.PartitionKey, r.Continuation} {
		_, _ = h.WriteString(part)
		_ = h.WriteByte(0)
	}
	_, _ = h.Write(r.RequestBody)
	return h.Sum64() + uint64(r.Protocol)
}
