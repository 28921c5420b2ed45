package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/work"
	"github.com/mayflydb/mayfly/ttl"
)

// update runs fn as one durable transaction in the range of p. The receipt is filled as far as possible,
// even if update fails. If an expired item has to be moved to an expiry sink first, update moves it and
// runs fn again. CodeCanceled: ctx ended before fn began, or other writers held the range for
// Options.QueryTime. CodeUnavailable: another server has been splitting the range for Options.QueryTime.
func (c *Container) update(ctx context.Context, p transaction.EncodedItemKey,
	fn func(t *transaction.Tx) error) (
	OperationReceipt, error) {
	c.beginUse()
	defer c.endUse()
	for {
		r, blocked, err := c.tryUpdate(ctx, p, fn)
		if blocked == nil {
			again, err := c.afterSplit(ctx, err)
			if !again {
				again, err = c.refreshed(ctx, err)
			}
			if !again {
				return r, classify.ToFault(err)
			}
			continue
		}
		if err := blocked.Clear(ctx); err != nil {
			return r, classify.ToFault(err)
		}
	}
}

func (c *Container) tryUpdate(ctx context.Context, p transaction.EncodedItemKey,
	fn func(t *transaction.Tx) error) (
	OperationReceipt, *transaction.BlockingExpiredItem, error) {
	wait := &work.WaitLimitedWriteContext{Context: ctx, Limit: c.ds.opts.QueryTime}
	defer wait.End()
	st, _, err := c.enter(wait)
	if err != nil {
		return OperationReceipt{}, nil, err
	}
	defer c.leave()
	s := st.RangeOf(p.EPK)
	t := c.ds.txs.Get()
	at, err := c.ds.eng.Update(wait, [][]byte{s.Scope}, func(txn engine.Txn) error {
		wait.Begun.Store(true)
		if err := c.begin(t, txn, st, s); err != nil {
			return err
		}
		t.Ctx = ctx
		if err := fn(t); err != nil {
			return err
		}
		if t.Blocked != nil {
			return transaction.ErrBlocked
		}
		t.Finish()
		return nil
	}, append(p.Others, p.Point)...)
	r := OperationReceipt{Range: s.ID, Charge: value.ChargeFailure}
	if err == nil {
		r.Lint = c.committed(t)
	}
	if at != nil {
		r.LSN = s.Show(at[0].LSN)
	} else {
		r.LSN = c.position(s)
	}
	blocked := t.Blocked
	c.ds.txs.Put(t)
	return r, blocked, err
}

// writeOne carries out one operation in its own transaction, without triggers.
func (c *Container) writeOne(ctx context.Context, pk definition.PartitionKey,
	op ItemOperation) (Item, OperationReceipt, error) {
	var p *transaction.PreparedOperation
	var err error
	if late := c.large(ctx, weightOfOperation(&op), func() { p, err = c.prepare(pk, op) }); late != nil {
		err = late
	}
	if err != nil {
		return Item{}, c.refused(), err
	}
	var out ItemOperationResult
	r, err := c.updateConditional(ctx, p.EncodedItemKey, []*transaction.PreparedOperation{p},
		func(t *transaction.Tx) error {
			out = t.Apply(p)
			return out.Err
		})
	if err != nil {
		return Item{}, r, err
	}
	r.Charge, r.Inserted = out.Charge, out.Inserted
	return out.Item, r, nil
}

// Create stores a new document. It fails with CodeConflict if a live item has its id, or one of its unique
// keys in the same partition, and with CodeBadRequest or CodePartitionKeyMismatch for a document or key
// that Cosmos DB refuses. The id and the unique keys of an expired item are free.
func (c *Container) Create(ctx context.Context, pk definition.PartitionKey, body []byte,
	o WriteOptions) (Item, OperationReceipt, error) {
	return c.write(ctx, pk, ItemOperation{Kind: OperationCreate, Body: body, WriteOptions: o})
}

// Upsert replaces the item with the document's id and partition key, or creates it; OperationReceipt.Inserted
// reports which.
func (c *Container) Upsert(ctx context.Context, pk definition.PartitionKey, body []byte,
	o WriteOptions) (Item, OperationReceipt, error) {
	return c.write(ctx, pk, ItemOperation{Kind: OperationUpsert, Body: body, WriteOptions: o})
}

// Replace stores a new version of a live item. It fails with CodeNotFound if there is none, and with
// CodePreconditionFailed if o.IfMatch is another version's etag. The document may have another id, which
// becomes the item's id: CodeConflict if a live item has that id already. The partition key of an item
// cannot change: CodePartitionKeyMismatch.
func (c *Container) Replace(ctx context.Context, pk definition.PartitionKey, id string, body []byte,
	o WriteOptions) (Item, OperationReceipt, error) {
	return c.write(ctx, pk, ItemOperation{Kind: OperationReplace, ID: id, Body: body, WriteOptions: o})
}

// Delete removes a live item. It fails with CodeNotFound if there is none, and with CodePreconditionFailed
// if o.IfMatch is another version's etag.
func (c *Container) Delete(ctx context.Context, pk definition.PartitionKey, id string,
	o WriteOptions) (OperationReceipt, error) {
	_, r, err := c.write(ctx, pk, ItemOperation{Kind: OperationDelete, ID: id, WriteOptions: o})
	return r, err
}

// begin begins a transaction. It fails with *container.OutdatedStateError if st is not the current state of
// the container.
func (c *Container) begin(t *transaction.Tx, txn engine.Txn, st *container.State,
	s *container.Partition) error {
	if err := c.writable(txn, st, s); err != nil {
		return err
	}
	t.Begin(txn, &c.items, st, s, c.moment())
	return nil
}

// committed updates the container in memory with the results of a transaction, and returns the lint rules
// that its writes have broken. It is called after the commit, while the container's gate (its lock) is held
// shared.
func (c *Container) committed(t *transaction.Tx) (broken definition.BrokenLintRules) {
	c.ds.purged.Add(uint64(t.Purged))
	c.purged.Add(uint64(t.Purged))
	if t.Learn() {
		c.ds.in.WakeReaper()
	}
	for _, p := range t.Written {
		c.ds.rids.Put(p.PointAfter(), p.Item.RID)
		if c.expiresSoon(p.Item.Head.Life, t.Now) {
			c.ds.in.WakeReaper()
		}
		broken |= c.lintItem(t.State, p)
	}
	c.notifier.Notify()
	if t.Logs() {
		c.expirySubscribers.Notify()
	}
	return broken
}

// prepare checks an operation against the current state.
func (c *Container) prepare(pk definition.PartitionKey,
	op ItemOperation) (*transaction.PreparedOperation, error) {
	return c.items.Prepare(c.state.Load(), c.moment(), pk, op)
}

// large runs fn, a computation on n bytes of a request, outside of any transaction. If n is large, it waits
// until few other such computations run, and runs fn at a lower priority.
func (c *Container) large(ctx context.Context, n int, fn func()) error {
	return c.ds.db.Large(ctx, n, fn)
}

// weightOfOperation returns the cost of parsing an operation's document and its patch condition, in the unit
// of DB.Large: the number of bytes of JSON that take as long.
func weightOfOperation(op *ItemOperation) int {
	n := len(op.Body)
	if op.Patch != nil {
		n += len(op.Patch.Condition) * work.TextWeight
	}
	return n
}

// expiresSoon reports whether an item expires before the reaper would by itself look at an idle range again.
func (c *Container) expiresSoon(l ttl.Lifetime, now int64) bool {
	at, ok := c.state.Load().Policy().ExpiresAt(l)
	return ok && at-now <= reaperPatience
}

// reaperPatience is the time in seconds after which the reaper visits an idle partition range again by
// itself. A write of an item that expires earlier wakes the reaper.
const reaperPatience = 5

// refused returns the receipt of a request that failed before it reached a range.
func (c *Container) refused() OperationReceipt {
	id, lsn := c.Position("")
	return OperationReceipt{Range: id, LSN: lsn, Charge: value.ChargeFailure}
}
