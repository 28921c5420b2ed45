package host

import (
	"sync"
	"sync/atomic"
)

// WaiterNotifier wakes goroutines that wait for a change. Its zero value is ready for use; it must not be
// copied. All methods are safe for concurrent use.
//
// A waiter takes the channel before it reads the state that it waits for, and a writer calls Notify after its
// change can be read. So the waiter does not miss a change between the read and the wait. Notify costs one
// atomic load if nobody waits.
type WaiterNotifier struct {
	awaited atomic.Bool
	mu      sync.Mutex
	change  chan struct{} // closed by the next Notify; nil: nobody waits
}

// Changed returns a channel that the next Notify closes.
func (n *WaiterNotifier) Changed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.change == nil {
		n.change = make(chan struct{})
		n.awaited.Store(true)
	}
	return n.change
}

// Awaited reports whether somebody waits.
func (n *WaiterNotifier) Awaited() bool { return n.awaited.Load() }

// Notify wakes all waiters.
func (n *WaiterNotifier) Notify() {
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
