package store

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// Pauses of a background after a failure.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// background is a goroutine that goes over its work whenever it is woken, and again after a pause where that
// failed.
type background struct {
	log     *slog.Logger
	what    string // it does, for the log
	work    func(context.Context) error
	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	nudge   chan struct{} // one slot
	turn    sync.Mutex    // one pass at a time
}

// start starts it with a first pass. Close comes before what work needs is closed.
func (x *background) start(log *slog.Logger, what string, work func(context.Context) error) {
	x.log, x.what, x.work, x.nudge = log, what, work, make(chan struct{}, 1)
	x.life, x.end = context.WithCancel(context.Background())
	x.running.Go(x.loop)
	x.wake()
}

// close stops the loop and every pass that a caller has asked for, and waits for them.
func (x *background) close() {
	x.end()
	x.running.Wait()
	x.turn.Lock() // a pass of a caller's that is under way
	defer x.turn.Unlock()
}

func (x *background) wake() {
	select {
	case x.nudge <- struct{}{}:
	default:
	}
}

func (x *background) loop() {
	for {
		select {
		case <-x.nudge:
		case <-x.life.Done():
			return
		}
		for retry := minRetry; ; retry = min(2*retry, maxRetry) {
			err := x.work(x.life)
			if err == nil || x.life.Err() != nil {
				break
			}
			if fault.ErrorCode(wrap(err)) != fault.CodeUnavailable {
				x.log.Error(x.what+" failed; it will be tried again", "error", err)
			}
			wait(x.life, retry)
		}
	}
}

// wait waits in real time, whatever clock the data has.
func wait(ctx context.Context, d time.Duration) {
	c, stop := ttl.Real{}.After(d)
	defer stop()
	select {
	case <-c:
	case <-ctx.Done():
	}
}
