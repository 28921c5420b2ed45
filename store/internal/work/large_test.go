package work

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/store/fault"
)

// occupy starts a computation on an input of n bytes, by Large, and returns a function that ends it.
func occupy(t *testing.T, w *HeavyWorkQueue, n int) (end func()) {
	t.Helper()
	began, leave := make(chan struct{}), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		err := w.Large(context.Background(), time.Hour, n, func() { close(began); <-leave })
		if err != nil {
			t.Error(err)
		}
	})
	<-began
	return func() { close(leave); running.Wait() }
}

// TestLargeInputs checks HeavyWorkQueue.Large, which runs a computation on an input of a given size. While
// one on a large input runs, computations on small and medium inputs run at once. Another one on a large
// input waits, for no longer than its context and its time limit permit.
func TestLargeInputs(t *testing.T) {
	w := NewHeavy(2)
	end := occupy(t, w, 2<<20)
	for _, n := range []int{0, mediumInput - 1, mediumInput, largeInput - 1} {
		ran := false
		if err := w.Large(t.Context(), time.Hour, n, func() { ran = true }); err != nil || !ran {
			t.Errorf("%d bytes beside a large input: %v", n, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	never := func() { t.Error("it runs beside another large input") }
	if err := w.Large(gone, time.Hour, largeInput, never); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that is given up: %v", err)
	}
	err := w.Large(t.Context(), 1, largeInput, never)
	if fault.ErrorCode(err) != fault.CodeCanceled || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request that has waited for too long: %v", err)
	}
	end()
	ran := false
	if err := w.Large(t.Context(), time.Hour, largeInput, func() { ran = true }); err != nil || !ran {
		t.Errorf("after the large input: %v", err)
	}
}

// TestLargeInputsDoNotOverlap checks that computations on large inputs that arrive at the same time run
// one after the other, and that all of them run.
func TestLargeInputsDoNotOverlap(t *testing.T) {
	w := NewHeavy(2)
	end := occupy(t, w, largeInput)
	const clients = 8
	var ran []int // not guarded: the race detector sees two at a time
	var work sync.WaitGroup
	for i := range clients {
		work.Go(func() {
			err := w.Large(t.Context(), time.Hour, largeInput, func() { ran = append(ran, i) })
			if err != nil {
				t.Error(err)
			}
		})
	}
	end()
	work.Wait()
	slices.Sort(ran)
	if !slices.Equal(ran, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("%v ran", ran)
	}
}

// TestLargeInputsPanic checks that a panic of the function passed to Large reaches the caller, and that
// the next computation can run.
func TestLargeInputsPanic(t *testing.T) {
	w := NewHeavy(1)
	for range 2 {
		func() {
			defer func() {
				if cause := recover(); cause != "a cause" {
					t.Errorf("recovered %v", cause)
				}
			}()
			_ = w.Large(t.Context(), time.Hour, largeInput, func() { panic("a cause") })
		}()
	}
}
