package work

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayflydb/mayfly/internal/priority"
	"github.com/mayflydb/mayfly/ttl"
)

// TestScansTakeTurns checks that a scan that has read 256 KB takes a turn, that is, waits until no other
// such scan is running, and that the wait ends with the context of the scan.
func TestScansTakeTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one turn
	synctest.Test(t, func(t *testing.T) {
		turns := priority.NewProcessTurnLimiter(ttl.NewManual(time.Unix(0, 0)))
		ctx, cancel := context.WithCancel(t.Context())
		small, first := ScanTimeLimiter{Ctx: ctx, Turns: turns}, ScanTimeLimiter{Ctx: ctx, Turns: turns}
		small.count(make([]byte, yieldBytes-1))
		first.count(make([]byte, yieldBytes))
		if small.turn != nil || first.turn == nil {
			t.Fatal("only a scan of 256 KB takes a turn")
		}
		goes := func() (second *ScanTimeLimiter, reached chan struct{}) {
			second, reached = &ScanTimeLimiter{Ctx: ctx, Turns: turns}, make(chan struct{})
			go func() {
				second.count(make([]byte, yieldBytes))
				close(reached)
			}()
			synctest.Wait()
			return second, reached
		}
		isClosed := func(c chan struct{}) bool {
			synctest.Wait()
			select {
			case <-c:
				return true
			default:
				return false
			}
		}
		second, reached := goes()
		if isClosed(reached) {
			t.Fatal("two scans have a turn")
		}
		if first.Leave(); !isClosed(reached) || !second.More() {
			t.Fatal("a turn that has ended keeps another scan waiting")
		}
		third, reached := goes()
		if isClosed(reached) {
			t.Fatal("two scans have a turn")
		}
		if cancel(); !isClosed(reached) || third.More() || !errors.Is(third.err, context.Canceled) {
			t.Errorf("the caller of a waiting scan has ended: %v", third.err)
		}
		second.Leave()
	})
}
