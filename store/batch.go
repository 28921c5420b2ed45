package store

import (
	"context"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/batch"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// Batch carries out up to 100 operations. The failure of one operation is in its result. The returned error
// means that the batch as a whole is refused: CodeBadRequest for a batch without operations or with too
// many, CodePartitionKeyMismatch for an atomic batch with an incomplete key, CodeTooLarge for documents of
// more than 2 MB, CodeOwnerNotFound if the container has been dropped.
//
// The results hold documents of 4 MB at most. An atomic batch that would exceed that fails as a whole, and
// its last operation has CodeTooLarge, as in Cosmos DB. In other batches a read that would exceed the limit
// fails with CodeTooLarge; a write that would exceed it succeeds and returns an Item whose Body is nil.
//
// pk is the partition key of the operations that have none. The receipt has the sum of the charges, and the
// id and LSN of the partition range that was written or read last.
func (c *Container) Batch(ctx context.Context, pk definition.PartitionKey, ops []ItemOperation,
	o BatchOptions) (BatchResult, OperationReceipt, error) {
	if err := batch.Check(&c.def, pk, ops, o); err != nil {
		return BatchResult{}, c.refused(), err
	}
	if o.Range != "" && !c.stateWith(ctx, o.Range).KnowsRange(o.Range) {
		return BatchResult{}, c.refused(), scan.RangeGone(o.Range)
	}
	b := batch.NewExecution((*batchContainer)(c), &c.def, ops, o)
	b.Receipt.Range, b.Receipt.LSN = c.Position(o.Range)
	if err := c.large(ctx, weightOfAll(ops), func() { b.Prepare(ctx, pk) }); err != nil {
		return BatchResult{}, c.refused(), err
	}
	if err := b.Run(ctx); err != nil {
		return BatchResult{}, b.Receipt, err
	}
	out, charge := b.Result()
	b.Receipt.Charge = value.RoundCharge(max(charge, value.ChargeFailure))
	return out, b.Receipt, nil
}

// weightOfAll returns how long the documents and conditions of a batch take to parse, as the number of bytes
// of JSON that would take as long.
func weightOfAll(ops []ItemOperation) (n int) {
	for i := range ops {
		n += weightOfOperation(&ops[i])
	}
	return n
}

// batchContainer implements batch.Container.
type batchContainer Container

func (c *batchContainer) State() *container.State { return c.state.Load() }

func (c *batchContainer) Prepare(pk definition.PartitionKey,
	op ItemOperation) (*transaction.PreparedOperation, error) {
	return (*Container)(c).prepare(pk, op)
}

func (c *batchContainer) CheckPositions(ctx context.Context, session []SessionTokenEntry) error {
	return (*Container)(c).checkPositions(ctx, session)
}

func (c *batchContainer) CheckSession(p *container.Partition, session []SessionTokenEntry) error {
	return (*Container)(c).checkSession(p, session)
}

func (c *batchContainer) Update(ctx context.Context, at transaction.EncodedItemKey,
	list []*transaction.PreparedOperation, fn func(*transaction.Tx) error) (OperationReceipt, error) {
	return (*Container)(c).updateConditional(ctx, at, list, fn)
}
