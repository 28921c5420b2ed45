package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// Patch changes parts of a live item. It fails with CodeNotFound if there is none, with
// CodePreconditionFailed if o.IfMatch is another version's etag or the patch's condition does not hold, and
// with CodeBadRequest if an operation does not fit the document, changes the id, the partition key or a
// system property, or if the resulting document could not be stored.
func (c *Container) Patch(ctx context.Context, pk definition.PartitionKey, id string, p Patch,
	o WriteOptions) (Item, Receipt, error) {
	return c.write(ctx, pk, Operation{Kind: OperationPatch, ID: id, Patch: &p, WriteOptions: o})
}

// preparedPatch is a patch that has passed all checks that need no item.
type preparedPatch struct {
	ops  jsondoc.Patch
	only *query.Condition        // nil if there is no condition
	pk   definition.PartitionKey // of the item

	result conditionResult
	again  bool // the condition is evaluated before the transaction
}

func (c *Container) preparePatch(pk definition.PartitionKey, p Patch) (*preparedPatch, error) {
	if p.Operations.Len() == 0 {
		return nil, fault.New(fault.CodeBadRequest, "A patch must have at least one operation.")
	}
	if err := c.checkPatched(p.Operations); err != nil {
		return nil, err
	}
	out := &preparedPatch{ops: p.Operations, pk: pk}
	if p.Condition == "" {
		return out, nil
	}
	var err error
	if out.only, err = query.PrepareCondition(p.Condition, c.queryInfo(c.state.Load())); err != nil {
		return nil, classify.ToFault(err)
	}
	return out, nil
}

// unpatchable are the properties that no patch may change, besides the paths of the partition key.
var unpatchable = []jsondoc.Path{
	layout.IDPath, jsondoc.PathOf("_rid"), jsondoc.PathOf("_ts"), jsondoc.PathOf("_etag"), jsondoc.PathOf(
		"_self"), jsondoc.PathOf("_attachments"), jsondoc.PathOf("_lsn"),
}

// checkPatched fails for an operation on a property that cannot be patched, on an ancestor of one, or on a
// part of one.
func (c *Container) checkPatched(ops jsondoc.Patch) error {
	for _, p := range c.def.ParsedPaths() {
		if n := ops.Touches(p); n > 0 {
			return fault.New(fault.CodeBadRequest, fmt.Sprintf(
				"Invalid patch request: For Operation(%d): Can't patch the partition key %s.", n, p))
		}
	}
	for _, p := range unpatchable {
		if n := ops.Touches(p); n > 0 {
			return fault.New(fault.CodeBadRequest, fmt.Sprintf(
				"Invalid patch request: For Operation(%d): Can't patch system property %s.", n, p))
		}
	}
	return nil
}

// patch makes a new version of the live item. The new version passes the same checks as any other document.
func (t *tx) patch(p *prepared) (old *stored, err error) {
	if old, err = t.target(p); err != nil {
		return nil, err
	}
	if err := t.checkCondition(p.patch, old); err != nil {
		return nil, err
	}
	body, err := p.patch.ops.Apply(old.Body)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeBadRequest, Message: err.Error(), Err: err}
	}
	next, err := t.Container.draft(p.patch.pk, body)
	if err != nil {
		return nil, err
	}
	p.item = next.item
	p.item.Head.Plain = p.options.ExcludeSystemProperties
	return old, t.replace(old, &p.item)
}

// conditionResult is the result of a condition for one version of an item.
type conditionResult struct {
	rid uint64 // 0: there is no result
	seq layout.Sequence
	err error // nil: it holds
}

// A condition is evaluated before the transaction begins, on the version that the item has then, so that
// other writes of the range need not wait. If the transaction finds another version, it evaluates the
// condition again. That has a shorter time limit, because now other writes do wait.
const (
	maxCondition = 5 * time.Second        // outside of a transaction
	maxHolding   = 250 * time.Millisecond // inside, for all conditions of a transaction
)

// evaluateAhead evaluates the condition of a patch on the present version of the item. Errors about the
// item itself are left to the transaction.
func (c *Container) evaluateAhead(ctx context.Context, p *prepared) error {
	if p == nil || p.patch == nil || p.patch.only == nil {
		return nil
	}
	p.patch.again = true
	st, now, _, err := c.look(ctx)
	if err != nil {
		return err
	}
	item, _, err := c.get(ctx, st, st.RangeOf(p.EPK), p.itemLocation, now)
	if err != nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, maxCondition)
	defer cancel()
	heavy := c.ds.door.heavy.Query(c.ds.in.Elapsed(), maxCondition)
	defer heavy.Leave()
	stored := value.Stored(item)
	on := scan.NewRow(&c.identity, stored.RID, stored.Head, stored.Body)
	err = heavy.Run(func() error { return c.evaluate(limited, p.patch.only, on, now, heavy.Turn) })
	if limited.Err() != nil && err != nil {
		if ctx.Err() != nil {
			return classify.ToFault(ctx.Err())
		}
		err = tooSlow(err)
	}
	p.patch.result = conditionResult{rid: stored.RID, seq: stored.Head.Sequence, err: err}
	return nil
}

func tooSlow(cause error) error {
	return &fault.Error{Code: fault.CodeBadRequest,
		Message: "The condition of the patch takes too long to evaluate.", Err: cause}
}

// evaluate fails with CodePreconditionFailed if a condition does not hold. turn is query.Env.Turn; it is
// nil inside a transaction, where other operations are waiting for this one to finish.
func (c *Container) evaluate(
	ctx context.Context, condition *query.Condition, on *scan.Row, now int64,
	turn func(context.Context) error,
) error {
	env := query.NewEnv(func() time.Time { return time.Unix(now, 0) }, nil)
	env.Turn = turn
	defer c.ds.door.memory.Lend(&env)()
	holds, err := condition.Match(ctx, on, env)
	switch {
	case err != nil:
		return classify.ToFault(err)
	case !holds:
		return value.PreconditionFailed()
	}
	return nil
}

// errConditionAgain ends a transaction that has found another version of the item than the one on which the
// patch's condition was evaluated, and has no time to evaluate it again.
var errConditionAgain = fault.New(fault.CodeUnavailable,
	"The item of a conditional patch changes faster than its condition can be evaluated.")

// maxEvaluations is how often the conditions of an operation are evaluated because the items have changed
// in the meantime.
const maxEvaluations = 10

// updateConditional is update, with the conditions of patches evaluated before the transaction.
func (c *Container) updateConditional(ctx context.Context, at itemLocation, list []*prepared,
	fn func(t *tx) error) (r Receipt, err error) {
	for range maxEvaluations {
		for _, p := range list {
			if err := c.evaluateAhead(ctx, p); err != nil {
				return c.refused(), err
			}
		}
		if r, err = c.update(ctx, at, fn); !errors.Is(err, errConditionAgain) {
			break
		}
	}
	return r, err
}

// checkCondition fails with CodePreconditionFailed if the condition of a patch does not hold. It succeeds
// for a patch without a condition.
func (t *tx) checkCondition(p *preparedPatch, item *stored) error {
	if p.only == nil {
		return nil
	}
	if p.result.seq == item.Head.Sequence && p.result.rid == item.RID {
		return p.result.err
	}
	late := error(errConditionAgain)
	if !p.again || t.wrote(item) { // it could not be evaluated before the transaction
		late = tooSlow(nil)
	}
	if t.judging >= maxHolding {
		return late
	}
	took := t.Container.ds.in.Elapsed()
	ctx, cancel := context.WithTimeout(t.ctx, maxHolding-t.judging)
	defer cancel()
	err := t.Container.evaluate(ctx, p.only, scan.NewRow(&t.Container.identity, item.RID, item.Head, item.Body), t.now,
		nil)
	t.judging += took()
	if err != nil && ctx.Err() != nil && t.ctx.Err() == nil {
		return late
	}
	return err
}

// wrote reports whether the transaction itself has written this version of an item.
func (t *tx) wrote(item *stored) bool {
	return slices.ContainsFunc(t.written, func(p *prepared) bool {
		return p.item.RID == item.RID && p.item.Head.Sequence == item.Head.Sequence
	})
}
