package store

import (
	"context"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/scan"
)

// Execution is what a stored procedure has left behind.
type Execution struct {
	Body []byte // JSON: what it set as its response; empty text where it set nothing
	Log  string // what it wrote by console.log, with ExecuteOptions.Logging
}

// ExecuteOptions are the options of Execute.
type ExecuteOptions struct {
	Logging bool // keep what the procedure writes by console.log
	// Range is the id of the partition range that a system procedure runs in, where there is no partition
	// key: each document that it writes has a key of its own. Unknown: CodeRangeGone; so is a document of
	// another range.
	Range   string
	Session []SessionPosition
}

// chargeScript is the charge of running a script, beside that of what it does.
const chargeScript = 1.0

// Execute runs a stored procedure on one logical partition. All that it does is one transaction: a procedure
// that throws, runs for more than 5 seconds or answers with more than 4 MB has done nothing. While it runs,
// other writes of its partition range wait.
//
// CodeNotFound: there is no such procedure. CodeForbidden: it has overrun its limits several times, and is
// blocked until it is replaced. CodeBadRequest: there is no partition key, or the procedure threw, which a
// *script.Error tells more about. CodeCanceled: its time was up. CodeTooLarge: its answer or its memory was.
func (c *Container) Execute(ctx context.Context, pk definition.PartitionKey, id string, args []jsondoc.Value,
	o ExecuteOptions) (Execution, Receipt, error) {
	if err := c.checkPositions(ctx, o.Session); err != nil {
		return Execution{}, c.refused(), err
	}
	res, err := c.procedure(id)
	if err != nil {
		return Execution{}, c.refused(), err
	}
	at, pk, err := c.scriptPlace(ctx, pk, id, o.Range)
	if err != nil {
		return Execution{}, c.refused(), err
	}
	if err := c.ready(&res); err != nil {
		return Execution{}, c.refused(), err
	}
	var out script.Outcome
	var charge float64
	var r Receipt
	err = c.ds.door.heavy.WithScripts(ctx, c.ds.opts.QueryTime, func() (err error) {
		r, err = c.update(ctx, at, func(t *tx) error {
			if err := c.checkSession(t.s, o.Session); err != nil {
				return err
			}
			h := &scriptHost{ctx: ctx, t: t, key: pk}
			var err error
			if pk.IsZero() && t.s.id != o.Range {
				return scan.RangeGone(o.Range)
			}
			out, err = h.run(&res, script.Procedure{Args: args, Logging: o.Logging})
			charge = h.charge
			return err
		})
		return err
	})
	r.Charge = round2(chargeScript + charge)
	if err != nil {
		return Execution{Log: out.Log}, r, err
	}
	return Execution{Body: out.Body, Log: out.Log}, r, nil
}

// scriptPlace is where a procedure runs, and the full partition key on which: none for a system procedure
// that runs on a range.
func (c *Container) scriptPlace(ctx context.Context, pk definition.PartitionKey, id,
	rangeID string) (itemLocation,
	definition.PartitionKey, error) {
	if pk.IsZero() && !c.def.SystemKey {
		if rangeID == "" || !IsSystemProcedure(id) {
			return itemLocation{}, pk, fault.New(fault.CodeBadRequest,
				"PartitionKey value must be supplied for this operation.")
		}
		s, err := c.rangeNamed(ctx, rangeID)
		if err != nil {
			return itemLocation{}, pk, err
		}
		return itemLocation{epk: s.min, point: layout.AppendPointKey(nil, c.cid, s.min, nil, "")}, pk, nil
	}
	pk, err := c.def.FullKey(pk, "")
	return c.locate(pk, ""), pk, err
}

// procedure finds a stored procedure by its id: one that every container has, or one of its own.
func (c *Container) procedure(id string) (Resource, error) {
	if source, ok := script.SystemProcedure(id); ok {
		body := jsondoc.StringValue(source).AppendJSON([]byte(`{"body":`))
		return Resource{ID: id, RID: id, Body: append(body, '}')}, nil
	}
	return c.Resources(KindStoredProcedure).Read(id)
}

// IsSystemProcedure reports whether every container has a stored procedure of that id, which is no resource:
// it can be executed, and neither read nor changed.
func IsSystemProcedure(id string) bool {
	_, ok := script.SystemProcedure(id)
	return ok
}

// ready compiles a script, and refuses one that is blocked.
func (c *Container) ready(res *Resource) error {
	if err := c.violations.admit(scriptVersionOf(res), "resource"); err != nil {
		return err
	}
	return classify.ToFault(c.ds.programs.Prepare(res.ID, scriptText(*res)))
}

// run runs one script in a world of its own. p says how: its id and its text are those of res.
func (h *scriptHost) run(res *Resource, p script.Procedure) (out script.Outcome, err error) {
	p.ID, p.Source = res.ID, scriptText(*res)
	db := h.t.c.ds
	var took time.Duration
	defer func() { h.t.c.violations.note(scriptVersionOf(res), took, db.opts.ScriptTime, err) }()
	leave, err := db.door.heavy.Script()
	if err != nil {
		return script.Outcome{}, err
	}
	defer leave()
	runtime, err := db.programs.Open(h.ctx, h.t.c.scriptWorld(), script.Limits{Time: db.opts.ScriptTime})
	if err != nil {
		return script.Outcome{}, err
	}
	defer runtime.Close()
	elapsed := db.in.Elapsed()
	db.door.heavy.RunScript(db.opts.Wall, func() { out, err = runtime.Run(p, h) })
	took = elapsed()
	return out, err
}

// triggers are the scripts that a write asks for.
type triggers struct{ pre, post *Resource }

// triggersOf finds the triggers that a write asks for, and refuses those that are not for it. Cosmos DB runs
// no trigger that a request does not name, and no more than one before and one after a write.
func (c *Container) triggersOf(op Operation) (found triggers, err error) {
	if found.pre, err = c.trigger(op, "Pre", op.PreTriggers); err == nil {
		found.post, err = c.trigger(op, "Post", op.PostTriggers)
	}
	return found, err
}

func (c *Container) trigger(op Operation, when string, names []string) (*Resource, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if len(names) > 1 {
		return nil, fault.New(fault.CodeBadRequest, "Only one "+when+"-trigger is permitted per operation.")
	}
	res, err := c.Resources(KindTrigger).Read(names[0])
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeBadRequest, Message: "The trigger '" + names[0] +
			"' does not exist.", Err: err}
	}
	body := jsondoc.Of(res.Body)
	if kind := body.Member("triggerType").Str(); !strings.EqualFold(kind, when) {
		return nil, fault.New(fault.CodeBadRequest, "Trigger '"+res.ID+"' was defined with type '"+kind+
			"', and therefore is invalid as a "+when+"-trigger.")
	}
	defined, asked := body.Member("triggerOperation").Str(), triggerOperations[op.Kind]
	is := func(word string) bool { return strings.EqualFold(defined, word) } // SDKs send them in any case
	if !is("All") && !is(asked) && (!is("Update") || op.Kind != OperationReplace) {
		return nil, fault.New(fault.CodeBadRequest, "Trigger '"+res.ID+"' was defined with operation type '"+
			defined+"', and therefore is invalid for '"+asked+"'.")
	}
	return &res, c.ready(&res)
}

// triggerOperations names operations as triggers know them. An upsert is none of the others, whatever it
// turns out to do: only triggers for All run with it.
var triggerOperations = map[OperationKind]string{
	OperationCreate: "Create", OperationUpsert: "Upsert", OperationReplace: "Replace", OperationDelete: "Delete", OperationPatch: "Patch",
}

// writeTriggered carries out one operation with its triggers, in one transaction. A pre-trigger may put
// another document in place of the one that was sent, so that is checked after it has run. A replace whose
// document cannot be parsed fails without any trigger.
func (c *Container) writeTriggered(ctx context.Context, pk definition.PartitionKey, op Operation) (Item,
	Receipt, error) {
	found, err := c.triggersOf(op)
	if err != nil {
		return Item{}, c.refused(), err
	}
	key, err := c.triggerKey(pk, op)
	if err != nil && op.Kind == OperationReplace {
		op.PreTriggers, op.PostTriggers = nil, nil
		return c.write(ctx, pk, op)
	}
	if err != nil {
		return Item{}, c.refused(), err
	}
	var patch *prepared
	// no trigger changes it, so that its condition can be evaluated before anybody waits
	if op.Kind == OperationPatch {
		if patch, err = c.prepare(key, op); err != nil {
			return Item{}, c.refused(), err
		}
	}
	var done OperationResult
	var reply []byte
	var charge float64
	var r Receipt
	err = c.ds.door.heavy.WithScripts(ctx, c.ds.opts.QueryTime, func() (err error) {
		r, err = c.updateConditional(ctx, c.locate(key, ""), []*prepared{patch}, func(t *tx) error {
			h := &scriptHost{ctx: ctx, t: t, key: key}
			var err error
			done, reply, err = h.write(op, patch, found)
			charge = h.charge
			return err
		})
		return err
	})
	r.Charge = round2(charge + chargeFailure)
	if err != nil {
		return Item{}, r, err
	}
	r.Inserted, r.Reply = done.Inserted, reply
	return done.Item, r, nil
}

// triggerKey is the partition key that a write with triggers happens in: the one that was given, or that of
// the document.
func (c *Container) triggerKey(pk definition.PartitionKey, op Operation) (definition.PartitionKey, error) {
	if len(op.Body) == 0 {
		return c.def.FullKey(pk, op.ID)
	}
	parsed, err := jsondoc.Parse(op.Body, jsondoc.Limits{})
	if err != nil {
		return definition.PartitionKey{}, definition.DocumentError(err)
	}
	if op.Kind == OperationReplace {
		pk = c.def.KeyOfReplace(pk, op.ID)
	}
	if !pk.IsZero() {
		return c.def.FullKey(pk, parsed.ID.Str())
	}
	return c.def.KeyOf(pk, parsed.Body)
}

// requestOf is the body of a request as a pre-trigger finds it: of a delete it is the item as it is stored.
func (h *scriptHost) requestOf(op Operation) (jsondoc.Value, error) {
	if op.Kind != OperationDelete {
		return jsondoc.Of(op.Body), nil
	}
	found, ghost, err := h.t.find(h.t.c.locate(h.key, op.ID).point)
	if err != nil || found == nil || ghost {
		return jsondoc.Value{}, err // the delete will say that there is none
	}
	item := h.t.c.item(found)
	return jsondoc.Of(item.AppendJSON(nil)), nil
}

// write is one operation between its triggers. p is the operation, where it was prepared before.
func (h *scriptHost) write(op Operation, p *prepared, with triggers) (done OperationResult, reply []byte,
	err error) {
	name := triggerOperations[op.Kind]
	if with.pre != nil {
		request, err := h.requestOf(op)
		if err != nil {
			return done, nil, err
		}
		out, err := h.run(with.pre, script.Procedure{
			Trigger: script.PreTrigger, Request: request, Operation: name,
		})
		if err != nil {
			return done, nil, err
		}
		h.charge += chargeScript
		if out.Body != nil && len(op.Body) > 0 {
			op.Body = out.Body
		}
	}
	if p == nil {
		if p, err = h.t.c.prepare(h.key, op); err != nil {
			return done, nil, err
		}
	}
	if done = h.t.apply(p); done.Err != nil {
		return done, nil, done.Err
	}
	h.charge += done.Charge
	if with.post == nil {
		return done, nil, nil
	}
	var response jsondoc.Value
	if op.Kind != OperationDelete {
		response = jsondoc.Of(done.Item.AppendJSON(nil))
	}
	out, err := h.run(with.post, script.Procedure{
		Trigger: script.PostTrigger, Request: jsondoc.Of(op.Body), Operation: name,
		Response: response,
	})
	h.charge += chargeScript
	return done, out.Body, err
}
