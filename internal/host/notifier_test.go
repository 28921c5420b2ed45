package host

import (
	"sync"
	"testing"
)

// TestNotifier: a change after Changed wakes the waiter, one before it does not, and no waiter is lost while
// others notify.
func TestNotifier(t *testing.T) {
	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	var n Notifier
	n.Notify()
	first, second := n.Changed(), n.Changed()
	if closed(first) {
		t.Error("a change before Changed wakes its waiter")
	}
	n.Notify()
	if !closed(first) || !closed(second) {
		t.Error("a change wakes only some of its waiters")
	}
	if closed(n.Changed()) {
		t.Error("one change wakes its waiters twice")
	}
}

// TestNotifierWakesAll: each waiter sees the last of the changes, however they interleave.
func TestNotifierWakesAll(t *testing.T) {
	const last = 1000
	var (
		n     Notifier
		mu    sync.Mutex
		value int
		work  sync.WaitGroup
	)
	read := func() int {
		mu.Lock()
		defer mu.Unlock()
		return value
	}
	for range 4 {
		work.Go(func() {
			for {
				changed := n.Changed()
				if read() == last {
					return
				}
				<-changed
			}
		})
	}
	for range last {
		mu.Lock()
		value++
		mu.Unlock()
		n.Notify()
	}
	work.Wait()
}
