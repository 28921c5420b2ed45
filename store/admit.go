package store

import (
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// budget finds what the container's requests are paid from: its own throughput in RU/s, or that of its
// database.
func (c *Container) budget() (b *work.RequestBudget, perSecond int) {
	c.ds.mu.RLock()
	defer c.ds.mu.RUnlock()
	for _, o := range c.ds.cat.offers {
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

// Admit reports whether the container's throughput allows one more request at a moment of the caller's wall
// clock, which must be the clock of Spend, too. It fails with CodeThrottled and a *fault.ThrottledError.
func (c *Container) Admit(now time.Time) error {
	b, perSecond := c.budget()
	if b == nil {
		return nil
	}
	wait := b.Wait(now, perSecond)
	if wait == 0 {
		return nil
	}
	return &fault.Error{Code: fault.CodeThrottled, Err: &fault.ThrottledError{RetryAfter: wait},
		Message: fmt.Sprintf(
			"Request rate is large: the throughput of %d RU/s is used up. More Request Units may be needed, "+
				"so no changes were made. Please retry this request later.", perSecond)}
}

// Spend takes what a request has cost, in RU, from the container's throughput.
func (c *Container) Spend(now time.Time, charge float64) {
	if b, perSecond := c.budget(); b != nil {
		b.Spend(now, perSecond, charge)
	}
}
