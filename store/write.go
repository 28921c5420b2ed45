package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/work"
	"github.com/mayflydb/mayfly/ttl"
)

// itemLocation is the key of an item and the encodings that its storage keys are made of.
type itemLocation struct {
	ID    string
	EPK   []byte
	PK    []byte // ordered encoding of the full partition key
	Point []byte // its point key

	Others [][]byte // point keys of items that the same transaction looks up
}

func (c *Container) locate(pk definition.PartitionKey, id string) itemLocation {
	buf := make([]byte, 0, 192+2*len(id))
	buf = definition.AppendEPK(buf, &c.def, pk)
	e := len(buf)
	buf = pk.AppendOrdered(buf)
	p := len(buf)
	buf = layout.AppendPointKey(buf, c.cid, buf[:e], buf[e:p], id)
	return itemLocation{ID: id, EPK: buf[:e:e], PK: buf[e:p:p], Point: buf[p:]}
}

// update runs fn as one durable transaction in the slot of p. The receipt is also filled for a failure, as
// far as possible. If the transaction needs an expired item moved to an expiry sink first, update moves it
// and runs fn again. CodeCanceled: ctx has ended before fn began, or others have held the range for
// Options.QueryTime.
func (c *Container) update(ctx context.Context, p itemLocation, fn func(t *tx) error) (Receipt, error) {
	c.beginUse()
	defer c.endUse()
	for {
		r, blocked, err := c.tryUpdate(ctx, p, fn)
		if blocked == nil {
			if again, err := c.refreshed(ctx, err); !again {
				return r, classify.ToFault(err)
			}
			continue
		}
		if err := blocked.clear(ctx); err != nil {
			return r, classify.ToFault(err)
		}
	}
}

func (c *Container) tryUpdate(ctx context.Context, p itemLocation, fn func(t *tx) error) (Receipt,
	*blocker, error) {
	wait := &work.Patience{Context: ctx, Limit: c.ds.opts.QueryTime}
	defer wait.End()
	st, _, err := c.enter(wait)
	if err != nil {
		return Receipt{}, nil, err
	}
	defer c.leave()
	s := st.RangeOf(p.EPK)
	var t tx
	at, err := c.ds.eng.Update(wait, [][]byte{s.Scope}, func(txn engine.Txn) error {
		wait.Begun.Store(true)
		if err := t.begin(txn, c, st, s); err != nil {
			return err
		}
		t.ctx = ctx
		if err := fn(&t); err != nil {
			return err
		}
		if t.blocked != nil {
			return errBlocked
		}
		t.finish()
		return nil
	}, append(p.Others, p.Point)...)
	if err == nil {
		t.committed()
	}
	r := Receipt{Range: s.ID, Charge: value.ChargeFailure, Lint: t.lint}
	if at != nil {
		r.LSN = s.Show(at[0].LSN)
	} else {
		r.LSN = c.position(s)
	}
	return r, t.blocked, err
}

// writeOne carries out one operation in its own transaction, without triggers.
func (c *Container) writeOne(ctx context.Context, pk definition.PartitionKey, op Operation) (Item, Receipt,
	error) {
	p, err := c.prepare(pk, op)
	if err != nil {
		return Item{}, c.refused(), err
	}
	var out OperationResult
	r, err := c.updateConditional(ctx, p.itemLocation, []*prepared{p}, func(t *tx) error {
		out = t.apply(p)
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
	o WriteOptions) (Item, Receipt, error) {
	return c.write(ctx, pk, Operation{Kind: OperationCreate, Body: body, WriteOptions: o})
}

// Upsert replaces the item with the document's id and partition key, or creates it; Receipt.Inserted
// reports which.
func (c *Container) Upsert(ctx context.Context, pk definition.PartitionKey, body []byte,
	o WriteOptions) (Item, Receipt, error) {
	return c.write(ctx, pk, Operation{Kind: OperationUpsert, Body: body, WriteOptions: o})
}

// Replace stores a new version of a live item. It fails with CodeNotFound if there is none, and with
// CodePreconditionFailed if o.IfMatch is another version's etag. The document may have another id, which
// becomes the item's id: CodeConflict if a live item has that id already. The partition key of an item
// cannot change: CodePartitionKeyMismatch.
func (c *Container) Replace(ctx context.Context, pk definition.PartitionKey, id string, body []byte,
	o WriteOptions) (Item, Receipt, error) {
	return c.write(ctx, pk, Operation{Kind: OperationReplace, ID: id, Body: body, WriteOptions: o})
}

// Delete removes a live item. It fails with CodeNotFound if there is none, and with CodePreconditionFailed
// if o.IfMatch is another version's etag.
func (c *Container) Delete(ctx context.Context, pk definition.PartitionKey, id string,
	o WriteOptions) (Receipt, error) {
	_, r, err := c.write(ctx, pk, Operation{Kind: OperationDelete, ID: id, WriteOptions: o})
	return r, err
}

// diesSoon reports whether an item expires before the reaper would by itself look at an idle range again.
func (c *Container) diesSoon(l ttl.Life, now int64) bool {
	at, ok := c.state.Load().Policy().ExpiresAt(l)
	return ok && at-now <= reaperPatience
}

// reaperPatience is how long the reaper may leave a range alone if nothing was due in it, in seconds.
const reaperPatience = 5

// refused returns the receipt of a request that failed before it reached a range.
func (c *Container) refused() Receipt {
	id, lsn := c.Position("")
	return Receipt{Range: id, LSN: lsn, Charge: value.ChargeFailure}
}

// mustFind returns a live item. It fails with CodeNotFound if there is none.
func (t *tx) mustFind(p itemLocation) (*stored, error) {
	item, ghost, err := t.find(p.Point)
	if err != nil {
		return nil, err
	}
	if item == nil || ghost {
		return nil, itemNotFound()
	}
	return item, nil
}

func itemNotFound() error {
	return fault.New(fault.CodeNotFound, "Entity with the specified id does not exist in the system.")
}

// create stores a new item. A ghost that holds its id or one of its unique keys is purged in the same
// transaction.
func (t *tx) create(point []byte, item *stored) error {
	if err := t.vacate(point); err != nil {
		return err
	}
	item.Head.Life.LeaseUntil = 0
	t.lowerTTL(item)
	if err := t.claimUnique(item, nil); err != nil {
		return err
	}
	return t.put(nil, item)
}

// vacate makes sure that no item has an id. It fails with CodeConflict if a live item has it, and purges a
// ghost.
func (t *tx) vacate(point []byte) error {
	holder, ghost, err := t.find(point)
	if err != nil || holder == nil {
		return err
	}
	if !ghost {
		return fault.New(fault.CodeConflict, "Resource with specified id or name already exists.")
	}
	return t.purge(holder)
}

// replace stores a new version of a live item.
func (t *tx) replace(old, item *stored) error {
	item.RID = old.RID
	item.Head.Renamed = item.Head.Renamed || old.Head.Renamed
	t.lowerTTL(item)
	if err := t.claimUnique(item, old); err != nil {
		return err
	}
	item.Head.Life.LeaseUntil = old.Head.Life.LeaseUntil
	return t.put(old, item)
}

// claimUnique makes sure that no other live item holds one of item's unique keys. It purges ghosts that do.
func (t *tx) claimUnique(item, old *stored) error {
	for i := range t.Container.keys.Unique.Len() {
		k := t.Container.keys.Unique.Values(layout.AppendUniquePrefix(nil, t.Container.cid, item.PK, i), i, item.Body)
		holder, ghost, err := t.find(k)
		if err != nil {
			return err
		}
		if holder == nil || old != nil && holder.RID == old.RID {
			continue
		}
		if !ghost {
			return fault.New(fault.CodeConflict,
				"Resource with specified id, name, or unique index already exists.")
		}
		if err := t.purge(holder); err != nil {
			return err
		}
	}
	return nil
}
