package store

import (
	"context"
	"fmt"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/transaction"
)

// A lease keeps one item from expiring for a time, without writing a new version: neither _ts nor the etag
// changes, and no feed shows it. It is stored in the item's header, so it is durable, moves with the item
// in a split and survives replaces. Reads, counts and the reaper use ttl.Policy.Expired, which takes leases
// into account. A lease does not prevent writes or deletes of the item.

// MaxLease is the maximum number of seconds for which one lease suspends the expiry of an item: a week. A
// lease can be renewed.
const MaxLease = 7 * 24 * 3600

// ExpirySuspension describes a granted lease: the item does not expire before Until.
type ExpirySuspension struct {
	Until int64 // the first second, since 1970, after the lease
}

// Lease suspends the expiry of a live item for a number of seconds of the container's clock from now on, 1 to
// MaxLease. When the lease ends, or ReleaseLease ends it, the item expires at once if its time to live has
// passed by then. An item has at most one lease; another call replaces it, even if the new lease ends
// earlier. CodeNotFound: there is no such item, or it has expired. CodeBadRequest: seconds or the key are
// invalid.
func (c *Container) Lease(ctx context.Context, pk definition.PartitionKey, id string,
	seconds int) (ExpirySuspension, error) {
	if seconds < 1 || seconds > MaxLease {
		return ExpirySuspension{}, fault.New(fault.CodeBadRequest,
			fmt.Sprintf("A lease must be between 1 and %d seconds long, not %d.", MaxLease, seconds))
	}
	var l ExpirySuspension
	err := c.lease(ctx, pk, id, func(now int64) int64 {
		l.Until = now + int64(seconds)
		return l.Until
	})
	if err != nil {
		return ExpirySuspension{}, err
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

// lease sets the second up to which the expiry of an item is suspended to the result of until, which is
// called with the current second. 0 ends the suspension.
func (c *Container) lease(ctx context.Context, pk definition.PartitionKey, id string,
	until func(now int64) int64) error {
	p, err := c.items.Address(c.state.Load(), pk, ItemOperation{Kind: OperationRead, ID: id})
	if err != nil {
		return err
	}
	_, err = c.update(ctx, p.EncodedItemKey, func(t *transaction.Tx) error {
		item, err := t.MustFind(p.EncodedItemKey)
		if err == nil {
			t.SetLease(item, until(t.Now))
		}
		return err
	})
	return err
}
