package script

import (
	"context"
	"sync/atomic"
	"time"
)

// The interpreter of a Runtime runs in a goroutine of its own, the interpreterGoroutine. In the meantime the
// caller's goroutine carries out the operations that the script requests from its host, and checks the
// limits. The interpreter can be stopped only between two instructions, so a caller may have to abandon a
// script that does not end. An abandoned script can no longer access the host, its result is discarded, and
// it is counted until it ends.

// interpreterGoroutine is the goroutine of a Runtime and the channels to it.
type interpreterGoroutine struct {
	jobs      chan func() error
	results   chan error         // capacity 1, so that an abandoned goroutine does not block
	asks      chan func()        // functions that the caller's goroutine must run for the script
	answered  chan struct{}      // signals that the caller's goroutine has run the function
	gone      chan struct{}      // closed when the caller has left
	done      chan struct{}      // closed when the goroutine has ended
	abandoned atomic.Bool        // the caller left while a job was running
	cancel    context.CancelFunc // cancels the current operation of the host
	closed    bool
}

func openExecutor() *interpreterGoroutine {
	return &interpreterGoroutine{
		jobs: make(chan func() error), results: make(chan error,
			1), asks: make(chan func()), answered: make(chan struct{}),
		gone: make(chan struct{}), done: make(chan struct{}),
	}
}

// leave makes the interpreterGoroutine end after its current job.
func (m *interpreterGoroutine) leave() {
	m.closed = true
	close(m.gone)
	close(m.jobs)
}

// work is the function of the goroutine in which the Runtime's scripts run. It runs one job after the other
// and sends their results to the caller, until the caller closes the channel of jobs.
func (r *Runtime) work() {
	defer close(r.executor.done)
	for job := range r.executor.jobs {
		r.executor.results <- r.protect(job)
	}
	if r.executor.abandoned.Load() {
		r.programs.stuck.Add(-1)
	}
}

// protect runs a job and converts its error or panic to an error of this package.
func (r *Runtime) protect(job func() error) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = r.failure(asError(x))
		}
	}()
	if err := job(); err != nil {
		return r.failure(err)
	}
	return nil
}

// runJob runs a job, which is one call of the script, in the interpreterGoroutine.
func (r *Runtime) runJob(job func() error) error {
	if r.executor.closed {
		return r.why
	}
	r.since.Store(int64(r.env.Elapsed()))
	ctx, cancel := r.ctx, context.CancelFunc(func() {})
	if r.hosted {
		ctx, cancel = context.WithCancel(r.ctx)
	}
	defer cancel()
	r.hostCtx, r.executor.cancel = ctx, cancel
	r.executor.jobs <- job
	err := r.waitForJob()
	r.spent.Add(int64(r.env.Elapsed()) - r.since.Swap(idle))
	return err
}

// waitForJob waits for the end of a job. While it waits, it serves the requests of the job. If the job does
// not end in time, it abandons it.
func (r *Runtime) waitForJob() error {
	end := r.ctx.Done()
	for {
		if r.tick == nil {
			r.tick, r.release = r.env.After(watchEvery)
		}
		select {
		case err := <-r.executor.results:
			return err
		case serve := <-r.executor.asks:
			serve()
			r.executor.answered <- struct{}{}
		case <-end:
			end = nil
			r.stop(r.ctx.Err())
		case <-r.tick:
			r.release()
			r.tick = nil
			if r.checkLimits() {
				return r.abandon()
			}
		}
	}
}

// checkLimits stops a script that has exceeded a limit. It returns true if the script has not ended within
// Grace after it was stopped.
func (r *Runtime) checkLimits() (lost bool) {
	if r.why != nil {
		return r.env.Elapsed()-r.stoppedAt >= r.limits.Grace
	}
	if err := r.limitError(); err != nil {
		r.stop(err)
	}
	return false
}

// stop records why and ends the script at its next instruction. Only the goroutine that called the Runtime
// calls it.
func (r *Runtime) stop(why error) {
	if r.why == nil {
		r.why, r.stoppedAt = why, r.env.Elapsed()
	}
	r.interrupt(why)
}

// interrupt ends the script at its next instruction, for the reason why. The goroutine in which the script
// runs calls it directly; any other goroutine calls stop, which also records the reason.
func (r *Runtime) interrupt(why error) {
	r.stopped.Store(true)
	r.js.Interrupt(interruptReason{why})
}

// abandon gives up waiting for a script that has not ended although it was stopped, and returns the error to
// report.
func (r *Runtime) abandon() error {
	r.programs.stuck.Add(1)
	r.executor.abandoned.Store(true)
	r.executor.leave()
	return r.why
}

// Close ends the Runtime. It waits for its goroutine, unless the script was abandoned.
func (r *Runtime) Close() {
	if r.release != nil {
		r.release()
	}
	if !r.executor.closed {
		r.executor.leave()
		<-r.executor.done
	}
}

// callerGonePanic is the panic that ends a script when the goroutine that called the Runtime does not wait
// for it any more.
type callerGonePanic struct{}

func (callerGonePanic) Error() string { return "nobody waits for the script any more" }

// ask makes the goroutine that called the Runtime run the function do, and waits until do has returned. Only
// the goroutine of the script calls ask. While it waits, it cancels do if the time limit of the script has
// passed.
func (r *Runtime) ask(do func()) {
	select {
	case r.executor.asks <- do:
	case <-r.executor.gone:
		panic(callerGonePanic{})
	}
	for {
		tick, release := r.env.After(watchEvery)
		select {
		case <-r.executor.answered:
			release()
			return
		case <-r.executor.gone:
			release()
			panic(callerGonePanic{})
		case <-tick:
			if r.runTime() > r.limits.Time {
				r.executor.cancel()
			}
		}
	}
}

// do carries out an operation that the script has requested. The operation is canceled at the time limit of
// the script.
func (r *Runtime) do(host Host, op Operation) (answer OperationResult, err error) {
	r.ask(func() {
		if answer, err = host.Do(r.hostCtx, op); err != nil && r.hostCtx.Err() != nil && r.ctx.Err() == nil {
			err = &TimeoutError{r.limits.Time}
		}
	})
	return answer, err
}

// runTime returns how long the script has run in all calls together.
func (r *Runtime) runTime() time.Duration {
	taken := r.spent.Load()
	if since := r.since.Load(); since != idle {
		taken += int64(r.env.Elapsed()) - since
	}
	return time.Duration(taken)
}

// watchEvery is the interval at which the time and memory limits of a running script are checked.
const watchEvery = 5 * time.Millisecond

// limitError returns the reason why the script must end, or nil if it need not.
func (r *Runtime) limitError() error {
	switch {
	case r.runTime() > r.limits.Time:
		return &TimeoutError{r.limits.Time}
	case r.heap.over(r.limits.Memory):
		return &SizeOrMemoryLimitError{What: TooLargeMemory, Limit: r.limits.Memory}
	}
	return nil
}
