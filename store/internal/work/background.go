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

// Pauses of a background after a failure.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// Background is a goroutine that goes over its work whenever it is woken, and again after a pause where that
// failed.
type Background struct {
	log     *slog.Logger
	what    string // it does, for the log
	work    func(context.Context) error
	Life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	nudge   chan struct{} // one slot
	Turn    sync.Mutex    // one pass at a time
}

// Start starts it with a first pass. Close comes before what work needs is closed.
func (x *Background) Start(log *slog.Logger, what string, work func(context.Context) error) {
	x.log, x.what, x.work, x.nudge = log, what, work, make(chan struct{}, 1)
	x.Life, x.end = context.WithCancel(context.Background())
	x.running.Go(x.loop)
	x.Wake()
}

// Close stops the loop and every pass that a caller has asked for, and waits for them.
func (x *Background) Close() {
	x.end()
	x.running.Wait()
	x.Turn.Lock() // a pass of a caller's that is under way
	defer x.Turn.Unlock()
}

// Wake asks for a pass. It does not wait for it.
func (x *Background) Wake() {
	select {
	case x.nudge <- struct{}{}:
	default:
	}
}

func (x *Background) loop() {
	for {
		select {
		case <-x.nudge:
		case <-x.Life.Done():
			return
		}
		for retry := minRetry; ; retry = min(2*retry, maxRetry) {
			err := x.work(x.Life)
			if err == nil || x.Life.Err() != nil {
				break
			}
			if fault.ErrorCode(classify.ToFault(err)) != fault.CodeUnavailable {
				x.log.Error(x.what+" failed; it will be tried again", "error", err)
			}
			Wait(x.Life, retry)
		}
	}
}

// Wait waits in real time, whatever clock the data has.
func Wait(ctx context.Context, d time.Duration) {
	c, stop := ttl.Real{}.After(d)
	defer stop()
	select {
	case <-c:
	case <-ctx.Done():
	}
}
