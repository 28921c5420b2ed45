package work

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/store/fault"
)

// WaitLimitedWriteContext is the context of a write while it waits for its partition range. It ends with the
// context of the request, or when the write has waited for Limit, so that requests which block the range
// cannot make it wait for ever. The time counts from the first call of Done, so that a write whose range is
// free needs no timer. Once the write has begun, the limit no longer applies.
type WaitLimitedWriteContext struct {
	context.Context // of the request
	Limit           time.Duration
	limited         atomic.Pointer[timeoutContext]
	Begun           atomic.Bool
}

// timeoutContext is a context with its cancel function. The context ends when a write has waited for its
// partition range for the time limit (WaitLimitedWriteContext.Limit).
type timeoutContext struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// Done returns a channel that is closed when the context ends. The engine calls it only when it has to
// wait, and never concurrently.
func (p *WaitLimitedWriteContext) Done() <-chan struct{} {
	w := p.limited.Load()
	if w == nil {
		w = new(timeoutContext)
		w.ctx, w.cancel = context.WithTimeout(p.Context, p.Limit)
		p.limited.Store(w)
	}
	return w.ctx.Done()
}

// Err returns the error of the request's context, or a *fault.Error if the write has waited for too
// long.
func (p *WaitLimitedWriteContext) Err() error {
	if err := p.Context.Err(); err != nil || p.Begun.Load() {
		return err
	}
	if w := p.limited.Load(); w != nil && w.ctx.Err() != nil {
		return &fault.Error{Code: fault.CodeCanceled, Err: w.ctx.Err(),
			Message: "The request ran out of time: other writes of the partition range, or a script, kept it waiting."}
	}
	return nil
}

// End releases the timer.
func (p *WaitLimitedWriteContext) End() {
	if w := p.limited.Load(); w != nil {
		w.cancel()
	}
}
