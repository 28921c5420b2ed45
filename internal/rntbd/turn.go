package rntbd

import (
	"context"
	"sync/atomic"
	"time"
)

// Limits of the frames that are served by the goroutine that reads them.
const (
	quickTime   = 200 * time.Microsecond // an operation that takes longer was not quick after all
	apartFrames = 32                     // frames after such an operation that other goroutines serve
)

// States of a turn.
const (
	turnRuns   = iota
	turnPassed // another goroutine reads now
	turnEnded  // the operation has ended
)

// turn is the context of an operation that runs in the goroutine that reads frames. An operation that waits
// calls Done, whatever it waits for. Then another goroutine continues to read, so that the frames that
// follow do not wait, too.
type turn struct {
	context.Context
	c     *conn
	state atomic.Int32
}

// Done implements context.Context.
func (t *turn) Done() <-chan struct{} {
	if t.state.CompareAndSwap(turnRuns, turnPassed) {
		t.c.work.Go(func() { t.c.read(t.c.take) })
	}
	return t.Context.Done()
}
