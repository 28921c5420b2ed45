package ttl

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A sweepRangeState is the state of a range that is kept from one round to the next.
type sweepRangeState struct {
	clock Clock // clock of the range
	// idleUntil is a time before which no item of the range expires, by the range's clock. It is zero if more
	// items are due.
	idleUntil time.Time
	failures  int       // consecutive
	retryAt   time.Time // a time on Pace before which the range is not swept, because of failures
}

// clockOf returns the clock that decides expiry in a range.
func (r *Reaper) clockOf(rg SweepRange) Clock {
	if c := r.sweeper.Clock(rg); c != nil {
		return c
	}
	return r.opts.Clock
}

// A wakeSignal is a channel on which timers signal that they have fired. Several signals that were not
// received count as one.
type wakeSignal chan struct{}

func (b wakeSignal) send() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// A sweepOutcome is the outcome of one call of Sweep, which purges what is due in one range: its result, its
// duration and its error.
type sweepOutcome struct {
	SweepResult
	took time.Duration
	err  error // a *SweepRangeError, or nil
}

func (r *Reaper) loop() {
	all := true
	for r.life.Err() == nil {
		began := r.opts.Clock.Now()
		select {
		case <-r.wake: // this round serves the request
			all = true
		default:
		}
		ended := r.round(all)
		all = r.sleep(began) || all && !ended
	}
}

// sleep waits until the next round is due; began is the start of the last one. It reports whether the
// next round was requested by Wake.
func (r *Reaper) sleep(began time.Time) (woken bool) {
	r.wait(r.life, minGap)
	var tick <-chan time.Time
	otherTick := make(wakeSignal, 1)
	if !r.Metrics().Paused {
		for _, c := range r.otherClocks() {
			defer AfterFunc(c, r.opts.Interval, otherTick.send)()
		}
		// The interval counts from the start of the round: a clock that was advanced during the round
		// must not delay the next one.
		c, stop := At(r.opts.Clock, began.Add(r.opts.Interval))
		defer stop()
		tick = c
	}
	select {
	case <-r.wake:
		return true
	case <-tick:
	case <-otherTick:
	case <-r.life.Done():
	}
	return false
}

// wait waits for d by the clock ReaperOptions.Pace, or until ctx ends.
func (r *Reaper) wait(ctx context.Context, d time.Duration) {
	c, stop := r.opts.Pace.After(d)
	defer stop()
	select {
	case <-c:
	case <-ctx.Done():
	}
}

// round sweeps until nothing is due. It sweeps all ranges if all is true, otherwise only those in which an
// item may have expired. It reports whether it completed.
func (r *Reaper) round(all bool) (ended bool) {
	ctx, cancel := r.startRound()
	if ctx == nil {
		return false
	}
	defer cancel()
	began := r.opts.Pace.Now()
	retried := func(v sweepRangeState) bool { return !r.opts.Pace.Now().Before(v.retryAt) }
	queue, err := r.list(ctx,
		func(v sweepRangeState) bool { return retried(v) && (all || !v.clock.Now().Before(v.idleUntil)) })
	for err == nil && len(queue) > 0 {
		for n := 0; n < passes && err == nil && len(queue) > 0; n++ {
			queue, err = r.pass(ctx, queue, func(b sweepOutcome) { r.afterBatch(ctx, b, began) })
		}
		if err == nil {
			queue, err = r.list(ctx,
				func(v sweepRangeState) bool { return retried(v) && v.idleUntil.IsZero() })
		}
	}
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		r.opts.OnError(err)
		return false
	}
	r.endRound()
	return true
}

// afterBatch is called after each batch of the loop. It reports an error, or pauses for foreground work.
func (r *Reaper) afterBatch(ctx context.Context, b sweepOutcome, began time.Time) {
	if b.err != nil {
		r.opts.OnError(b.err)
		return
	}
	if b.Purged == 0 && !b.More || r.opts.Load() == 0 {
		return
	}
	if d := pause(b.took, r.opts.Pace.Now().Sub(began)); d > 0 {
		r.wait(ctx, d)
	}
}

// startRound returns the context of a round, which Pause and Close end. It returns nil if the reaper is
// paused.
func (r *Reaper) startRound() (context.Context, context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.metrics.Paused {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(r.life)
	r.cancelRound = cancel
	return ctx, cancel
}

func (r *Reaper) endRound() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metrics.Rounds++
	r.metrics.LastRound = r.opts.Clock.Now()
}

// list returns the current ranges for which due returns true. It drops the state of ranges that no longer
// exist.
func (r *Reaper) list(ctx context.Context, due func(sweepRangeState) bool) ([]SweepRange, error) {
	if err := r.acquire(ctx); err != nil {
		return nil, err
	}
	defer r.release()
	ranges, err := r.sweeper.Ranges(ctx)
	if err != nil {
		r.count(0, ctx.Err() == nil)
		return nil, fmt.Errorf("list what is to be swept: %w", err)
	}
	visits := make(map[SweepRange]sweepRangeState, len(ranges))
	var queue []SweepRange
	var clocks []Clock
	for _, rg := range ranges {
		v := r.rangeStates[rg]
		if c := r.clockOf(rg); v.clock != c {
			v.clock, v.idleUntil = c, time.Time{} // a time of another clock is meaningless
		}
		if v.clock != r.opts.Clock && !slices.Contains(clocks, v.clock) {
			clocks = append(clocks, v.clock)
		}
		visits[rg] = v
		if due(v) {
			queue = append(queue, rg)
		}
	}
	r.rangeStates = visits
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clocks = clocks
	return queue, nil
}

func (r *Reaper) otherClocks() []Clock {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clocks
}

// pass sweeps one batch of each range in the queue, calls digest with the outcome of each batch, and returns
// the ranges that have more to purge. It returns an error only if ctx has ended.
func (r *Reaper) pass(ctx context.Context, queue []SweepRange, digest func(sweepOutcome)) (left []SweepRange,
	err error) {
	for _, rg := range queue {
		b, err := r.sweep(ctx, rg)
		if err != nil {
			return nil, err
		}
		if b.More {
			left = append(left, rg)
		}
		digest(b)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metrics.Backlog = len(left) > 0
	return left, nil
}

// sweep waits until no other sweep of the reaper is running, sweeps one batch of rg and records the result.
// It returns an error only if ctx has ended; an error of the Sweeper is in the batch.
func (r *Reaper) sweep(ctx context.Context, rg SweepRange) (b sweepOutcome, err error) {
	if err := r.acquire(ctx); err != nil {
		return b, err
	}
	defer r.release()
	clock := r.clockOf(rg)
	now, began := clock.Now(), r.opts.Pace.Now()
	b.SweepResult, b.err = r.sweeper.Sweep(ctx, rg, r.opts.Batch)
	b.took = r.opts.Pace.Now().Sub(began)
	switch {
	case b.err == nil:
		r.count(b.Purged, false)
		r.rangeStates[rg] = sweepRangeState{clock: clock, idleUntil: r.idleUntil(b.SweepResult, now)}
		return b, nil
	case ctx.Err() != nil:
		return b, ctx.Err()
	}
	r.count(0, true)
	b.SweepResult, b.err = SweepResult{}, &SweepRangeError{rg, b.err}
	failures := r.rangeStates[rg].failures + 1
	r.rangeStates[rg] = sweepRangeState{clock: clock, failures: failures,
		retryAt: r.opts.Pace.Now().Add(backoff(failures))}
	return b, nil
}

// idleUntil returns when a range that was swept at now must be swept again.
func (r *Reaper) idleUntil(sw SweepResult, now time.Time) time.Time {
	if sw.More {
		return time.Time{}
	}
	until := now.Add(recheck * r.opts.Interval)
	if sw.Next <= until.Unix() {
		until = time.Unix(sw.Next, 0)
	}
	return until
}

func (r *Reaper) count(purged int, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metrics.Purged += uint64(purged)
	if failed {
		r.metrics.Errors++
	}
}

// acquire waits until no other goroutine calls the sweeper. If it returns no error, release must be called.
func (r *Reaper) acquire(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if ctx.Err() != nil { // select chooses at random if both are ready
		r.release()
		return ctx.Err()
	}
	return nil
}

func (r *Reaper) release() { <-r.turn }
