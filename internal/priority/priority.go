package priority

import (
	"runtime"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// niceness is added to the nice value of the process, which is at most 19. Each step changes the share of the
// processor by a quarter if both sides are busy.
const niceness = 5

// Work is a piece of work in a goroutine of its own.
type Work struct {
	mu      sync.Mutex
	thread  int // its number, once it is pinned
	pinned  bool
	lowered bool
	ended   bool
}

// Run runs fn in a goroutine of its own and returns when it has ended. A panic of fn is passed on.
func Run(fn func(*Work)) {
	w := &Work{}
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
			close(ended) // runtime.Goexit: as a failing test does
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

// Lower lowers the priority of the work. It must be called by the work itself.
func (w *Work) Lower() {
	w.pin()
	w.lower()
}

// LowerAfter lowers the priority once the work has run for some time. It must be called by the work itself.
func (w *Work) LowerAfter(d time.Duration, clock ttl.Clock) (stop func()) {
	w.pin()
	return ttl.AfterFunc(clock, d, w.lower)
}

func (w *Work) pin() {
	if w.pinned || !Supported {
		return
	}
	runtime.LockOSThread()
	w.pinned, w.thread = true, threadID()
}

// lower may be called by a timer, in another thread.
func (w *Work) lower() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pinned && !w.lowered && !w.ended {
		w.lowered = true
		lowerThread(w.thread, niceness)
	}
}

// end releases the thread unchanged; a lowered thread ends with its goroutine, which is locked to it.
func (w *Work) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.pinned && !w.lowered {
		runtime.UnlockOSThread()
	}
}
