package rntbd

import (
	"context"
	"sync/atomic"
	"time"
)

// Limits of the frames that are served by the goroutine that reads them.
const (
	quickTime = 200 * time.Microsecond // an operation that takes longer does not count as quick
	// number of frames, after an operation that was not quick, that other goroutines serve
	apartFrames = 32
)

// States of a turn.
const (
	turnRuns   = iota
	turnPassed // another goroutine now reads frames
	turnEnded  // the operation has ended
)

// turn is the context of an operation that runs in the goroutine that reads frames. An operation calls Done
// when it has to wait. Another goroutine then continues to read, so that the following frames do not wait as
// well.
type turn struct {
	context.Context
	c     *conn
	state atomic.Int32
}

// Done lets another goroutine continue to read frames, because the operation is about to wait. It returns the
// channel that is closed when the connection's requests are canceled: see context.Context.
func (t *turn) Done() <-chan struct{} {
	if t.state.CompareAndSwap(turnRuns, turnPassed) {
		t.c.work.Go(func() { t.c.read(t.c.take) })
	}
	return t.Context.Done()
}
