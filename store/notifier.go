package store

import (
	"sync"
	"sync/atomic"
)

// A notifier wakes those who wait for a container to change. It costs a writer one load where nobody waits. A
// waiter takes the channel before it looks, so that no change comes between its look and its sleep.
type notifier struct {
	awaited atomic.Bool
	mu      sync.Mutex
	change  chan struct{} // of those who wait now; nil: nobody does
}

// changed is closed by the next notify.
func (n *notifier) changed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.change == nil {
		n.change = make(chan struct{})
		n.awaited.Store(true)
	}
	return n.change
}

// notify says that something is not what it was.
func (n *notifier) notify() {
	if !n.awaited.Load() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.change != nil {
		close(n.change)
		n.change = nil
		n.awaited.Store(false)
	}
}
