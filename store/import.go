package store

import (
	"context"

	"github.com/mayflydb/mayfly/store/definition"
)

// An import is a write whose _ts lies in the past. Only the _ts does: the change has its place in the feeds,
// and its time there, as every write has, so that no reader of a feed misses it. The item belongs to the
// policy generation of its import: it lives or dies by the policy in force, never by one that it has not met.
//
// What has expired on arrival is stored all the same, over a live item of its id, too, and is at once what an
// item is that has expired and is not purged yet: no read sees it, and its purge, with all that comes of it,
// is the reaper's. So data that was taken from elsewhere may come in as it is, and a test has a ghost without
// waiting for one.

// Import stores a document as if it had been written in the past of its database's clock: an upsert whose
// item has a _ts as o says. It fails with CodeBadRequest for a _ts in the future or before 1970, and for an
// ExpiresIn that the item cannot have, because it never expires or does so earlier; else as Upsert does. An
// item that has expired on arrival is stored, as a ghost.
func (c *Container) Import(ctx context.Context, pk definition.PartitionKey, body []byte,
	o ImportOptions) (Item, Receipt, error) {
	return c.Upsert(ctx, pk, body, WriteOptions{Import: &o})
}

// date gives an item that is imported its _ts; others get theirs by put.
func (t *tx) date(p *prepared) (err error) {
	if o := p.options.Import; o != nil {
		p.item.dated = true
		l := p.item.head.Life
		l.Base, l.Based = t.st.lives.Basis.Of(p.item.body)
		p.item.head.Life.TS, err = o.WrittenAt(t.st.policy(), l, t.now)
	}
	return err
}
