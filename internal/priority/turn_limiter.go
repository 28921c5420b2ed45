package priority

import (
	"context"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mayflydb/mayfly/ttl"
)

// Limits of a TurnLimiter, which lets only a few connections be served at a time if their clients send
// without a pause. Such a connection never waits for input, so its goroutine occupies a processor, and Go
// looks for input of other connections only when a processor is idle, or every 10 ms. Therefore one
// processor remains for the other connections.
const (
	// busyTime is the balance from which on a connection needs a turn: the time that it has been served
	// minus the time that it has waited for input, never below zero.
	busyTime = 5 * time.Millisecond
	// maxBusy is the maximum of the balance of a connection, which is the time for which it was served minus
	// the time for which it waited for input. A connection with a balance of busyTime or more needs a turn to
	// continue; the maximum lets a short wait end that.
	maxBusy = 20 * time.Millisecond
	// maxTurn is the maximum time of a turn, the permission of a busy connection to be served. After this
	// time another connection may have a turn, even if the first one is still being served.
	maxTurn = 5 * time.Millisecond
)

// TurnLimiter limits how many connections whose clients send without a pause are served at a time. The others
// wait in the order in which they have read their input. It is safe for concurrent use.
type TurnLimiter struct {
	free  *semaphore.Weighted
	clock ttl.Clock
}

// NewProcessTurnLimiter returns a TurnLimiter for the whole process. It admits GOMAXPROCS-1 connections at a
// time, at least one. If GOMAXPROCS is higher than the number of processors, because other threads have
// lowered priority, it admits as many as there are processors.
func NewProcessTurnLimiter(clock ttl.Clock) *TurnLimiter {
	n := runtime.NumCPU()
	if most := runtime.GOMAXPROCS(0); most <= n {
		n = max(1, most-1)
	}
	return NewTurnLimiter(n, clock)
}

// NewTurnLimiter returns a TurnLimiter that gives out at most n turns at a time.
func NewTurnLimiter(n int, clock ttl.Clock) *TurnLimiter {
	return &TurnLimiter{semaphore.NewWeighted(int64(n)), clock}
}

// TurnTakingConnReader reads the input of a connection. It measures how long the connection waits for input
// and how long its input is served. If it has lately been served for much longer than it has waited, it needs
// a turn, the permission of its TurnLimiter, to be served between two calls of Read. Only one goroutine at a
// time may use a TurnTakingConnReader.
type TurnTakingConnReader struct {
	in    io.Reader
	ctx   context.Context
	turns *TurnLimiter
	busy  time.Duration
	since time.Time // end of the last Read
	turn  *TurnPermit
}

// Reader returns a TurnTakingConnReader over in, the input of a connection. ctx must end with the connection.
func (t *TurnLimiter) Reader(ctx context.Context, in io.Reader) *TurnTakingConnReader {
	return &TurnTakingConnReader{in: in, ctx: ctx, turns: t, since: t.clock.Now()}
}

// Read implements io.Reader. It ends the connection's turn. After input has arrived it waits for a new turn,
// if the connection needs one because its client sends without a pause.
func (r *TurnTakingConnReader) Read(p []byte) (int, error) {
	r.Leave()
	began := r.turns.clock.Now()
	r.busy = min(r.busy+began.Sub(r.since), maxBusy)
	n, err := r.in.Read(p)
	now := r.turns.clock.Now()
	if r.busy = max(r.busy-now.Sub(began), 0); r.busy >= busyTime && err == nil {
		r.turn = r.turns.Take(r.ctx)
		now = r.turns.clock.Now()
	}
	r.since = now
	return n, err
}

// Leave gives back the connection's turn (its permission to be served), if it has one. A connection calls it
// before it waits for anything else than input.
func (r *TurnTakingConnReader) Leave() {
	r.turn.Leave()
	r.turn = nil
}

// TurnPermit is the permission to be served, or to do another piece of work, for a short time. It ends with
// Leave, or after maxTurn.
type TurnPermit struct {
	turns *TurnLimiter
	ended atomic.Bool
	stop  func() // ends the timer
}

// Take waits for a turn, which is one of a limited number of permissions to be served, and returns it. It
// returns nil if ctx ends first. A turn is for a piece of work that takes less than a millisecond; then the
// caller must call its Leave.
func (t *TurnLimiter) Take(ctx context.Context) *TurnPermit {
	if t.free.Acquire(ctx, 1) != nil {
		return nil
	}
	x := &TurnPermit{turns: t}
	x.stop = ttl.AfterFunc(t.clock, maxTurn, x.end)
	return x
}

func (x *TurnPermit) end() {
	if x.ended.CompareAndSwap(false, true) {
		x.turns.free.Release(1)
	}
}

// Leave ends the turn, so that another connection is served. On a nil TurnPermit it does nothing.
func (x *TurnPermit) Leave() {
	if x != nil {
		x.stop()
		x.end()
	}
}
