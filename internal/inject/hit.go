package inject

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// Target is an operation that may meet a fault.
type Target struct {
	Operation           Operation
	Database, Container string // of documents
	Entity              string // of messages: the path of what they lie in
}

// Hit is what an operation meets. The zero value is that it meets nothing.
type Hit struct {
	Rule  string // the id of the rule that decides, or of the first that adds latency; empty: there is none
	Fault Fault  // None: there is latency at most
	After bool   // the fault comes when the operation has been carried out

	RetryAfter time.Duration
	Substatus  int

	before, after time.Duration // of latency
}

// Before waits for as long as the operation is held up before it is carried out, and reports whether the
// fault comes now. An error is the context's.
func (h *Hit) Before(ctx context.Context, clock ttl.Clock) (now bool, err error) {
	return h.Fault != None && !h.After, pause(ctx, clock, h.before)
}

// Behind is Before for the time when the operation has been carried out.
func (h *Hit) Behind(ctx context.Context, clock ttl.Clock) (now bool, err error) {
	return h.Fault != None && h.After, pause(ctx, clock, h.after)
}

func pause(ctx context.Context, clock ttl.Clock, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	over, stop := clock.After(d)
	defer stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
