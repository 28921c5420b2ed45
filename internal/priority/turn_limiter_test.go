package priority

import (
	"context"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mayflydb/mayfly/ttl"
)

// clockAdvancingReader is an endless input. Each read advances the clock by delay, as if it had waited for
// input.
type clockAdvancingReader struct {
	clock *ttl.VirtualClock
	delay time.Duration
}

func (i *clockAdvancingReader) Read(p []byte) (int, error) {
	i.clock.Advance(i.delay)
	return len(p), nil
}

// TestTurns checks that a connection occupies one of the limited turns of a TurnLimiter only if it is served
// for longer than it waits for input, and that Leave gives the turn back.
func TestTurns(t *testing.T) {
	clock := ttl.NewManual(time.Unix(0, 0))
	turns := &TurnLimiter{semaphore.NewWeighted(1), clock}
	in := &clockAdvancingReader{clock, time.Millisecond}
	r := turns.Reader(t.Context(), in)
	one := make([]byte, 1)
	serve := func(d time.Duration) (needsTurn bool) {
		t.Helper()
		clock.Advance(d)
		if n, err := r.Read(one); n != 1 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		return r.turn != nil
	}
	for range 100 {
		if serve(time.Millisecond) {
			t.Fatal("a connection that waits for half of the time takes turns")
		}
	}
	in.delay = 0
	for n := range 10 {
		if got, want := serve(time.Millisecond), n >= 4; got != want {
			t.Errorf("after %d ms without a pause: %v", n+1, got)
		}
	}
	if turns.free.TryAcquire(1) {
		t.Error("a busy connection has no turn")
	}
	r.Leave()
	if !turns.free.TryAcquire(1) {
		t.Error("a turn is not given back")
	}
	turns.free.Release(1)
	in.delay = maxBusy
	if serve(time.Hour) {
		t.Error("a connection takes turns after a pause")
	}
}

// TestTurnTimeLimit checks that a turn ends after maxTurn, so that a connection that waits for something
// other than input does not block the others.
func TestTurnTimeLimit(t *testing.T) {
	clock := ttl.NewManual(time.Unix(0, 0))
	turns := &TurnLimiter{semaphore.NewWeighted(1), clock}
	held := turns.Take(t.Context())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if turns.Take(gone) != nil {
		t.Error("two connections have a turn")
	}
	clock.Advance(maxTurn)
	next := turns.Take(t.Context())
	held.Leave() // it must not end the turn of another connection
	if turns.free.TryAcquire(1) {
		t.Error("a turn was given back twice")
	}
	next.Leave()
}

// TestTurnsAlternate checks that two connections whose clients send without a pause are served
// alternately.
func TestTurnsAlternate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := &TurnLimiter{semaphore.NewWeighted(1), ttl.SystemClock{}}
		var order []int // guarded by the turns
		const slices = 5
		serve := func(id int) {
			r := turns.Reader(t.Context(), endlessReader{})
			defer r.Leave()
			one := make([]byte, 1)
			for served := 0; served < slices; {
				if _, err := r.Read(one); err != nil {
					t.Error(err)
				}
				if r.turn != nil {
					order = append(order, id)
					served++
				}
				later, stop := ttl.SystemClock{}.After(2 * time.Millisecond)
				<-later // in the time of the bubble
				stop()
			}
		}
		var work sync.WaitGroup
		work.Go(func() { serve(1) })
		work.Go(func() { serve(2) })
		work.Wait()
		if len(order) != 2*slices {
			t.Fatalf("the turns: %v", order)
		}
		for i := 1; i < len(order)-1; i++ {
			if order[i] == order[i-1] {
				t.Errorf("a connection has two turns in a row: %v", order)
			}
		}
	})
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) { return len(p), nil }

var _ io.Reader = endlessReader{}

// TestNumberOfTurns checks the number of turns that NewProcessTurnLimiter allows: GOMAXPROCS-1, at least one,
// and the number of processors if GOMAXPROCS is higher.
func TestNumberOfTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for most, want := range map[int]int64{
		1:                        1,
		runtime.NumCPU() + 3:     int64(runtime.NumCPU()),
		max(2, runtime.NumCPU()): int64(max(1, runtime.NumCPU()-1)),
	} {
		runtime.GOMAXPROCS(most)
		if turns := NewProcessTurnLimiter(ttl.SystemClock{}); !turns.free.TryAcquire(want) || turns.free.TryAcquire(1) {
			t.Errorf("GOMAXPROCS %d: not %d turns", most, want)
		}
	}
}
