package rntbd

import (
	"context"
	"sync"
)

// Limits of the bytes that the requests in progress on a connection hold. While they hold more, no further
// request is started. Until a request has been authorized, one request at a time is in progress. The heads of
// requests and the buffered parts of responses are counted. The bodies of requests and large responses are
// not: the handler limits these.
const (
	maxBacklog  = 1 << 20
	refusalSize = 1 << 10 // bytes of the response to an unauthorized request
)

// inFlightBytes counts the bytes that the requests in progress on a connection hold.
type inFlightBytes struct {
	mu   sync.Mutex
	n    int
	less chan struct{} // capacity 1: signals that await must check its condition again
}

func newBacklog() *inFlightBytes { return &inFlightBytes{less: make(chan struct{}, 1)} }

// add changes the number of bytes that the requests in progress hold by n, which may be negative.
func (b *inFlightBytes) add(n int) {
	b.mu.Lock()
	b.n += n
	b.mu.Unlock()
	if n < 0 {
		b.signal()
	}
}

// signal wakes up the goroutine in await, which then calls its fit again.
func (b *inFlightBytes) signal() {
	select {
	case b.less <- struct{}{}:
	default:
	}
}

// await waits until fit returns true for n, the number of bytes that the requests in progress hold. It calls
// leave each time before it waits. It returns false if ctx ends first. Only one goroutine may wait at a time.
func (b *inFlightBytes) await(ctx context.Context, fit func(n int) bool, leave func()) bool {
	for {
		b.mu.Lock()
		n := b.n
		b.mu.Unlock()
		if fit(n) {
			return true
		}
		leave()
		select {
		case <-b.less:
		case <-ctx.Done():
			return false
		}
	}
}
