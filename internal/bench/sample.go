package bench

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// benchSlices is how many slices each side of a comparison gets.
const benchSlices = 10

// stretch does one side's work of one slice and reports how many operations that was, and the time for all of
// them.
type stretch func() (ops int, took time.Duration, err error)

// duel holds the seconds that an operation took on either side, slice by slice.
type duel struct{ ours, theirs []float64 }

// fight lets two sides take turns, so that what disturbs one disturbs the other. One slice of each goes ahead
// uncounted, to warm up.
func (b *Bench) fight(ctx context.Context, what string, ours, theirs stretch) (d duel, err error) {
	b.progress.Start(what, benchSlices)
	for i := range benchSlices + 1 {
		for _, side := range []struct {
			run stretch
			to  *[]float64
		}{{ours, &d.ours}, {theirs, &d.theirs}} {
			if err := ctx.Err(); err != nil {
				return d, err
			}
			ops, took, err := side.run()
			if err != nil {
				return d, err
			}
			if i > 0 {
				*side.to = append(*side.to, took.Seconds()/float64(max(ops, 1)))
			}
		}
		if i > 0 {
			b.progress.Step(1)
		}
	}
	return d, nil
}

// sliceTime is how long one slice of one side should take.
func (b *Bench) sliceTime() time.Duration {
	return time.Duration(b.Seconds / (2 * benchSlices) * float64(time.Second))
}

// round is how many operations repeat does between two looks at the clock.
const round = 64

// repeat is the stretch of an operation that is done over and over. Before each round, what its operations
// work on is prepared; that is not timed.
func (b *Bench) repeat(prepare func(), op func(k int) error) stretch {
	return func() (ops int, took time.Duration, err error) {
		for took < b.sliceTime() {
			prepare()
			began := b.clock.Now()
			for k := range round {
				if err := op(k); err != nil {
					return ops, took, err
				}
			}
			took += b.clock.Now().Sub(began)
			ops += round
		}
		return ops, took, nil
	}
}

// speed is the Figure of a duel as time for an operation: the ratio is how much of the bare speed is reached.
func (d duel) speed(name string, limit *budget) Figure {
	against, ratio := median(d.theirs), d.ratio(func(ours, theirs float64) float64 { return theirs / ours })
	return Figure{Name: name, Value: median(d.ours), Unit: seconds, Against: &against, Ratio: &ratio,
		Budget: limit}
}

// rate is the same as operations a second.
func (d duel) rate(name string, limit *budget) Figure {
	f := d.speed(name, limit)
	against := 1 / *f.Against
	f.Value, f.Against, f.Unit = 1/f.Value, &against, perSecond
	return f
}

// ratio is the median over the pairs.
func (d duel) ratio(of func(ours, theirs float64) float64) float64 {
	pairs := make([]float64, len(d.ours))
	for i := range pairs {
		pairs[i] = of(d.ours[i], d.theirs[i])
	}
	return median(pairs)
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	n := len(sorted)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// latencies are what single operations took.
type latencies []time.Duration

func (l latencies) sorted() latencies {
	slices.Sort(l)
	return l
}

// quantile is the smallest latency that at least the share q of all does not exceed. l is sorted.
func (l latencies) quantile(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, max(0, int(math.Ceil(q*float64(len(l))))-1))]
}

// timed appends what op took.
func (b *Bench) timed(l *latencies, op func() error) error {
	began := b.clock.Now()
	err := op()
	*l = append(*l, b.clock.Now().Sub(began))
	return err
}

// workers runs do for each number of [from, to) once, in n goroutines, and returns the first error, which
// stops them all.
func workers(ctx context.Context, n, from, to int, do func(i int) error) error {
	var next atomic.Int64
	next.Store(int64(from))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= to {
					return
				}
				if err := do(i); err != nil {
					stop(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// background runs do over and over in n goroutines until stop is called, which returns the first error.
func background(ctx context.Context, n int, do func(worker int) error) (stop func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	for worker := range n {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := do(worker); err != nil {
					cancel(err)
				}
			}
		})
	}
	return func() error {
		cancel(errStopped)
		all.Wait()
		if err := context.Cause(ctx); !errors.Is(err, errStopped) {
			return err
		}
		return nil
	}
}

// errStopped is the cause of what background work ends with when it is told to.
var errStopped = errors.New("stopped")
