package store

import (
	"context"

	"github.com/mayflydb/mayfly/store/definition"
)

// An import is a write whose _ts lies in the past. Only the _ts does: in the feeds the change has the
// position and the time of the import, so that no reader of a feed misses it. The item belongs to the
// policy generation of its import: only the policy in force decides its expiry, never an earlier one.
//
// A document that has already expired when it is imported is stored as well, even if it replaces a live
// item with the same id. No read returns it, and the reaper purges it like any expired item, with an expiry
// event and a move to the archive. So data from elsewhere can be imported unchanged, and a test can create
// an expired item without waiting for one.

// Import stores a document as if it had been written in the past of its database's clock: it is an upsert,
// and o determines the item's _ts. It fails with CodeBadRequest for a _ts in the future or before 1970, and
// for an ExpiresIn that is impossible, because the item never expires or expires earlier. Its other errors
// are those of Upsert. An item that has already expired is stored, but reads do not return it.
func (c *Container) Import(ctx context.Context, pk definition.PartitionKey, body []byte,
	o ImportTimestampOptions) (Item, OperationReceipt, error) {
	return c.Upsert(ctx, pk, body, WriteOptions{Import: &o})
}
