package inject

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// IncomingOperation describes an operation that a client requests, to which fault rules may apply.
type IncomingOperation struct {
	Operation           OperationKind
	Database, Container string // for an operation on documents
	Entity              string // for an operation on messages: path of the entity
}

// MatchedFault is the fault for one operation. The zero value means that there is none.
type MatchedFault struct {
	Rule  string // id of the rule that sets the fault, or of the first one that adds latency; "": no rule
	Fault Fault  // None: there is no fault, but there may be latency
	After bool   // the fault comes after the operation has been carried out

	RetryAfter time.Duration
	Substatus  int

	before, after time.Duration // of latency
}

// BeforeOperation waits for the rule's latency before the operation. now reports whether the operation fails
// with the fault instead of being executed. If ctx ends first, it returns the error of ctx.
func (h *MatchedFault) BeforeOperation(ctx context.Context, clock ttl.Clock) (now bool, err error) {
	return h.Fault != None && !h.After, pause(ctx, clock, h.before)
}

// AfterOperation is called after the operation has been executed, and waits for the latency that the fault
// rule sets for this moment. now reports whether the operation must fail with the fault. If ctx ends first,
// its error is returned.
func (h *MatchedFault) AfterOperation(ctx context.Context, clock ttl.Clock) (now bool, err error) {
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
