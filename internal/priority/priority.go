package priority

import (
	"runtime"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// niceness is added to the nice value of the process; the sum is limited to 19. Each step changes the share
// of processor time by about a quarter, if both threads are busy.
const niceness = 5

// LongOperation is an operation in a goroutine of its own, which can lower its own priority so that short
// requests run first.
type LongOperation struct {
	mu      sync.Mutex
	thread  int // the number of its thread, once the goroutine is locked to the thread
	pinned  bool
	lowered bool
	ended   bool
}

// Run runs fn in a new goroutine and returns when fn has ended. If fn panics, Run panics with the same
// value.
func Run(fn func(*LongOperation)) {
	w := &LongOperation{}
	ended := make(chan any, 1)
	go func() {
		clean := false
		defer func() {
			cause := recover()
			w.end()
			if clean || cause != nil {
				ended <- cause
				return
			}
			close(ended) // fn has called runtime.Goexit, as a failing test does
		}()
		fn(w)
		clean = true
	}()
	cause, ok := <-ended
	switch {
	case !ok:
		runtime.Goexit()
	case cause != nil:
		panic(cause)
	}
}

// Lower lowers the priority of the work. Only the work itself may call it.
func (w *LongOperation) Lower() {
	w.pin()
	w.lower()
}

// LowerAfter lowers the priority of the work after d, if it is still running. Only the work itself may call
// it. The returned function cancels the timer.
func (w *LongOperation) LowerAfter(d time.Duration, clock ttl.Clock) (stop func()) {
	w.pin()
	return ttl.AfterFunc(clock, d, w.lower)
}

func (w *LongOperation) pin() {
	if w.pinned || !Supported {
		return
	}
	runtime.LockOSThread()
	w.pinned, w.thread = true, threadID()
}

// lower lowers the priority of the thread in which the operation runs, unless the operation has ended. A
// timer may call it in another thread.
func (w *LongOperation) lower() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pinned && !w.lowered && !w.ended {
		w.lowered = true
		lowerThread(w.thread, niceness)
	}
}

// end gives the thread back to the Go runtime if its priority has not been lowered. A thread with lowered
// priority ends with the goroutine.
func (w *LongOperation) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.pinned && !w.lowered {
		runtime.UnlockOSThread()
	}
}
