package mayfly

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/store"
)

// Lease keeps a document from expiring for a time, in whole seconds up to 7 days, whatever its time to live
// says; it is not written to. The answer is when the lease ends. ErrNotFound: there is no such document, or
// it has expired already.
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
	return until, err
}

// WaitExpired waits until a document is not there any more: expired or deleted. ErrCanceled: ctx ended first.
func (c *Container) WaitExpired(ctx context.Context, pk PartitionKey, id string) error {
	key, err := partitionKey(pk)
	if err != nil {
		return err
	}
	return c.do(ctx, func(c *store.Container) error {
		_, err := c.Wait(ctx, store.WaitRequest{For: store.WaitExpired,
			Key: store.Key{Partition: key, ID: id}})
		return err
	})
}

// Explain tells in a sentence when a document expires and why, or why it does not.
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

// Sweep frees the space of everything that has expired now, which else happens in the background, and tells
// how many documents and messages that were. No reader of documents can tell the difference; a log of
// expirations is complete up to now when it returns, and messages that expired are dead letters or gone.
func (db *DB) Sweep(ctx context.Context) (purged int, err error) {
	err = db.asking(ctx, func() (err error) {
		purged, err = db.db.SweepNow(ctx)
		return err
	})
	return purged, err
}
