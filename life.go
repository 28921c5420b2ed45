package mayfly

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/store"
)

// Lease prevents the expiry of a document for the duration d, in whole seconds up to 7 days, whatever the
// time to live of the document is. The document itself does not change. Lease returns the time at which the
// lease ends. If the time to live has passed by then, the document expires at once. A second Lease replaces
// the first, even if it ends earlier. Lease returns ErrNotFound if the document does not exist or has
// expired.
func (c *Container) Lease(ctx context.Context, pk PartitionKey, id string,
	d time.Duration) (until time.Time, err error) {
	key, err := partitionKey(pk)
	if err != nil {
		return time.Time{}, err
	}
	s, err := seconds(d)
	if err != nil || s < 0 {
		return time.Time{}, badRequest("a lease is for a whole number of seconds", err)
	}
	err = c.do(ctx, func(c *store.Container) error {
		l, err := c.Lease(ctx, key, id, int(s))
		if err == nil {
			until = time.Unix(l.Until, 0).UTC()
		}
		return err
	})
	return until, c.about(err, key, id)
}

// WaitExpired waits until a document has expired or has been deleted. It returns ErrCanceled if ctx ends
// before that.
func (c *Container) WaitExpired(ctx context.Context, pk PartitionKey, id string) error {
	key, err := partitionKey(pk)
	if err != nil {
		return err
	}
	err = c.do(ctx, func(c *store.Container) error {
		_, err := c.Wait(ctx, store.ItemConditionWaitRequest{For: store.WaitExpired,
			Key: store.ItemKey{Partition: key, ID: id}})
		return err
	})
	return c.about(err, key, id)
}

// Explain returns an English sentence that says when and why a document expires, or why it does not expire.
func (c *Container) Explain(ctx context.Context, pk PartitionKey, id string) (sentence string, err error) {
	key, err := partitionKey(pk)
	if err != nil {
		return "", err
	}
	err = c.do(ctx, func(c *store.Container) error {
		e, err := c.ExplainItem(ctx, key, id)
		sentence = e.Sentence()
		return err
	})
	return sentence, err
}

// Sweep purges all documents and messages that have expired, and returns their number. Without Sweep, a
// background task purges them. Purging does not change what reads of documents return, because expired
// documents are invisible already. When Sweep returns, the logs of expirations contain every document that
// has expired, and every expired message is deleted or a dead letter.
func (db *DB) Sweep(ctx context.Context) (purged int, err error) {
	err = db.retryAfterRestore(ctx, func() (err error) {
		purged, err = db.db.SweepNow(ctx)
		return err
	})
	return purged, err
}
