package amqp

import (
	"runtime"
	"testing"
)

// TestWorkers checks that functions that run one after the other share one goroutine, that concurrent ones
// have several, and that at most maxParked goroutines are kept afterwards.
func TestWorkers(t *testing.T) {
	c := &conn{}
	run := func(n int) {
		running, finish := make(chan bool), make(chan bool)
		ended := make(chan bool, n)
		for range n {
			c.mu.Lock()
			c.goWork(func() {
				running <- true
				<-finish
			}, func() { ended <- true })
			c.mu.Unlock()
			<-running
		}
		close(finish)
		for range n {
			<-ended
		}
	}
	parked := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.idlers.parked)
	}
	for range 10 {
		run(1)
		for parked() != 1 { // the goroutine parks behind the end of its function
			runtime.Gosched()
		}
	}
	run(maxParked + 5)
	c.mu.Lock()
	c.endWorkers()
	c.mu.Unlock()
	c.work.Wait()
	if n := parked(); n > 0 {
		t.Error(n, "goroutines wait")
	}
}
