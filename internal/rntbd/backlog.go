package rntbd

import (
	"context"
	"sync"
)

// Limits of the bytes held by a connection's requests in progress: while they hold more, no further request
// is started. Counted are the heads of requests and the buffered part of answers. The handler accounts for
// the bodies of requests and for large answers.
const (
	maxBacklog   = 1 << 20
	earlyBacklog = 64 << 10 // until a request has been authorized
	refusalSize  = 1 << 10  // bytes of the answer to an unauthorized request
)

// backlog counts the bytes held by a connection's requests in progress.
type backlog struct {
	mu   sync.Mutex
	n    int
	less chan struct{} // one slot: signalled when n decreases
}

func newBacklog() *backlog { return &backlog{less: make(chan struct{}, 1)} }

// add adds n bytes; n may be negative.
func (b *backlog) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n += n; n < 0 {
		select {
		case b.less <- struct{}{}:
		default:
		}
	}
}

// await waits until at most most bytes are held. It returns false if ctx ends first. Only one goroutine may
// wait.
func (b *backlog) await(ctx context.Context, most int) bool {
	for {
		b.mu.Lock()
		n := b.n
		b.mu.Unlock()
		if n <= most {
			return true
		}
		select {
		case <-b.less:
		case <-ctx.Done():
			return false
		}
	}
}
