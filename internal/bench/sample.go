package bench

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// benchSlices is the number of slices into which a measurement is divided. In each slice both sides of a
// comparison run once.
const benchSlices = 10

// comparisonWorkSliceFunc does one slice of the work of a comparison, in Mayfly or in bare Pebble. It returns
// the number of operations and their total time.
type comparisonWorkSliceFunc func() (ops int, took time.Duration, err error)

// baselineComparisonTimes holds the results of a measurement that alternates between Mayfly and the baseline
// (bare Pebble) in short slices: the seconds per operation of both, one value for each slice, and the
// resources that Mayfly's slices have used in this process.
type baselineComparisonTimes struct {
	mayfly, baseline []float64
	ops              int
	spent            resourceUsage
}

// resourceUsage is the amount of resources that a process has used, with all its goroutines.
type resourceUsage struct {
	cpu           time.Duration
	allocs, bytes uint64
	written       uint64 // bytes, to the disk
}

// used returns the CPU time, the allocations and (on Linux) the bytes written to disk of this process
// since its start.
func used() (u resourceUsage) {
	u.cpu, _ = processCPU()
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	u.allocs, u.bytes = samples[0].Value.Uint64(), samples[1].Value.Uint64()
	text, _ := os.ReadFile("/proc/self/io") // exists on Linux only
	if _, rest, found := strings.Cut(string(text), "\nwrite_bytes: "); found {
		number, _, _ := strings.Cut(rest, "\n")
		u.written, _ = strconv.ParseUint(number, 10, 64)
	}
	return u
}

// add adds to u the resources that a process has used between two calls of used, which have returned from
// and to.
func (u *resourceUsage) add(from, to resourceUsage) {
	u.cpu += to.cpu - from.cpu
	u.allocs += to.allocs - from.allocs
	u.bytes += to.bytes - from.bytes
	u.written += to.written - from.written
}

// costs returns the average cost of one operation in Mayfly, not in bare Pebble.
func (d baselineComparisonTimes) costs() *OperationCost {
	n := float64(max(d.ops, 1))
	return &OperationCost{CPU: d.spent.cpu.Seconds() / n, Allocs: float64(d.spent.allocs) / n,
		AllocBytes: float64(d.spent.bytes) / n, Written: float64(d.spent.written) / n}
}

// compare runs the two sides in alternating slices, so that a disturbance affects both. The first slice of
// each is an uncounted warm-up.
func (b *BenchmarkRun) compare(ctx context.Context, what string,
	ours, theirs comparisonWorkSliceFunc) (d baselineComparisonTimes, err error) {
	b.progress.Start(what, benchSlices)
	for i := range benchSlices + 1 {
		for _, side := range []struct {
			run comparisonWorkSliceFunc
			to  *[]float64
		}{{ours, &d.mayfly}, {theirs, &d.baseline}} {
			if err := ctx.Err(); err != nil {
				return d, err
			}
			before := used()
			ops, took, err := side.run()
			if err != nil {
				return d, err
			}
			if i > 0 {
				if side.to == &d.mayfly {
					d.ops += ops
					d.spent.add(before, used())
				}
				*side.to = append(*side.to, took.Seconds()/float64(max(ops, 1)))
			}
		}
		if i > 0 {
			b.progress.Step(1)
		}
	}
	return d, nil
}

// sliceTime returns the intended duration of one slice. A comparison is divided into slices, in which Mayfly
// and the store that it is compared with run in turn.
func (b *BenchmarkRun) sliceTime() time.Duration {
	return time.Duration(b.Seconds / (2 * benchSlices) * float64(time.Second))
}

// round is the number of operations between two readings of the clock in repeat.
const round = 64

// repeat returns a function that measures the operation op during one time slice: it calls op in rounds until
// the slice is over, and returns the number of calls and the time that they took. prepare runs before each
// round and is not timed.
func (b *BenchmarkRun) repeat(prepare func(), op func(k int) error) comparisonWorkSliceFunc {
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

// speed returns the Measurement of a comparison as seconds per operation. Its ratio is the speed of Mayfly
// divided by the speed of the baseline: above 1, Mayfly is faster.
func (d baselineComparisonTimes) speed(name string, limit *measurementThreshold) Measurement {
	of := func(ours, theirs float64) float64 { return theirs / ours }
	against, ratio := median(d.baseline), d.ratio(of)
	return Measurement{Name: name, Value: median(d.mayfly), Unit: seconds, Against: &against, Ratio: &ratio,
		Budget: limit, Samples: d.ratios(of)}
}

// with returns the measurement with its cost.
func (f Measurement) with(c *OperationCost) Measurement {
	f.Cost = c
	return f
}

// rate returns the result of a comparison as a Figure in operations per second. Its ratio is Mayfly's speed
// divided by bare Pebble's.
func (d baselineComparisonTimes) rate(name string, limit *measurementThreshold) Measurement {
	f := d.speed(name, limit)
	against := 1 / *f.Against
	f.Value, f.Against, f.Unit = 1/f.Value, &against, perSecond
	return f
}

// ratios returns the ratios of a comparison. It pairs each slice of Mayfly with one of the baseline; the
// parameter of computes the ratio of a pair from the seconds per operation in both.
func (d baselineComparisonTimes) ratios(of func(ours, theirs float64) float64) []float64 {
	pairs := make([]float64, len(d.mayfly))
	for i := range pairs {
		pairs[i] = of(d.mayfly[i], d.baseline[i])
	}
	return pairs
}

func quotient(ours, theirs float64) float64 { return ours / theirs }

// ratio returns the median ratio of a comparison. It pairs each slice of Mayfly with one of the baseline; the
// parameter of computes the ratio of a pair from the seconds per operation in both.
func (d baselineComparisonTimes) ratio(of func(ours, theirs float64) float64) float64 {
	return median(d.ratios(of))
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

// latencies are the times of single operations.
type latencies []time.Duration

func (l latencies) sorted() latencies {
	slices.Sort(l)
	return l
}

// quantile returns the smallest latency that at least the share q of all does not exceed. l is sorted.
func (l latencies) quantile(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, max(0, int(math.Ceil(q*float64(len(l))))-1))]
}

// timed runs op and appends its time.
func (b *BenchmarkRun) timed(l *latencies, op func() error) error {
	began := b.clock.Now()
	err := op()
	*l = append(*l, b.clock.Now().Sub(began))
	return err
}

// workers calls do once for each number of [from, to), in n goroutines. The first error stops them all and is
// returned.
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

// background calls do repeatedly in n goroutines until stop is called. stop returns the first error.
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

// errStopped is the cause with which background work is stopped.
var errStopped = errors.New("stopped")
