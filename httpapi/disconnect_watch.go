package httpapi

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// watchInterval is the interval at which a connection checks whether a query is in progress. Arming a timer
// for each query would wake a thread, which takes longer than many queries.
const watchInterval = 100 * time.Millisecond

// disconnectWatch cancels a query that a connection serves without net/http when the client disconnects. At
// most one watchInterval after the query began, the watch begins to wait for the next byte of the connection.
// A byte that arrives belongs to the next request: it is kept in sniffConn.ahead.
type disconnectWatch struct {
	conn *sniffConn

	mu      sync.Mutex
	armed   bool               // a timer will call run
	cancel  context.CancelFunc // ends the context of the query in progress; nil: none is in progress
	reading chan struct{}      // closed when run has read from the connection; nil: it does not read
}

// begin starts to watch the connection for the duration of a query. It returns a context for the query, which
// is canceled if the client disconnects. Until end returns, nobody else may read from the connection.
func (w *disconnectWatch) begin(parent context.Context) context.Context {
	ctx, cancel := context.WithCancel(parent)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel = cancel
	if !w.armed {
		w.armed = true
		ttl.AfterFunc(ttl.SystemClock{}, watchInterval, w.run)
	}
	return ctx
}

// run is called some time after a query began. If the query is still in progress, run reads a byte of the
// connection, until the query ends. A byte is kept for the next request; if the connection has ended, run
// cancels the query.
func (w *disconnectWatch) run() {
	w.mu.Lock()
	w.armed = false
	cancel := w.cancel
	if cancel == nil {
		w.mu.Unlock()
		return
	}
	w.reading = make(chan struct{})
	defer close(w.reading)
	w.mu.Unlock()
	next := make([]byte, 1)
	n, err := w.conn.read(next)
	w.conn.ahead = append(w.conn.ahead, next[:n]...)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		cancel()
	}
}

// end ends the context of the query. It returns true if it has changed the deadline for reads of the
// connection, so that the caller must set it again.
func (w *disconnectWatch) end() (deadlineChanged bool) {
	w.mu.Lock()
	reading := w.reading
	w.cancel()
	w.cancel, w.reading = nil, nil
	w.mu.Unlock()
	if reading == nil {
		return false
	}
	_ = w.conn.Conn.SetReadDeadline(time.Unix(1, 0)) // in the past: it ends the read
	<-reading
	return true
}
