package work

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/store/fault"
)

// Patience is the context that a write waits for its range with. It ends with that of its request, and when
// somebody has waited with it for as long as a request may; a script after the other could hold the range for
// ever. The time counts from the first wait, so that a write that finds its range free has no timer, and no
// longer where the write has begun.
type Patience struct {
	context.Context // of the request
	Limit           time.Duration
	limited         atomic.Pointer[limitedWait]
	Begun           atomic.Bool
}

type limitedWait struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// Done implements context.Context. The engine calls it where it has to wait, and nobody does so at the same
// time.
func (p *Patience) Done() <-chan struct{} {
	w := p.limited.Load()
	if w == nil {
		w = new(limitedWait)
		w.ctx, w.cancel = context.WithTimeout(p.Context, p.Limit)
		p.limited.Store(w)
	}
	return w.ctx.Done()
}

// Err implements context.Context.
func (p *Patience) Err() error {
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
func (p *Patience) End() {
	if w := p.limited.Load(); w != nil {
		w.cancel()
	}
}
