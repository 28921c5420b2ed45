package laboratory

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
)

// FaultRule is a fault injection rule with its counters.
type FaultRule struct {
	ID         string   `json:"id"`
	Fault      string   `json:"fault" enum:"429,449,410,503,408,latency,drop,lockLost,detach"`
	Operations []string `json:"operations" nullable:"false" description:"Empty: all on documents and messages, except queryPlan and metadata."`
	Database   string   `json:"database,omitempty"`
	Container  string   `json:"container,omitempty"`
	Entity     string   `json:"entity,omitempty"`
	Share      float64  `json:"share" description:"Fraction of the matching operations that fail."`
	Seed       uint64   `json:"seed" description:"Seed of the random choice of these operations."`
	Skip       int64    `json:"skip,omitempty" description:"Number of matching operations to skip first."`
	Count      int64    `json:"count,omitempty" description:"Number of hits after which the rule ends."`
	Until      string   `json:"until,omitempty" description:"End of the rule, by the data clock."`
	When       string   `json:"when" enum:"before,after"`
	LatencyMs  int64    `json:"latencyMs,omitempty"`

	RetryAfterMs int64 `json:"retryAfterMs,omitempty" description:"Wait in milliseconds that a 429 asks for."`

	Substatus int   `json:"substatus,omitempty"`
	Seen      int64 `json:"seen" description:"Number of operations that matched the rule."`
	Hits      int64 `json:"hits" description:"Number of operations that got the fault."`
	Ended     bool  `json:"ended" description:"Whether the rule has ended."`
}

// Faults is a list of fault injection rules, in the order in which they are applied.
type Faults struct {
	Faults []FaultRule `json:"faults" nullable:"false"`
}

func faultOf(s inject.FaultRuleState) FaultRule {
	f := FaultRule{ID: s.ID, Fault: s.Fault.String(), Operations: []string{}, Database: s.Database,
		Container: s.Container, Entity: s.Entity, Share: s.Share, Seed: s.Seed, Skip: s.Skip, Count: s.Count,
		When: "before", LatencyMs: s.Latency.Milliseconds(), RetryAfterMs: s.RetryAfter.Milliseconds(),
		Substatus: s.Substatus, Seen: s.Seen, Hits: s.Hits, Ended: s.Ended}
	for _, o := range s.Operations {
		f.Operations = append(f.Operations, o.String())
	}
	if s.After {
		f.When = "after"
	}
	if !s.Until.IsZero() {
		f.Until = s.Until.UTC().Format(time.RFC3339)
	}
	return f
}

// operationNames holds the operations to which a fault rule applies. JSON shows them by name.
type operationNames []inject.OperationKind

// DecodeMember implements route.JSONMemberDecoder.
func (o *operationNames) DecodeMember(name string, v jsondoc.Value) error {
	if v.Kind() != jsondoc.Array {
		return route.BadRequest("'" + name + "' must be an array of names.")
	}
	var err error
	v.Each(func(_ string, e jsondoc.Value) bool {
		var one inject.OperationKind
		if one, err = inject.ParseOperation(e.Str()); err == nil {
			*o = append(*o, one)
		}
		return err == nil
	})
	return ofRules(err)
}

// JSONSchema implements jsonschema.Exposer.
func (operationNames) JSONSchema() (s jsonschema.Schema, err error) {
	name := new(jsonschema.Schema)
	name.AddType(jsonschema.String)
	for _, n := range inject.OperationNames() {
		name.Enum = append(name.Enum, n)
	}
	s.AddType(jsonschema.Array)
	s.WithItems(*new(jsonschema.Items).WithSchemaOrBool(name.ToSchemaOrBool()))
	s.WithDescription("Absent: all on documents and messages, except queryPlan and metadata.")
	s.WithExamples([]any{"createItem", "upsertItem"})
	return s, nil
}

// faultKind is a kind of fault, which JSON shows by name.
type faultKind struct{ is inject.Fault }

// DecodeMember implements route.JSONMemberDecoder.
func (f *faultKind) DecodeMember(_ string, v jsondoc.Value) (err error) {
	f.is, err = inject.ParseFault(v.Str())
	return ofRules(err)
}

// JSONSchema implements jsonschema.Exposer: it returns the schema of a string that is the name of a fault.
func (faultKind) JSONSchema() (s jsonschema.Schema, err error) {
	s.AddType(jsonschema.String)
	for _, n := range inject.FaultNames() {
		s.Enum = append(s.Enum, n)
	}
	s.WithDescription("HTTP status (documents), lockLost or detach (messages), latency or drop (both).")
	s.WithExamples("429")
	return s, nil
}

type addFaultRequest struct {
	Fault      faultKind      `json:"fault" missing:"The body must have a 'fault'."`
	Operations operationNames `json:"operations,omitempty"`
	Database   string         `json:"database,omitempty" description:"Id of the database; absent: any."`
	Container  string         `json:"container,omitempty" description:"With 'database'; absent: any."`
	Entity     string         `json:"entity,omitempty" description:"Queue, topic or subscription."`
	Share      *float64       `json:"share,omitempty" minimum:"0" maximum:"1" description:"Fraction of the matching operations to hit. Default: 1."`

	Seed  int64 `json:"seed,omitempty" minimum:"0" description:"Seed of the random choice for 'share'."`
	Skip  int64 `json:"skip,omitempty" minimum:"0" description:"Number of matching operations to skip."`
	Count int64 `json:"count,omitempty" minimum:"0" description:"Number of hits at which it ends; 0: never."`

	For        route.JSONDuration `json:"for,omitempty" description:"End after this duration of the data clock; a number means seconds. Default: never."`
	When       string             `json:"when,omitempty" enum:"before,after" description:"Whether the fault comes before or after the operation is executed."`
	Latency    int64              `json:"latencyMs,omitempty" minimum:"0" maximum:"60000"`
	RetryAfter int64              `json:"retryAfterMs,omitempty" minimum:"0" maximum:"3600000" description:"Wait that a 429 asks for, in milliseconds. Default: 100."`
	Substatus  int64              `json:"substatus,omitempty" minimum:"0" maximum:"100000"`
	_          struct{}           `takes:"a fault takes %" additionalProperties:"false"`
}

func (l *Laboratory) addFault(_ context.Context, in *addFaultRequest) (FaultRule, error) {
	r := inject.FaultRule{Fault: in.Fault.is, Operations: in.Operations, Database: in.Database,
		Container: in.Container, Entity: in.Entity, Share: 1, Seed: uint64(in.Seed), Skip: in.Skip,
		Count: in.Count, For: in.For.Duration, After: in.When == "after",
		Latency:    time.Duration(in.Latency) * time.Millisecond,
		RetryAfter: time.Duration(in.RetryAfter) * time.Millisecond, Substatus: int(in.Substatus)}
	if in.When != "" && in.When != "before" && in.When != "after" {
		return FaultRule{}, route.BadRequest("'when' must be 'before' or 'after'.")
	}
	if in.Share != nil {
		if r.Share = *in.Share; r.Share == 0 {
			return FaultRule{}, route.BadRequest("'share' must be above 0 and at most 1.")
		}
	}
	s, err := l.opt.Faults.Add(r)
	if err != nil {
		return FaultRule{}, ofRules(err)
	}
	return faultOf(s), nil
}

// ofRules converts a *inject.FaultRuleError to a *route.Error.
func ofRules(err error) error {
	var refused *inject.FaultRuleError
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.Member == "":
		return route.BadRequest(refused.Message + ".")
	}
	return route.BadRequest("'" + refused.Member + "': " + refused.Message + ".")
}

func (l *Laboratory) listFaults(context.Context, *route.NoBody) (Faults, error) {
	out := Faults{[]FaultRule{}}
	for _, s := range l.opt.Faults.List() {
		out.Faults = append(out.Faults, faultOf(s))
	}
	return out, nil
}

// deleteFaultRuleRequest is the request to delete the fault rule with an id.
type deleteFaultRuleRequest struct {
	ID string `path:"id" description:"Id of the fault."`
}

func (l *Laboratory) deleteFault(_ context.Context, in *deleteFaultRuleRequest) (route.NoBody, error) {
	if !l.opt.Faults.Delete(in.ID) {
		return route.NoBody{}, route.NotFound("There is no fault '" + in.ID + "'.")
	}
	return route.NoBody{}, nil
}

func (l *Laboratory) clearFaults(context.Context, *route.NoBody) (route.NoBody, error) {
	l.opt.Faults.Clear()
	return route.NoBody{}, nil
}

func ofFaults() routeTable {
	const faults = root + "/faults"
	return routeTable{
		on(get, faults, "List the faults on demand", (*Laboratory).listFaults),
		on(post, faults, "Add a fault: operations that match it will fail", (*Laboratory).addFault).
			Answering(http.StatusCreated),
		on(del, faults, "Delete all faults on demand", (*Laboratory).clearFaults),
		on(del, faults+"/{id}", "Delete a fault on demand", (*Laboratory).deleteFault).Failing(404),
	}
}
