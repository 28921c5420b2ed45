package store

import (
	"context"
	"errors"
	"time"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// Patch changes parts of a live item. It fails with CodeNotFound if there is none, with
// CodePreconditionFailed if o.IfMatch is another version's etag or the patch's condition does not hold, and
// with CodeBadRequest if an operation does not fit the document, changes the id, the partition key or a
// system property, or if the resulting document could not be stored.
func (c *Container) Patch(ctx context.Context, pk definition.PartitionKey, id string, p Patch,
	o WriteOptions) (Item, OperationReceipt, error) {
	return c.write(ctx, pk, ItemOperation{Kind: OperationPatch, ID: id, Patch: &p, WriteOptions: o})
}

// maxCondition is the time limit of a patch's condition when it is evaluated before the transaction begins,
// on the current version of the item. Other writes of the range need not wait then. If the transaction finds
// a newer version, it evaluates the condition again, within a shorter limit.
const maxCondition = 5 * time.Second

// evaluateAhead evaluates the condition of a conditional patch before the transaction, in which other writes
// would have to wait for it. If the item cannot be read, it returns nil, and the transaction finds the error
// again.
func (c *Container) evaluateAhead(ctx context.Context, p *transaction.PreparedOperation) error {
	if p == nil || p.Patch == nil || p.Patch.Only == nil {
		return nil
	}
	p.Patch.Again = true
	st, now, _, err := c.stateAndTime(ctx)
	if err != nil {
		return err
	}
	item, _, err := c.get(ctx, st, st.RangeOf(p.EPK), p.EncodedItemKey, now)
	if err != nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, maxCondition)
	defer cancel()
	heavy := c.ds.db.heavy.Query(c.ds.in.Elapsed(), maxCondition)
	defer heavy.Leave()
	stored := value.Stored(item)
	on := scan.NewStoredDocument(&c.items.Identity, stored.RID, stored.Head, stored.Body)
	err = heavy.Run(func() error { return c.evaluate(limited, p.Patch.Only, on, now, heavy.Turn) })
	if limited.Err() != nil && err != nil {
		if ctx.Err() != nil {
			return classify.ToFault(ctx.Err())
		}
		err = transaction.TooSlow(err)
	}
	p.Patch.Result = transaction.PatchConditionResult{RID: stored.RID, Seq: stored.Head.Sequence, Err: err}
	return nil
}

// evaluate evaluates the condition of a patch for the item in the row on, at the second now. It fails with
// CodePreconditionFailed if the condition does not hold. turn, if not nil, is called during the evaluation to
// let other long queries run (query.Env.Turn); it is nil inside a transaction, where other operations are
// waiting for this one to finish.
func (c *Container) evaluate(ctx context.Context, condition *query.PatchCondition, on *scan.StoredDocument,
	now int64,
	turn func(context.Context) error) error {
	env := query.NewEnv(func() time.Time { return time.Unix(now, 0) }, nil)
	env.Turn = turn
	defer c.ds.db.memory.Attach(&env)()
	holds, err := condition.Match(ctx, on, env)
	switch {
	case err != nil:
		return classify.ToFault(err)
	case !holds:
		return value.PreconditionFailed()
	}
	return nil
}

// Evaluate evaluates the condition of a patch inside a transaction, and returns the time that this took.
func (c *containerCallbacksAdapter) Evaluate(ctx context.Context, condition *query.PatchCondition,
	on *scan.StoredDocument,
	now int64) (time.Duration, error) {
	took := c.ds.in.Elapsed()
	err := (*Container)(c).evaluate(ctx, condition, on, now, nil)
	return took(), err
}

// maxEvaluations is the maximum number of times that the conditions of an operation are evaluated again
// because their items have changed meanwhile.
const maxEvaluations = 10

// updateConditional runs fn as one durable transaction (see update), before which it evaluates the conditions
// of the patches in list on the current items.
func (c *Container) updateConditional(ctx context.Context, at transaction.EncodedItemKey,
	list []*transaction.PreparedOperation, fn func(t *transaction.Tx) error) (r OperationReceipt, err error) {
	for range maxEvaluations {
		for _, p := range list {
			if err := c.evaluateAhead(ctx, p); err != nil {
				return c.refused(), err
			}
		}
		if r, err = c.update(ctx, at, fn); !errors.Is(err, transaction.ErrConditionAgain) {
			break
		}
	}
	return r, err
}
