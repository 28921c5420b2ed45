package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// Patch changes parts of a live item: CodeNotFound where there is none, CodePreconditionFailed where
// o.IfMatch names another version or the patch's condition does not hold, and CodeBadRequest where an
// operation does not fit the document or is about the id, the partition key or a system property, or where
// what comes out is no document that could be stored.
func (c *Container) Patch(ctx context.Context, pk definition.PartitionKey, id string, p Patch,
	o WriteOptions) (Item, Receipt, error) {
	return c.write(ctx, pk, Operation{Kind: OperationPatch, ID: id, Patch: &p, WriteOptions: o})
}

// preparedPatch is a patch that leaves alone what no patch may change.
type preparedPatch struct {
	ops  jsondoc.Patch
	only *query.Condition        // nil: none
	pk   definition.PartitionKey // of the item

	result conditionResult
	again  bool // it is judged beforehand
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

// unpatchable are the properties that no patch may touch, beside the paths of the partition key.
var unpatchable = []jsondoc.Path{
	layout.IDPath, jsondoc.PathOf("_rid"), jsondoc.PathOf("_ts"), jsondoc.PathOf("_etag"), jsondoc.PathOf(
		"_self"), jsondoc.PathOf("_attachments"), jsondoc.PathOf("_lsn"),
}

// checkPatched refuses operations on what cannot be patched, on what that lies in, and on what lies in it.
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

// patch makes a new version of the live item that is there. That version passes the checks of any other
// document.
func (t *tx) patch(p *prepared) (old *stored, err error) {
	if old, err = t.target(p); err != nil {
		return nil, err
	}
	if err := t.checkCondition(p.patch, old); err != nil {
		return nil, err
	}
	body, err := p.patch.ops.Apply(old.body)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeBadRequest, Message: err.Error(), Err: err}
	}
	next, err := t.c.draft(p.patch.pk, body)
	if err != nil {
		return nil, err
	}
	p.item = next.item
	p.item.head.Plain = p.options.ExcludeSystemProperties
	return old, t.replace(old, &p.item)
}

// conditionResult is what a condition has said about a version of an item.
type conditionResult struct {
	rid uint64 // 0: about none
	seq layout.Sequence
	err error // nil: it holds
}

// A condition is evaluated before the transaction begins, for the version that there is then: others write to
// the range meanwhile. Where the transaction finds another version it evaluates it again, in a little time,
// for then they wait.
const (
	maxCondition = 5 * time.Second        // outside of a transaction
	maxHolding   = 250 * time.Millisecond // inside, for all conditions of a transaction
)

// evaluateAhead evaluates the condition of a patch on the item as it is now. What is wrong with the item is
// for the transaction to find.
func (c *Container) evaluateAhead(ctx context.Context, p *prepared) error {
	if p == nil || p.patch == nil || p.patch.only == nil {
		return nil
	}
	p.patch.again = true
	st, now, _, err := c.look(ctx)
	if err != nil {
		return err
	}
	item, _, err := c.get(ctx, st, st.rangeOf(p.epk), p.itemLocation, now)
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

// evaluate fails with CodePreconditionFailed where a condition does not hold. turn is query.Env's; nil where
// others wait for the end of it.
func (c *Container) evaluate(
	ctx context.Context, condition *query.Condition, on *scan.Row, now int64,
	turn func(context.Context) error,
) error {
	env := query.Env{Now: time.Unix(now, 0).UTC(), Random: rand.Float64, Turn: turn}
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

// errConditionAgain ends a transaction that has met another version than the one that the condition of a
// patch was evaluated for, and has no time for that.
var errConditionAgain = fault.New(fault.CodeUnavailable,
	"The item of a conditional patch changes faster than its condition can be evaluated.")

// maxEvaluations is how often conditions are evaluated anew, because others have written to the item in
// between.
const maxEvaluations = 10

// updateConditional is update with the conditions of patches evaluated beforehand.
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

// checkCondition fails with CodePreconditionFailed where the condition of a patch does not hold; none always
// does.
func (t *tx) checkCondition(p *preparedPatch, item *stored) error {
	if p.only == nil {
		return nil
	}
	if p.result.seq == item.head.Sequence && p.result.rid == item.rid {
		return p.result.err
	}
	late := error(errConditionAgain)
	if !p.again || t.wrote(item) { // nobody could have judged it before
		late = tooSlow(nil)
	}
	if t.judging >= maxHolding {
		return late
	}
	took := t.c.ds.in.Elapsed()
	ctx, cancel := context.WithTimeout(t.ctx, maxHolding-t.judging)
	defer cancel()
	err := t.c.evaluate(ctx, p.only, scan.NewRow(&t.c.identity, item.rid, item.head, item.body), t.now,
		nil)
	t.judging += took()
	if err != nil && ctx.Err() != nil && t.ctx.Err() == nil {
		return late
	}
	return err
}

// wrote reports whether the transaction itself has made this version of an item.
func (t *tx) wrote(item *stored) bool {
	return slices.ContainsFunc(t.written, func(p *prepared) bool {
		return p.item.rid == item.rid && p.item.head.Sequence == item.head.Sequence
	})
}
