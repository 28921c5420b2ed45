package work

import (
	"math"
	"sync"
	"time"
)

// A throughput is a budget of request units that refills by the second: at most one second's worth is saved
// up. What a request costs is known only when it has run, so the budget may be overdrawn by one request;
// until it is balanced again the next ones are refused, as Cosmos DB does. Whoever serves strangers asks
// Admit before a request and tells Spend after it; a program that embeds the store is not throttled.

// RequestBudget is what is left of a throughput. The zero RequestBudget is full.
type RequestBudget struct {
	mu    sync.Mutex
	spent float64   // RU that have not been refilled yet
	at    time.Time // of the last refill
}

// refill gives back what has come in since the last time. The caller holds mu.
func (b *RequestBudget) refill(now time.Time, perSecond int) {
	if passed := now.Sub(b.at); passed > 0 {
		b.spent = max(0, b.spent-passed.Seconds()*float64(perSecond))
		b.at = now
	}
}

// Wait is how long it takes until the next request may run; 0 where it may now.
func (b *RequestBudget) Wait(now time.Time, perSecond int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now, perSecond)
	over := b.spent - float64(perSecond)
	if over <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(over/float64(perSecond)*1000)) * time.Millisecond
}

// Spend takes a charge out of the budget, at a refill of perSecond.
func (b *RequestBudget) Spend(now time.Time, perSecond int, charge float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now, perSecond)
	b.spent += charge
}
