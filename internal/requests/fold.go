package requests

import (
	"hash/maphash"
	"time"
)

// folder finds the attempts of one operation: a request that is the same as one that has failed with a status
// after which clients retry, and that came soon enough after it. It is fed with all entries in their order.
type folder struct {
	seed maphash.Seed
	open map[uint64]attempt // failures that may be retried, by what was asked for
}

// attempt is the last one of an operation so far.
type attempt struct {
	first    uint64
	count    int
	ended    time.Time
	retry    time.Duration
	activity string
}

const (
	// retryWindow is how long after a failure a client retries at the latest, besides the time that it was
	// told to wait: the SDKs wait for up to 15 seconds between attempts.
	retryWindow = 20 * time.Second
	// sameWindow is the same for attempts that have one activity id or correlated id.
	sameWindow = 2 * time.Minute
	// maxOpen is how many failures wait for their next attempts at once.
	maxOpen = 4096
)

func newFolder() *folder {
	return &folder{seed: maphash.MakeSeed(), open: make(map[uint64]attempt)}
}

// add sets which attempt of which operation the entry is. key is f.key of it.
func (f *folder) add(r *Record, key uint64) {
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
	f.open[key] = attempt{first: r.First, count: r.Attempt, ended: r.Began.Add(r.Took), retry: r.Retry,
		activity: r.group()}
}

// drop forgets failures that nobody retries any more, and all of them where too many are left.
func (f *folder) drop(now time.Time) {
	for key, a := range f.open {
		if now.Sub(a.ended) > a.retry+retryWindow {
			delete(f.open, key)
		}
	}
	if len(f.open) >= maxOpen {
		clear(f.open)
	}
}

func (a *attempt) isRetriedBy(r *Record) bool {
	window := a.retry + retryWindow
	if same := r.group(); same != "" && same == a.activity {
		window = a.retry + sameWindow
	}
	return r.Began.Sub(a.ended) <= window
}

// group is the id that the client has given all requests of an operation, if it has.
func (r *Record) group() string {
	if r.Correlated != "" {
		return r.Correlated
	}
	return r.Activity
}

// isRetryable reports whether clients repeat a request with this outcome.
func isRetryable(r *Record) bool {
	switch r.Status {
	case 0, 408, 410, 429, 449, 503:
		return true
	}
	return false
}

// key is a hash of what a request asks for.
func (f *folder) key(r *Record) uint64 {
	var h maphash.Hash
	h.SetSeed(f.seed)
	for _, part := range [...]string{r.Method, r.Operation, r.URI, r.Entity, r.PartitionKey, r.Continuation} {
		_, _ = h.WriteString(part)
		_ = h.WriteByte(0)
	}
	_, _ = h.Write(r.RequestBody)
	return h.Sum64() + uint64(r.Protocol)
}
