package inject

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// Target describes an operation that may meet a fault.
type Target struct {
	Operation           Operation
	Database, Container string // of an operation on documents
	Entity              string // of an operation on messages: the entity's path
}

// Hit is the fault that an operation meets. The zero value is no fault.
type Hit struct {
	Rule  string // the id of the deciding rule, or of the first one that adds latency; "": no rule
	Fault Fault  // None: no fault, but there may be latency
	After bool   // the fault occurs after the operation was carried out

	RetryAfter time.Duration
	Substatus  int

	before, after time.Duration // of latency
}

// BeforeOperation waits for the latency before the operation, and reports whether the fault replaces the
// operation. An error is the context's.
func (h *Hit) BeforeOperation(ctx context.Context, clock ttl.Clock) (now bool, err error) {
	return h.Fault != None && !h.After, pause(ctx, clock, h.before)
}

// AfterOperation waits for the latency after the operation, and reports whether the fault occurs now.
func (h *Hit) AfterOperation(ctx context.Context, clock ttl.Clock) (now bool, err error) {
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
