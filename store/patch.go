package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query"
)

// Patch changes parts of an item where it lies.
type Patch struct {
	// Operations are made in order, all or none.
	Operations doc.Patch
	// Condition, "FROM c WHERE ..." with a name of choice for c, must hold for the item as it is before the patch. Empty:
	// there is none.
	Condition string
}

// Patch changes parts of a live item: CodeNotFound where there is none, CodePreconditionFailed where o.IfMatch names
// another version or the patch's condition does not hold, and CodeBadRequest where an operation does not fit the document or
// is about the id, the partition key or a system property, or where what comes out is no document that could be stored.
func (c *Container) Patch(ctx context.Context, pk PartitionKey, id string, p Patch, o WriteOptions) (Item, Receipt, error) {
	return c.write(ctx, pk, Operation{Kind: OperationPatch, ID: id, Patch: &p, WriteOptions: o})
}

// preparedPatch is a patch that leaves alone what no patch may change.
type preparedPatch struct {
	ops  doc.Patch
	only *query.Condition // nil: none
	pk   PartitionKey     // of the item
}

func (c *Container) preparePatch(pk PartitionKey, p Patch) (*preparedPatch, error) {
	if p.Operations.Len() == 0 {
		return nil, fail(CodeBadRequest, "A patch must have at least one operation.")
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
		return nil, wrap(err)
	}
	return out, nil
}

// unpatchable are the properties that no patch may touch, beside the paths of the partition key.
var unpatchable = []doc.Path{
	idPath, doc.PathOf("_rid"), doc.PathOf("_ts"), doc.PathOf("_etag"), doc.PathOf("_self"), doc.PathOf("_attachments"), doc.PathOf("_lsn"),
}

// checkPatched refuses operations on what cannot be patched, on what that lies in, and on what lies in it.
func (c *Container) checkPatched(ops doc.Patch) error {
	for _, p := range c.def.paths() {
		if n := ops.Touches(p); n > 0 {
			return fail(CodeBadRequest, fmt.Sprintf(
				"Invalid patch request: For Operation(%d): Can't patch the partition key %s.", n, p))
		}
	}
	for _, p := range unpatchable {
		if n := ops.Touches(p); n > 0 {
			return fail(CodeBadRequest, fmt.Sprintf(
				"Invalid patch request: For Operation(%d): Can't patch system property %s.", n, p))
		}
	}
	return nil
}

// patch makes a new version of the live item that is there. That version passes the checks of any other document.
func (t *tx) patch(p *prepared) (old *stored, err error) {
	if old, err = t.target(p); err != nil {
		return nil, err
	}
	if err := t.checkCondition(p.patch.only, old); err != nil {
		return nil, err
	}
	body, err := p.patch.ops.Apply(old.body)
	if err != nil {
		return nil, patchError(err)
	}
	next, err := t.c.draft(p.patch.pk, body)
	if err != nil {
		return nil, err
	}
	p.item = next.item
	return old, t.replace(old, &p.item)
}

// maxCondition is how long a condition may take to evaluate: other writers of the range wait meanwhile.
const maxCondition = 5 * time.Second

// checkCondition fails with CodePreconditionFailed where a condition does not hold; nil always does.
func (t *tx) checkCondition(condition *query.Condition, item *stored) error {
	if condition == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(t.ctx, maxCondition)
	defer cancel()
	env := query.Env{Now: time.Unix(t.now, 0).UTC(), Random: rand.Float64}
	holds, err := condition.Match(ctx, &row{c: t.c, rid: item.rid, head: item.head, body: item.body}, env)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && t.ctx.Err() == nil:
		return &Error{Code: CodeBadRequest, Message: "The condition of the patch takes too long to evaluate.", Err: err}
	case err != nil:
		return wrap(err)
	case !holds:
		return preconditionFailed()
	}
	return nil
}
