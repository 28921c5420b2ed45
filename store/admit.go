package store

import (
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// budget returns the request budget that pays for the container's requests, and its size in RU/s: the
// container's own throughput, or that of its database. b is nil if neither has a throughput.
func (c *Container) budget() (b *work.ThroughputBudget, perSecond int) {
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
			break // the container's own throughput takes precedence over the database's
		}
	}
	return b, perSecond
}

// Admit returns nil if the container's throughput allows one more request at now. now is a time of the
// caller's wall clock; calls of Spend must use the same clock. Otherwise Admit fails with CodeThrottled and
// a *fault.ThrottledError.
func (c *Container) Admit(now time.Time) error {
	b, perSecond := c.budget()
	if b == nil {
		return nil
	}
	wait := b.Wait(now, c.ds.share(perSecond))
	if wait == 0 {
		return nil
	}
	return &fault.Error{Code: fault.CodeThrottled, Err: &fault.ThrottledError{RetryAfter: wait},
		Message: fmt.Sprintf(
			"Request rate is large: the throughput of %d RU/s is used up. More Request Units may be needed, "+
				"so no changes were made. Please retry this request later.", perSecond)}
}

// Spend deducts the charge of a request, in RU, from the container's throughput.
func (c *Container) Spend(now time.Time, charge float64) {
	if b, perSecond := c.budget(); b != nil {
		b.Spend(now, c.ds.share(perSecond), charge)
	}
}

// share returns this server's part of a throughput. Servers that share the data divide the throughput
// evenly; they do not exchange how much of it they have used.
func (ds *openDataset) share(perSecond int) int { return max(perSecond/ds.in.ServerCount(), 1) }
