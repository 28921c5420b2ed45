package work

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mayflydb/mayfly/internal/priority"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
)

// The sizes from which on an input, such as a document to parse or a query to plan, is medium or large. Few
// computations on medium inputs, and few on large ones, run at the same time; the others wait in the order in
// which they arrived. Such a computation takes long and cannot be suspended: Go interrupts a goroutine only
// after 10 ms, and looks for requests that have arrived only when a processor has nothing else to run. The
// two classes do not wait for each other, so that an input waits only for others of about its size.
const (
	mediumInput = 64 << 10  // bytes of JSON; a smaller input takes less time than quick
	largeInput  = 256 << 10 // bytes of JSON

	// TextWeight is the number of bytes of JSON that take as long to parse and index as one byte of the text
	// of a query takes to parse and plan.
	TextWeight = 8
)

// newInputs returns the limits of concurrent computations on medium and on large inputs.
func newInputs(processors int) [2]*semaphore.Weighted {
	most := int64(max(1, processors-1))
	return [2]*semaphore.Weighted{semaphore.NewWeighted(most), semaphore.NewWeighted(most)}
}

// Large runs fn, a computation on an input of n bytes of JSON. For a medium or large input (from 64 KiB on),
// only as many computations run at a time as there are processors, less one, and at a lower priority: Large
// waits until fn may run, for no longer than limit. It returns CodeCanceled if ctx ends or limit passes
// before fn has begun. The caller must not hold locks.
func (w *HeavyWorkQueue) Large(ctx context.Context, limit time.Duration, n int, fn func()) error {
	if n < mediumInput {
		fn()
		return nil
	}
	class := w.inputs[0]
	if n >= largeInput {
		class = w.inputs[1]
	}
	if !class.TryAcquire(1) {
		left, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if late := class.Acquire(left, 1); late != nil {
			if ctx.Err() != nil {
				return classify.ToFault(ctx.Err())
			}
			return &fault.Error{Code: fault.CodeCanceled, Err: late,
				Message: "The request ran out of time: other large requests kept it waiting."}
		}
	}
	defer class.Release(1)
	priority.Run(func(work *priority.LongOperation) {
		work.Lower()
		fn()
	})
	return nil
}
