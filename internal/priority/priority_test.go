package priority

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

func TestRunPropagatesPanic(t *testing.T) {
	defer func() {
		if cause := recover(); cause != "a cause" {
			t.Errorf("recovered %v", cause)
		}
	}()
	Run(func(*LongOperation) { panic("a cause") })
}

func TestRunPropagatesGoexit(t *testing.T) {
	var done sync.WaitGroup
	reached := false
	done.Go(func() {
		Run(func(*LongOperation) { runtime.Goexit() })
		reached = true
	})
	done.Wait()
	if reached {
		t.Error("the caller goes on")
	}
}

func TestLower(t *testing.T) {
	if !Supported {
		t.Skip("no thread of this system stands back")
	}
	clock := ttl.NewManual(time.Unix(0, 0))
	before := mine(t)
	for name, lower := range map[string]func(*LongOperation){
		"at once": func(w *LongOperation) { w.Lower() },
		"by time": func(w *LongOperation) {
			defer w.LowerAfter(time.Second, clock)()
			clock.Advance(time.Second)
		},
	} {
		Run(func(w *LongOperation) {
			lower(w)
			if got := mine(t); got != before+niceness {
				t.Errorf("%s: the niceness is %d, want %d", name, got, before+niceness)
			}
		})
	}
	Run(func(w *LongOperation) {
		stop := w.LowerAfter(time.Second, clock)
		stop()
		clock.Advance(time.Minute)
		if got := mine(t); got != before {
			t.Errorf("short work: the niceness is %d", got)
		}
	})
	if got := mine(t); got != before {
		t.Errorf("the caller's niceness is %d, was %d", got, before)
	}
}
