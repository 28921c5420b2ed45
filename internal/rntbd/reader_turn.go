package rntbd

import (
	"context"
	"sync/atomic"
	"time"
)

// Limits of the frames that are served by the goroutine that reads them.
const (
	quickTime = 200 * time.Microsecond // an operation that takes longer does not count as quick
	// apartFrames is the number of frames that workers serve instead of the goroutine that reads frames,
	// after too many operations in that goroutine were slow.
	apartFrames = 32
	// slowScore is added to the score of a connection for each slow operation in the goroutine that reads
	// frames; each quick one subtracts 1. When the score reaches maxSlow, workers serve the next frames.
	// One slow operation is not enough for that, since it may only have waited for a processor.
	slowScore = 8
	maxSlow   = 2 * slowScore
)

// The states of an operation that runs in the goroutine that reads the connection's frames
// (readLoopRequestContext).
const (
	turnRuns   = iota
	turnPassed // another goroutine now reads frames
	turnEnded  // the operation has ended
)

// readLoopRequestContext is the context of an operation that runs in the goroutine that reads frames. An
// operation calls Done when it has to wait. Another goroutine then continues to read, so that the following
// frames do not wait as well.
type readLoopRequestContext struct {
	context.Context
	c     *conn
	state atomic.Int32
}

// Done returns the channel that is closed when the connection's requests are canceled. A call of Done means
// that the operation is about to wait, so the first call starts another goroutine that continues to read
// frames.
func (t *readLoopRequestContext) Done() <-chan struct{} {
	t.pass()
	return t.Context.Done()
}

// pass starts another goroutine that reads the following frames of the connection, because the operation in
// this goroutine is about to wait. Only the first call for an operation does so.
func (t *readLoopRequestContext) pass() {
	if t.state.CompareAndSwap(turnRuns, turnPassed) {
		t.c.input.Leave()
		t.c.work.Go(func() { t.c.read(t.c.take) })
	}
}
