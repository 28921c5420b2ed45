package script

import (
	"context"
	"sync/atomic"
	"time"
)

// The interpreter of a Runtime runs in a goroutine of its own, its room, and whoever calls the script
// attends: it carries out what the script asks of its host, and looks at the clock. So a caller can leave a
// script that does not come back, for the interpreter can be stopped between two instructions alone. What is
// left behind has no way to the host any more, its result is thrown away, and it is counted until it ends.

// room is the goroutine of a Runtime and the ways to it.
type room struct {
	jobs     chan func() error
	results  chan error         // with room for one, so that nobody waits for who has left
	asks     chan func()        // what the script asks of the caller
	answered chan struct{}      // the caller has done that
	gone     chan struct{}      // the caller is not there any more
	done     chan struct{}      // the goroutine has ended
	forsaken atomic.Bool        // gone while a job was running
	cancel   context.CancelFunc // ends what the caller is doing for the script, in a call
	closed   bool
}

func openRoom() *room {
	return &room{
		jobs: make(chan func() error), results: make(chan error,
			1), asks: make(chan func()), answered: make(chan struct{}),
		gone: make(chan struct{}), done: make(chan struct{}),
	}
}

// leave lets the goroutine end.
func (m *room) leave() {
	m.closed = true
	close(m.gone)
	close(m.jobs)
}

// work is the goroutine: one job after the other, until the caller leaves.
func (r *Runtime) work() {
	defer close(r.room.done)
	for job := range r.room.jobs {
		r.room.results <- r.protect(job)
	}
	if r.room.forsaken.Load() {
		r.programs.stuck.Add(-1)
	}
}

// protect makes an error of whatever goes wrong: what the script threw, why it was stopped, or a fault of the
// interpreter.
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

// guard runs job as one call of the script.
func (r *Runtime) guard(job func() error) error {
	if r.room.closed {
		return r.why
	}
	r.since.Store(int64(r.env.Elapsed()))
	ctx, cancel := r.ctx, context.CancelFunc(func() {})
	if r.hosted {
		ctx, cancel = context.WithCancel(r.ctx)
	}
	defer cancel()
	r.hostCtx, r.room.cancel = ctx, cancel
	r.room.jobs <- job
	err := r.attend()
	r.spent.Add(int64(r.env.Elapsed()) - r.since.Swap(idle))
	return err
}

// attend waits for the end of a job, serves it meanwhile, and leaves it where it does not end in time.
func (r *Runtime) attend() error {
	end := r.ctx.Done()
	for {
		if r.tick == nil {
			r.tick, r.release = r.env.After(watchEvery)
		}
		select {
		case err := <-r.room.results:
			return err
		case serve := <-r.room.asks:
			serve()
			r.room.answered <- struct{}{}
		case <-end:
			end = nil
			r.stop(r.ctx.Err())
		case <-r.tick:
			r.release()
			r.tick = nil
			if r.look() {
				return r.forsake()
			}
		}
	}
}

// look stops a script that must end. It is true where the script has been stopped for longer than it may take
// to notice.
func (r *Runtime) look() (lost bool) {
	if r.why != nil {
		return r.env.Elapsed()-r.stoppedAt >= r.limits.Grace
	}
	if err := r.overdue(); err != nil {
		r.stop(err)
	}
	return false
}

// stop ends the script at its next instruction. The caller alone stops it.
func (r *Runtime) stop(why error) {
	if r.why == nil {
		r.why, r.stoppedAt = why, r.env.Elapsed()
	}
	r.interrupt(why)
}

// interrupt is stop from inside a job.
func (r *Runtime) interrupt(why error) {
	r.stopped.Store(true)
	r.js.Interrupt(interruption{why})
}

// forsake leaves a script behind that does not come back.
func (r *Runtime) forsake() error {
	r.programs.stuck.Add(1)
	r.room.forsaken.Store(true)
	r.room.leave()
	return r.why
}

// Close ends the Runtime. It waits for its goroutine, but for one that a caller had to leave.
func (r *Runtime) Close() {
	if r.release != nil {
		r.release()
	}
	if !r.room.closed {
		r.room.leave()
		<-r.room.done
	}
}

// goneError ends a script whose caller has left.
type goneError struct{}

func (goneError) Error() string { return "nobody waits for the script any more" }

// ask lets the caller do something, and waits for that. Meanwhile it is the one who looks at the clock.
func (r *Runtime) ask(do func()) {
	select {
	case r.room.asks <- do:
	case <-r.room.gone:
		panic(goneError{})
	}
	for {
		tick, release := r.env.After(watchEvery)
		select {
		case <-r.room.answered:
			release()
			return
		case <-r.room.gone:
			release()
			panic(goneError{})
		case <-tick:
			if r.taken() > r.limits.Time {
				r.room.cancel()
			}
		}
	}
}

// do carries out an operation of the script. What takes longer than the script may, ends.
func (r *Runtime) do(host Host, op Operation) (answer Answer, err error) {
	r.ask(func() {
		if answer, err = host.Do(r.hostCtx, op); err != nil && r.hostCtx.Err() != nil && r.ctx.Err() == nil {
			err = &TimeoutError{r.limits.Time}
		}
	})
	return answer, err
}

// taken is how long the script has run, over all calls.
func (r *Runtime) taken() time.Duration {
	taken := r.spent.Load()
	if since := r.since.Load(); since != idle {
		taken += int64(r.env.Elapsed()) - since
	}
	return time.Duration(taken)
}

// watchEvery is how often a caller looks.
const watchEvery = 5 * time.Millisecond

// overdue reports why the script must end, or nil.
func (r *Runtime) overdue() error {
	switch {
	case r.taken() > r.limits.Time:
		return &TimeoutError{r.limits.Time}
	case r.heap.over(r.limits.Memory):
		return &TooLargeError{What: TooLargeMemory, Limit: r.limits.Memory}
	}
	return nil
}
