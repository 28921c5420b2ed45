package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/store/fault"
)

// patience is the context that a write waits for its range with. It ends with that of its request, and when
// somebody has waited with it for as long as a request may; a script after the other could hold the range for
// ever. The time counts from the first wait, so that a write that finds its range free has no timer, and no
// longer where the write has begun.
type patience struct {
	context.Context // of the request
	limit           time.Duration
	limited         atomic.Pointer[limitedWait]
	begun           atomic.Bool
}

type limitedWait struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// Done implements context.Context. The engine calls it where it has to wait, and nobody does so at the same
// time.
func (p *patience) Done() <-chan struct{} {
	w := p.limited.Load()
	if w == nil {
		w = new(limitedWait)
		w.ctx, w.cancel = context.WithTimeout(p.Context, p.limit)
		p.limited.Store(w)
	}
	return w.ctx.Done()
}

// Err implements context.Context.
func (p *patience) Err() error {
	if err := p.Context.Err(); err != nil || p.begun.Load() {
		return err
	}
	if w := p.limited.Load(); w != nil && w.ctx.Err() != nil {
		return &fault.Error{Code: fault.CodeCanceled, Err: w.ctx.Err(),
			Message: "The request ran out of time: other writes of the partition range, or a script, kept it waiting."}
	}
	return nil
}

// end releases the timer.
func (p *patience) end() {
	if w := p.limited.Load(); w != nil {
		w.cancel()
	}
}
