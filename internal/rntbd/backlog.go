package rntbd

import (
	"context"
	"sync"
)

// How many bytes the requests under way of a connection may have where another one is begun: their heads,
// and what is kept of an answer until its turn. The bodies of requests and large answers are the handler's
// to count.
const (
	maxBacklog   = 1 << 20
	earlyBacklog = 64 << 10 // until a request has shown a key
	refusalSize  = 1 << 10  // of an answer to one that shows none
)

// backlog counts what the requests under way of a connection hold.
type backlog struct {
	mu   sync.Mutex
	n    int
	less chan struct{} // one slot: n has become less
}

func newBacklog() *backlog { return &backlog{less: make(chan struct{}, 1)} }

// add counts n bytes more, or less.
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

// await waits until there are no more than most bytes; false where ctx ends before. One goroutine may wait.
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
