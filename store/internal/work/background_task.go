package work

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/ttl"
)

// Pauses of a BackgroundTask after a failure.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// BackgroundTask is a goroutine that runs a pass of its work whenever it is woken, and again after a pause if
// the pass failed.
type BackgroundTask struct {
	log     *slog.Logger
	what    string // what the work does, for the log
	work    func(context.Context) error
	Life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	wake    chan struct{} // capacity 1
	Turn    sync.Mutex    // held during a pass: one pass at a time
}

// Prepare sets work, the function that does one pass, and what, its name in log messages. It must be
// called before any goroutine may call Wake.
func (x *BackgroundTask) Prepare(log *slog.Logger, what string, work func(context.Context) error) {
	x.log, x.what, x.work, x.wake = log, what, work, make(chan struct{}, 1)
	x.Life, x.end = context.WithCancel(context.Background())
}

// Start starts the goroutine of the task. If several servers share the data, only one of them does the work:
// lead calls its argument, which does the work until its context ends, whenever this process becomes that
// server, and cancels the context when it no longer is. Close must be called before anything is closed that
// the work needs.
func (x *BackgroundTask) Start(lead func(context.Context, func(context.Context))) {
	x.running.Go(func() { lead(x.Life, x.loop) })
}

// Close stops the loop and all passes that callers have started, and waits for them.
func (x *BackgroundTask) Close() {
	x.end()
	x.running.Wait()
	x.Turn.Lock() // waits for a pass that a caller runs
	defer x.Turn.Unlock()
}

// Wake makes the task do its work once more, soon. It does not wait for that.
func (x *BackgroundTask) Wake() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

func (x *BackgroundTask) loop(ctx context.Context) {
	x.Wake()
	for {
		select {
		case <-x.wake:
		case <-ctx.Done():
			return
		}
		for retry := minRetry; ; retry = min(2*retry, maxRetry) {
			err := x.work(ctx)
			if err == nil || ctx.Err() != nil {
				break
			}
			if fault.ErrorCode(classify.ToFault(err)) != fault.CodeUnavailable {
				x.log.Error(x.what+" failed; it will be tried again", "error", err)
			}
			Wait(ctx, retry)
		}
	}
}

// Wait waits until the duration d has passed, in real time and not by a virtual clock, or until ctx ends.
func Wait(ctx context.Context, d time.Duration) {
	c, stop := ttl.SystemClock{}.After(d)
	defer stop()
	select {
	case <-c:
	case <-ctx.Done():
	}
}
