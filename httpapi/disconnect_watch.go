package httpapi

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// watchDelay is how long a query runs before its connection is watched. Most queries end earlier.
const watchDelay = 10 * time.Millisecond

// disconnectWatch cancels a request that a connection serves without net/http when the client disconnects.
// It waits for the next byte of the connection. A byte that arrives belongs to the next request: it is kept
// in sniffConn.ahead.
type disconnectWatch struct {
	conn    *sniffConn
	cancel  context.CancelFunc
	begun   atomic.Bool   // run reads from the connection, or Stop was called first and it never will
	stopped chan struct{} // closed when run has read
	release func()        // ends the timer that calls run
}

// watchDisconnect returns a context that is canceled when the client of c disconnects after watchDelay. Until
// Stop returns, nobody else may read from c.
func watchDisconnect(parent context.Context, c *sniffConn) (context.Context, *disconnectWatch) {
	ctx, cancel := context.WithCancel(parent)
	w := &disconnectWatch{conn: c, cancel: cancel, stopped: make(chan struct{})}
	w.release = ttl.AfterFunc(ttl.SystemClock{}, watchDelay, w.run)
	return ctx, w
}

// run waits for a byte, for the end of the connection, or for Stop.
func (w *disconnectWatch) run() {
	if !w.begun.CompareAndSwap(false, true) {
		return
	}
	defer close(w.stopped)
	next := make([]byte, 1)
	n, err := w.conn.read(next)
	w.conn.ahead = append(w.conn.ahead, next[:n]...)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		w.cancel()
	}
}

// Stop ends the watch and the context. It returns true if it has changed the deadline for reads of the
// connection, so that the caller must set it again.
func (w *disconnectWatch) Stop() (deadlineChanged bool) {
	defer w.cancel()
	if w.release(); w.begun.CompareAndSwap(false, true) {
		return false
	}
	_ = w.conn.Conn.SetReadDeadline(time.Unix(1, 0)) // in the past: it ends the read
	<-w.stopped
	return true
}
