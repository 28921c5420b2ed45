package transaction

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// PreparedPatch is a patch that has passed all checks that need no item.
type PreparedPatch struct {
	ops  jsondoc.Patch
	Only *query.PatchCondition   // nil if there is no condition
	pk   definition.PartitionKey // of the item

	Result PatchConditionResult
	Again  bool // the condition was evaluated before the transaction, and can be evaluated there again
}

func (c *ImmutableContainerProperties) preparePatch(st *container.State, pk definition.PartitionKey,
	p value.Patch) (
	*PreparedPatch, error) {
	if p.Operations.Len() == 0 {
		return nil, fault.New(fault.CodeBadRequest, "A patch must have at least one operation.")
	}
	if err := c.checkPatched(p.Operations); err != nil {
		return nil, err
	}
	out := &PreparedPatch{ops: p.Operations, pk: pk}
	if p.Condition == "" {
		return out, nil
	}
	var err error
	if out.Only, err = query.PrepareCondition(p.Condition, c.QueryInfo(st)); err != nil {
		return nil, classify.ToFault(err)
	}
	return out, nil
}

// unpatchable are the properties that no patch may change, besides the paths of the partition key.
var unpatchable = []jsondoc.Path{
	layout.IDPath, jsondoc.PathOf("_rid"), jsondoc.PathOf("_ts"), jsondoc.PathOf("_etag"), jsondoc.PathOf(
		"_self"), jsondoc.PathOf("_attachments"), jsondoc.PathOf("_lsn"),
}

// checkPatched fails for an operation on a property that cannot be patched, on a part of such a property,
// or on an object that contains one.
func (c *ImmutableContainerProperties) checkPatched(ops jsondoc.Patch) error {
	for _, p := range c.Keys.Def.ParsedPaths() {
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

// patch applies a prepared patch to a live item, if its condition holds for the item, and writes the result
// as a new version. The new version passes the same checks as any other document. patch returns the item as
// it was before.
func (t *Tx) patch(p *PreparedOperation) (old *StoredItem, err error) {
	if old, err = t.target(p); err != nil {
		return nil, err
	}
	if err := t.checkCondition(p.Patch, old); err != nil {
		return nil, err
	}
	body, err := p.Patch.ops.Apply(old.Body)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeBadRequest, Message: err.Error(), Err: err}
	}
	next, err := t.Container.Draft(t.State, t.Now, p.Patch.pk, body)
	if err != nil {
		return nil, err
	}
	p.Item = next.Item
	p.Item.Head.Plain = p.options.ExcludeSystemProperties
	return old, t.replace(old, &p.Item)
}

// PatchConditionResult is the result of a patch's condition for one version of an item.
type PatchConditionResult struct {
	RID uint64 // 0: there is no result
	Seq layout.WriteSequence
	Err error // nil: the condition holds
}

// maxHolding is the time limit for evaluating all patch conditions of one transaction. Other writes of the
// partition range wait during that time.
const maxHolding = 250 * time.Millisecond

// TooSlow returns the error for a patch whose condition takes too long to evaluate, with CodeBadRequest.
func TooSlow(cause error) error {
	return &fault.Error{Code: fault.CodeBadRequest,
		Message: "The condition of the patch takes too long to evaluate.", Err: cause}
}

// ErrConditionAgain ends a transaction if the item has changed since the patch's condition was evaluated,
// and there is no time to evaluate it again.
var ErrConditionAgain = fault.New(fault.CodeUnavailable,
	"The item of a conditional patch changes faster than its condition can be evaluated.")

// checkCondition fails with CodePreconditionFailed if the condition of a patch does not hold. It succeeds
// for a patch without a condition.
func (t *Tx) checkCondition(p *PreparedPatch, item *StoredItem) error {
	if p.Only == nil {
		return nil
	}
	if p.Result.Seq == item.Head.Sequence && p.Result.RID == item.RID {
		return p.Result.Err
	}
	late := error(ErrConditionAgain)
	if !p.Again || t.wrote(item) { // the condition could not be evaluated before the transaction
		late = TooSlow(nil)
	}
	if t.judging >= maxHolding {
		return late
	}
	ctx, cancel := context.WithTimeout(t.Ctx, maxHolding-t.judging)
	defer cancel()
	took, err := t.Container.Host.Evaluate(ctx, p.Only,
		scan.NewStoredDocument(&t.Container.Identity, item.RID, item.Head, item.Body), t.Now)
	t.judging += took
	if err != nil && ctx.Err() != nil && t.Ctx.Err() == nil {
		return late
	}
	return err
}

// wrote reports whether the transaction itself has written this version of an item.
func (t *Tx) wrote(item *StoredItem) bool {
	return slices.ContainsFunc(t.Written, func(p *PreparedOperation) bool {
		return p.Item.RID == item.RID && p.Item.Head.Sequence == item.Head.Sequence
	})
}
