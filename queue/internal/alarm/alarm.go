package alarm

import (
	"context"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/ttl"
)

// Alarm calls a function at given times of a clock that can be moved. Each call of fire returns the time of
// the next call, in milliseconds. One goroutine makes all calls, from Start to Stop.
type Alarm struct {
	clock *host.NonDecreasingClock
	fire  func(ctx context.Context, now int64) (next int64)
	wake  chan struct{} // capacity 1: the time of the next call has changed, or the clock was moved

	end  context.CancelFunc
	done sync.WaitGroup
}

// New returns an alarm that has not been started. It will call fire with the current millisecond of the
// clock. fire returns the millisecond of its next call.
func New(clock *host.NonDecreasingClock, fire func(context.Context, int64) int64) *Alarm {
	return &Alarm{clock: clock, fire: fire, wake: make(chan struct{}, 1)}
}

// Start starts the goroutine that calls the function fire at its times.
func (a *Alarm) Start() {
	var ctx context.Context
	ctx, a.end = context.WithCancel(context.Background())
	a.done.Go(func() { a.run(ctx) })
}

// Stop ends the goroutine and waits for it. It does nothing if Start was not called.
func (a *Alarm) Stop() {
	if a.end != nil {
		a.end()
		a.done.Wait()
	}
}

// WakeUp makes the goroutine call the function fire now, before the time at which it is due.
func (a *Alarm) WakeUp() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *Alarm) run(ctx context.Context) {
	for ctx.Err() == nil {
		next := a.fire(ctx, a.clock.Millis())
		var due <-chan time.Time
		stop := func() {}
		if next < host.Never {
			due, stop = ttl.At(a.clock.Base(), time.UnixMilli(next))
		}
		select {
		case <-due:
		case <-a.wake:
		case <-ctx.Done():
		}
		stop()
	}
}
