package store

import (
	"context"

	"github.com/mayflydb/mayfly/store/definition"
)

// An import is a write whose _ts lies in the past. Only the _ts does: the change has its place and its time
// in the feeds like every write, so that no reader of a feed misses it. The item belongs to the policy
// generation of its import: only the policy in force decides its expiry, never an earlier one.
//
// An item that has already expired on arrival is stored all the same, even over a live item with its id. It
// is then like any expired item that is not purged yet: no read sees it, and the reaper purges it, with all
// consequences. So data from elsewhere can be imported unchanged, and a test can create a ghost without
// waiting for one.

// Import stores a document as if it had been written in the past of its database's clock: it is an upsert,
// and o determines the item's _ts. It fails with CodeBadRequest for a _ts in the future or before 1970, and
// for an ExpiresIn that the item cannot have because it never expires or expires earlier. Its other errors
// are those of Upsert. An item that has already expired is stored as a ghost.
func (c *Container) Import(ctx context.Context, pk definition.PartitionKey, body []byte,
	o ImportOptions) (Item, Receipt, error) {
	return c.Upsert(ctx, pk, body, WriteOptions{Import: &o})
}
