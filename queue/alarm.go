package queue

import (
	"context"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/ttl"
)

// alarm calls fire at moments of the dataset's clock. Each call of fire returns the millisecond of the next
// call. One goroutine makes all calls, from start to stop.
type alarm struct {
	m    *dataset
	fire func(ctx context.Context, now int64) (next int64)
	wake chan struct{} // one slot: the next moment has changed, or the clock was moved

	end  context.CancelFunc
	done sync.WaitGroup
}

func newAlarm(m *dataset, fire func(context.Context, int64) int64) *alarm {
	return &alarm{m: m, fire: fire, wake: make(chan struct{}, 1)}
}

// start starts the goroutine.
func (a *alarm) start() {
	var ctx context.Context
	ctx, a.end = context.WithCancel(context.Background())
	a.done.Go(func() { a.run(ctx) })
}

// stop ends the goroutine and waits for it. It does nothing if start was not called.
func (a *alarm) stop() {
	if a.end != nil {
		a.end()
		a.done.Wait()
	}
}

// wakeUp makes the goroutine call fire now.
func (a *alarm) wakeUp() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *alarm) run(ctx context.Context) {
	clock := a.m.in.Clock()
	for ctx.Err() == nil {
		next := a.fire(ctx, clock.Millis())
		var due <-chan time.Time
		stop := func() {}
		if next < host.Never {
			due, stop = ttl.At(clock.Base(), time.UnixMilli(next))
		}
		select {
		case <-due:
		case <-a.wake:
		case <-ctx.Done():
		}
		stop()
	}
}
