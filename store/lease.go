package store

import (
	"context"
	"fmt"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// A lease keeps one item from expiring for a time, without writing it: neither _ts nor the etag changes, and
// no feed shows it. It lies in the item's header, so it is durable, moves with the item in a split and stays
// through replaces. Reads, counts and the reaper go by ttl.Policy.Expired, which knows of it. It keeps nobody
// from writing or deleting the item.

// MaxLease is the longest lease in seconds: a week. Whoever needs more renews it.
const MaxLease = 7 * 24 * 3600

// Lease is a lease that was given.
type Lease struct {
	Until int64 // the first second, since 1970, in which it is not held any more
}

// Lease suspends the expiry of a live item for some seconds of the data clock from now on, 1 to MaxLease.
// When they are over, or ReleaseLease ends them, the item is what it would be without: if its time to live
// has passed meanwhile, it has expired at once. An item has one lease; giving it anew renews it, to an
// earlier second as well. CodeNotFound: there is no such item, or it has expired. CodeBadRequest: seconds or
// the key are wrong.
func (c *Container) Lease(ctx context.Context, pk definition.PartitionKey, id string, seconds int) (Lease,
	error) {
	if seconds < 1 || seconds > MaxLease {
		return Lease{}, fault.New(fault.CodeBadRequest,
			fmt.Sprintf("A lease must be between 1 and %d seconds long, not %d.", MaxLease, seconds))
	}
	var l Lease
	err := c.lease(ctx, pk, id, func(now int64) int64 {
		l.Until = now + int64(seconds)
		return l.Until
	})
	if err != nil {
		return Lease{}, err
	}
	return l, nil
}

// ReleaseLease ends the lease of a live item, if it has one. CodeNotFound: there is no such item, or it has
// expired.
func (c *Container) ReleaseLease(ctx context.Context, pk definition.PartitionKey, id string) error {
	err := c.lease(ctx, pk, id, func(int64) int64 { return 0 })
	if err == nil {
		c.ds.in.WakeReaper()
	}
	return err
}

// lease sets the end of an item's lease, as it follows from the present second.
func (c *Container) lease(ctx context.Context, pk definition.PartitionKey, id string,
	until func(now int64) int64) error {
	p, err := c.address(pk, Operation{Kind: OperationRead, ID: id})
	if err != nil {
		return err
	}
	_, err = c.update(ctx, p.itemLocation, func(t *tx) error {
		item, err := t.mustFind(p.itemLocation)
		if err == nil {
			t.setLease(item, until(t.now))
		}
		return err
	})
	return err
}
