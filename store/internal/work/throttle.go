package work

import (
	"math"
	"sync"
	"time"
)

// A throughput is a budget of request units that refills every second. Unused units are kept, up to those
// of one second. The cost of a request is known only after it has run, so one request may overdraw the
// budget. As in Cosmos DB, requests are then refused until the budget is positive again. A server calls
// Admit before each request and Spend after it. A program that embeds the store is not throttled.

// ThroughputBudget is what remains of a provisioned throughput for further requests, in RU. The zero
// ThroughputBudget is full.
type ThroughputBudget struct {
	mu    sync.Mutex
	spent float64   // RU that have not been refilled yet
	at    time.Time // time of the last refill
}

// refill adds the units of the time since the last refill. The caller holds mu.
func (b *ThroughputBudget) refill(now time.Time, perSecond int) {
	if passed := now.Sub(b.at); passed > 0 {
		b.spent = max(0, b.spent-passed.Seconds()*float64(perSecond))
		b.at = now
	}
}

// Wait returns the time until the next request may run, or 0 if it may run now.
func (b *ThroughputBudget) Wait(now time.Time, perSecond int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now, perSecond)
	over := b.spent - float64(perSecond)
	if over <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(over/float64(perSecond)*1000)) * time.Millisecond
}

// Spend subtracts a charge from the budget, which refills by perSecond.
func (b *ThroughputBudget) Spend(now time.Time, perSecond int, charge float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now, perSecond)
	b.spent += charge
}
