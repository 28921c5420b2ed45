package procedure

import (
	"context"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/resource"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// ChargeScript is the charge of running a script in RU. The script's operations are charged in addition.
const ChargeScript = 1.0

// Triggers holds the pre-trigger and the post-trigger that a write request names; either may be nil.
type Triggers struct {
	pre, post *resource.UserOrScriptResource
}

// TriggersOf finds the triggers that a write names and returns CodeBadRequest if one does not apply to
// the write. As in Cosmos DB, a trigger runs only if the request names it, and a request may name at most
// one pre-trigger and one post-trigger.
func (x *ScriptRunner) TriggersOf(op value.ItemOperation) (found Triggers, err error) {
	if found.pre, err = x.trigger(op, "Pre", op.PreTriggers); err == nil {
		found.post, err = x.trigger(op, "Post", op.PostTriggers)
	}
	return found, err
}

func (x *ScriptRunner) trigger(op value.ItemOperation, when string,
	names []string) (*resource.UserOrScriptResource, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if len(names) > 1 {
		return nil, fault.New(fault.CodeBadRequest, "Only one "+when+"-trigger is permitted per operation.")
	}
	res, err := x.Resources(record.KindTrigger).Read(names[0])
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
	is := func(word string) bool { return strings.EqualFold(defined, word) } // SDKs differ in case
	if !is("All") && !is(asked) && (!is("Update") || op.Kind != value.OperationReplace) {
		return nil, fault.New(fault.CodeBadRequest, "Trigger '"+res.ID+"' was defined with operation type '"+
			defined+"', and therefore is invalid for '"+asked+"'.")
	}
	return &res, x.Ready(&res)
}

// triggerOperations maps kinds of operations to the words of trigger definitions. An upsert counts neither
// as a create nor as a replace, even if it does one of these: only triggers for All (or Upsert) run with
// it.
var triggerOperations = map[value.ItemOperationKind]string{
	value.OperationCreate:  "Create",
	value.OperationUpsert:  "Upsert",
	value.OperationReplace: "Replace",
	value.OperationDelete:  "Delete",
	value.OperationPatch:   "Patch",
}

// requestOf returns the request body that a pre-trigger reads. For a delete it is the stored item.
func (h *ScriptHost) requestOf(op value.ItemOperation) (jsondoc.Value, error) {
	if op.Kind != value.OperationDelete {
		return jsondoc.Of(op.Body), nil
	}
	item, err := h.t.Stored(h.key, op.ID)
	if err != nil || item.IsZero() {
		return jsondoc.Value{}, err // the delete itself will return CodeNotFound
	}
	return jsondoc.Of(item.AppendJSON(nil)), nil
}

// Write executes one operation with its pre-trigger and post-trigger. reply is the document that a
// post-trigger has put into the response, or nil.
func (h *ScriptHost) Write(ctx context.Context, op value.ItemOperation,
	with Triggers) (done value.ItemOperationResult,
	reply []byte, err error) {
	name := triggerOperations[op.Kind]
	if with.pre != nil {
		request, err := h.requestOf(op)
		if err != nil {
			return done, nil, err
		}
		out, err := h.Run(ctx, with.pre, script.ProcedureOrTriggerCall{
			Trigger: script.PreTrigger, Request: request, Operation: name,
		})
		if err != nil {
			return done, nil, err
		}
		h.Charge += ChargeScript
		if out.Body != nil && len(op.Body) > 0 {
			op.Body = out.Body
		}
	}
	if done = h.t.Apply(h.key, op); done.Err != nil {
		return done, nil, done.Err
	}
	h.Charge += done.Charge
	if with.post == nil {
		return done, nil, nil
	}
	var response jsondoc.Value
	if op.Kind != value.OperationDelete {
		response = jsondoc.Of(done.Item.AppendJSON(nil))
	}
	out, err := h.Run(ctx, with.post, script.ProcedureOrTriggerCall{
		Trigger: script.PostTrigger, Request: jsondoc.Of(op.Body), Operation: name,
		Response: response,
	})
	h.Charge += ChargeScript
	return done, out.Body, err
}

// TriggerKey returns the partition key of a write with triggers: the given one, or that of the document.
func TriggerKey(def *definition.PartitionKeyDefinition, given definition.PartitionKey,
	op value.ItemOperation) (
	definition.PartitionKey, error) {
	if len(op.Body) == 0 {
		return def.FullKey(given, op.ID)
	}
	parsed, err := jsondoc.Parse(op.Body, jsondoc.Limits{})
	if err != nil {
		return definition.PartitionKey{}, definition.DocumentError(err)
	}
	if op.Kind == value.OperationReplace {
		given = def.KeyOfReplace(given, op.ID)
	}
	if !given.IsZero() {
		return def.FullKey(given, parsed.ID.Str())
	}
	return def.KeyOf(given, parsed.Body)
}
