package host

import (
	"sync"
	"testing"
)

// TestNotifier checks that Notify wakes all who have called Changed before it, and nobody who calls
// Changed after it.
func TestNotifier(t *testing.T) {
	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	var n WaiterNotifier
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

// TestNotifierWakesAll checks that several waiters, which wait with Changed until a value has its final
// state, all see that state, however the writer's changes interleave with them.
func TestNotifierWakesAll(t *testing.T) {
	const last = 1000
	var (
		n     WaiterNotifier
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
