package mayfly

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/store"
)

// Lease keeps a document from expiring for a time, in whole seconds up to 7 days, whatever its time to live
// is. The document itself does not change. Lease returns the time at which the lease ends. It returns
// ErrNotFound if the document does not exist or has expired.
func (c *Container) Lease(ctx context.Context, pk PartitionKey, id string, d time.Duration) (until time.Time,
	err error) {
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

// WaitExpired waits until a document has expired or been deleted. It returns ErrCanceled if ctx ends first.
func (c *Container) WaitExpired(ctx context.Context, pk PartitionKey, id string) error {
	key, err := partitionKey(pk)
	if err != nil {
		return err
	}
	err = c.do(ctx, func(c *store.Container) error {
		_, err := c.Wait(ctx, store.WaitRequest{For: store.WaitExpired,
			Key: store.Key{Partition: key, ID: id}})
		return err
	})
	return c.about(err, key, id)
}

// Explain returns a sentence that says when and why a document expires, or why it does not.
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

// Sweep purges everything that has expired, which otherwise happens in the background, and returns the number
// of purged documents and messages. Readers of documents notice no difference. When it returns, logs of
// expirations are complete up to now, and expired messages are dead letters or deleted.
func (db *DB) Sweep(ctx context.Context) (purged int, err error) {
	err = db.retryAfterRestore(ctx, func() (err error) {
		purged, err = db.db.SweepNow(ctx)
		return err
	})
	return purged, err
}
