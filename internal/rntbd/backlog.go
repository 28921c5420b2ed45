package rntbd

import (
	"context"
	"sync"
)

// Limits of the bytes that the requests in progress on a connection hold. While they hold more, no further
// request is started. The heads of requests and the buffered parts of responses are counted. The bodies of
// requests and large responses are not: the handler limits these.
const (
	maxBacklog   = 1 << 20
	earlyBacklog = 64 << 10 // until a request has been authorized
	refusalSize  = 1 << 10  // bytes of the response to an unauthorized request
)

// backlog counts the bytes that the requests in progress on a connection hold.
type backlog struct {
	mu   sync.Mutex
	n    int
	less chan struct{} // capacity 1: signals that n has decreased
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
// wait at a time.
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
