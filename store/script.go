package store

import (
	"context"
	"encoding/binary"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/procedure"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// ProcedureExecutionResult is the outcome of a stored procedure.
type ProcedureExecutionResult struct {
	Body []byte // JSON: the response that it has set; empty if none
	Log  string // what it printed with console.log, with ProcedureExecutionOptions.Logging
}

// ProcedureExecutionOptions are the options of one execution of a stored procedure.
type ProcedureExecutionOptions struct {
	Logging bool // collect the procedure's output by console.log
	// Range is the id of the partition range in which a system procedure (see IsSystemProcedure) runs if
	// it has no partition key; each document that it writes then has its own key. Execute fails with
	// CodeRangeGone if the range does not exist, or if a document of another range is written.
	Range   string
	Session []SessionTokenEntry
}

// Execute runs a stored procedure on one logical partition, as one transaction. A procedure that throws,
// runs for more than 5 seconds or responds with more than 4 MB has no effect. While it runs, other writes
// of its partition range wait.
//
// CodeNotFound: there is no such procedure. CodeForbidden: it has exceeded its limits several times, and is
// blocked until it is replaced. CodeBadRequest: pk is missing, or the procedure threw; then a *script.Error
// has the details. CodeCanceled: it exceeded its time. CodeTooLarge: it exceeded the limit of its response or
// its memory.
func (c *Container) Execute(ctx context.Context, pk definition.PartitionKey, id string, args []jsondoc.Value,
	o ProcedureExecutionOptions) (ProcedureExecutionResult, OperationReceipt, error) {
	if err := c.checkPositions(ctx, o.Session); err != nil {
		return ProcedureExecutionResult{}, c.refused(), err
	}
	if err := c.ds.catchUp(ctx); err != nil {
		return ProcedureExecutionResult{}, c.refused(), err
	}
	scripts := c.scripts()
	res, err := scripts.Procedure(id)
	if err != nil {
		return ProcedureExecutionResult{}, c.refused(), err
	}
	at, pk, err := c.scriptPlace(ctx, pk, id, o.Range)
	if err != nil {
		return ProcedureExecutionResult{}, c.refused(), err
	}
	if err := scripts.Ready(&res); err != nil {
		return ProcedureExecutionResult{}, c.refused(), err
	}
	var out script.ProcedureOrTriggerResult
	var charge float64
	var r OperationReceipt
	err = c.ds.db.heavy.WithScripts(ctx, c.ds.opts.QueryTime, func() (err error) {
		r, err = c.update(ctx, at, func(t *transaction.Tx) error {
			if err := c.checkSession(t.Range, o.Session); err != nil {
				return err
			}
			h := scripts.Host(&scriptTransaction{c: c, t: t}, pk)
			var err error
			if pk.IsZero() && t.Range.ID != o.Range {
				return scan.RangeGone(o.Range)
			}
			out, err = h.Run(ctx, &res, script.ProcedureOrTriggerCall{Args: args, Logging: o.Logging})
			charge = h.Charge
			return err
		})
		return err
	})
	r.Charge = value.RoundCharge(procedure.ChargeScript + charge)
	if err != nil {
		return ProcedureExecutionResult{Log: out.Log}, r, err
	}
	return ProcedureExecutionResult{Body: out.Body, Log: out.Log}, r, nil
}

// scriptPlace returns the partition range in which a procedure runs, as a location in it, and the full
// partition key on which it runs. The key is zero for a system procedure (see IsSystemProcedure) that runs
// on a whole range.
func (c *Container) scriptPlace(ctx context.Context, pk definition.PartitionKey, id,
	rangeID string) (transaction.EncodedItemKey,
	definition.PartitionKey, error) {
	if pk.IsZero() && !c.def.SystemKey {
		if rangeID == "" || !IsSystemProcedure(id) {
			return transaction.EncodedItemKey{}, pk, fault.New(fault.CodeBadRequest,
				"PartitionKey value must be supplied for this operation.")
		}
		s, err := c.rangeNamed(ctx, rangeID)
		if err != nil {
			return transaction.EncodedItemKey{}, pk, err
		}
		return transaction.EncodedItemKey{
			EPK:   s.Min,
			Point: layout.AppendPointKey(nil, c.cid, s.Min, nil, ""),
		}, pk, nil
	}
	pk, err := c.def.FullKey(pk, "")
	return c.items.Locate(pk, ""), pk, err
}

// IsSystemProcedure reports whether id is that of a stored procedure which every container has. Such a
// procedure is not a resource: it can be executed, but neither read nor changed.
func IsSystemProcedure(id string) bool {
	_, ok := script.SystemProcedure(id)
	return ok
}

// write carries out one operation in its own transaction, with the triggers that it names.
func (c *Container) write(ctx context.Context, pk definition.PartitionKey,
	op ItemOperation) (Item, OperationReceipt, error) {
	if len(op.PreTriggers)+len(op.PostTriggers) > 0 {
		return c.writeTriggered(ctx, pk, op)
	}
	return c.writeOne(ctx, pk, op)
}

// writeTriggered carries out one operation with its triggers, in one transaction. A pre-trigger may replace
// the document of the request, so the document is checked after it has run. A replace whose document cannot
// be parsed fails without running any trigger.
func (c *Container) writeTriggered(ctx context.Context, pk definition.PartitionKey,
	op ItemOperation) (Item, OperationReceipt, error) {
	if err := c.ds.catchUp(ctx); err != nil {
		return Item{}, c.refused(), err
	}
	scripts := c.scripts()
	found, err := scripts.TriggersOf(op)
	if err != nil {
		return Item{}, c.refused(), err
	}
	key, err := procedure.TriggerKey(&c.def, pk, op)
	if err != nil && op.Kind == OperationReplace {
		op.PreTriggers, op.PostTriggers = nil, nil
		return c.writeOne(ctx, pk, op)
	}
	if err != nil {
		return Item{}, c.refused(), err
	}
	var patch *transaction.PreparedOperation
	// No trigger changes a patch, so its condition can be evaluated before the transaction.
	if op.Kind == OperationPatch {
		if patch, err = c.prepare(key, op); err != nil {
			return Item{}, c.refused(), err
		}
	}
	var done ItemOperationResult
	var reply []byte
	var charge float64
	var r OperationReceipt
	err = c.ds.db.heavy.WithScripts(ctx, c.ds.opts.QueryTime, func() (err error) {
		r, err = c.updateConditional(
			ctx,
			c.items.Locate(key, ""),
			[]*transaction.PreparedOperation{patch},
			func(t *transaction.Tx) error {
				h := scripts.Host(&scriptTransaction{c: c, t: t, patch: patch}, key)
				var err error
				done, reply, err = h.Write(ctx, op, found)
				charge = h.Charge
				return err
			},
		)
		return err
	})
	r.Charge = value.RoundCharge(charge + value.ChargeFailure)
	if err != nil {
		return Item{}, r, err
	}
	r.Inserted, r.Reply = done.Inserted, reply
	return done.Item, r, nil
}

// scripts returns a runner for the container's procedures, triggers and functions, as this server has them in
// memory. It may lack changes that another server has just made and that catchUp has not read yet.
func (c *Container) scripts() *procedure.ScriptRunner {
	return &procedure.ScriptRunner{Programs: &c.ds.programs, Heavy: c.ds.db.heavy, Wall: c.ds.opts.Wall,
		Time: c.ds.opts.ScriptTime, Now: c.d.Now, Elapsed: c.ds.in.Elapsed, Violations: &c.violations,
		Resources: c.Resources}
}

// scriptTransaction implements procedure.ScriptTransaction: the transaction in which a script works.
type scriptTransaction struct {
	c     *Container
	t     *transaction.Tx
	patch *transaction.PreparedOperation // the prepared patch of a write with triggers; nil if there is none
}

// Container returns the links and the usage of the container, for the script's view of its collection.
func (x *scriptTransaction) Container() (self, alt, usage string) {
	c := x.c
	return c.self(), "dbs/" + c.d.ID() + "/colls/" + c.name, c.LastUsage()
}

// Apply carries out one operation in the transaction.
func (x *scriptTransaction) Apply(key definition.PartitionKey, op ItemOperation) ItemOperationResult {
	if op.Kind == OperationPatch && x.patch != nil {
		return x.t.Apply(x.patch)
	}
	p, err := x.c.prepare(key, op)
	if err != nil {
		return value.Failed(err)
	}
	if !x.t.Range.Holds(p.EPK) {
		return value.Failed(scan.RangeGone(x.t.Range.ID))
	}
	return x.t.Apply(p)
}

// Stored returns a live item, as the transaction sees it.
func (x *scriptTransaction) Stored(key definition.PartitionKey, id string) (Item, error) {
	found, ghost, err := x.t.Find(x.c.items.Locate(key, id).Point)
	if err != nil || found == nil || ghost {
		return Item{}, err
	}
	return x.c.items.Item(found), nil
}

// IDOf returns the id of the item with the given resource id.
func (x *scriptTransaction) IDOf(key definition.PartitionKey, rid string) (string, error) {
	c := x.c
	b, ok := layout.ParseRID(rid, 16)
	if !ok || string(b[:8]) != string(layout.ContainerRIDBytes(c.d.rec.Num, c.cid)) || b[15]>>4 != 0 {
		return "", value.BadRID(rid)
	}
	item, ghost, err := x.t.Load(binary.LittleEndian.Uint64(b[8:]))
	switch {
	case err != nil:
		return "", err
	case item == nil || ghost:
		return "", transaction.ItemNotFound()
	case string(item.PK) != string(key.AppendOrdered(nil)):
		return "", procedure.OtherPartition()
	}
	return item.ID, nil
}

// Query returns one page of a query, which sees the writes of the transaction.
func (x *scriptTransaction) Query(ctx context.Context, q QueryRequest) (query.Page, error) {
	return x.c.queryIn(ctx, x.t, q)
}
