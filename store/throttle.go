package store

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/store/fault"
)

// A throughput is a budget of request units that refills by the second: at most one second's worth is saved
// up. What a request costs is known only when it has run, so the budget may be overdrawn by one request;
// until it is balanced again the next ones are refused, as Cosmos DB does. Whoever serves strangers asks
// Admit before a request and tells Spend after it; a program that embeds the store is not throttled.

// ThrottledError is the cause of a CodeThrottled error.
type ThrottledError struct {
	RetryAfter time.Duration // when the request would be admitted if no other came
}

// Error names the wait.
func (e *ThrottledError) Error() string { return "throughput used up for " + e.RetryAfter.String() }

// budget is what is left of a throughput. The zero budget is full.
type budget struct {
	mu    sync.Mutex
	spent float64   // RU that have not been refilled yet
	at    time.Time // of the last refill
}

// refill gives back what has come in since the last time. The caller holds mu.
func (b *budget) refill(now time.Time, perSecond int) {
	if passed := now.Sub(b.at); passed > 0 {
		b.spent = max(0, b.spent-passed.Seconds()*float64(perSecond))
		b.at = now
	}
}

// wait is how long it takes until the next request may run; 0 where it may now.
func (b *budget) wait(now time.Time, perSecond int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now, perSecond)
	over := b.spent - float64(perSecond)
	if over <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(over/float64(perSecond)*1000)) * time.Millisecond
}

func (b *budget) spend(now time.Time, perSecond int, charge float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now, perSecond)
	b.spent += charge
}

// budget finds what the container's requests are paid from: its own throughput in RU/s, or that of its
// database.
func (c *Container) budget() (b *budget, perSecond int) {
	c.db.mu.RLock()
	defer c.db.mu.RUnlock()
	for _, o := range c.db.cat.offers {
		if o.Database != c.d.rec.Num || o.CID != 0 && o.CID != c.cid {
			continue
		}
		if b = &c.spending; o.CID == 0 {
			b = &c.d.spending
		}
		if perSecond = max(o.Asked.Manual, o.Asked.Autoscale); o.CID != 0 {
			break // the container's own goes before the database's
		}
	}
	return b, perSecond
}

// Admit tells whether the container's throughput allows one more request at a moment of the caller's wall
// clock, which must be the clock of Spend, too. It fails with CodeThrottled and a *ThrottledError.
func (c *Container) Admit(now time.Time) error {
	b, perSecond := c.budget()
	if b == nil {
		return nil
	}
	wait := b.wait(now, perSecond)
	if wait == 0 {
		return nil
	}
	return &fault.Error{Code: fault.CodeThrottled, Err: &ThrottledError{RetryAfter: wait}, Message: fmt.Sprintf(
		"Request rate is large: the throughput of %d RU/s is used up. More Request Units may be needed, so no changes were made. Please retry this request later.", perSecond)}
}

// Spend takes what a request has cost, in RU, from the container's throughput.
func (c *Container) Spend(now time.Time, charge float64) {
	if b, perSecond := c.budget(); b != nil {
		b.spend(now, perSecond, charge)
	}
}
