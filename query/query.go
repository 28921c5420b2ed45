package query

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/gateway"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// Plan is a query that was prepared for one container. It is immutable: it may be kept and run by many
// goroutines at once.
type Plan struct{ *plan.Plan }

// Prepare parses, binds and plans a query. All that is wrong with it by itself is found here, before any
// document is read. The error is an *Error.
func Prepare(text string, params []bind.Parameter, info bind.Info) (*Plan, error) {
	p, err := plan.Prepare(text, params, info)
	if err != nil {
		return nil, err
	}
	return &Plan{p}, nil
}

// With returns the plan of the same query for other values of its parameters. It takes less than Prepare
// where nothing depends on the values but where the documents are found. The error is as that of Prepare.
func (p *Plan) With(params []bind.Parameter) (*Plan, error) {
	q, err := p.Plan.With(params)
	if err != nil {
		return nil, err
	}
	return &Plan{q}, nil
}

// Run makes one page. There is one source for each partition range, in the order of the ranges. What a source
// has handed out is not in use any more when Run returns.
//
// A page that has taken its Budget ends between two documents, with or without rows, and its cursor has got
// on, whatever it has passed over: the dead, the unwanted, entries of an index. Env.Limit alone ends what can
// only begin again: aggregates, GROUP BY, ranks and other forms that make all rows first; ORDER BY without an
// index, and by an index among values that it does not have whole (long texts, arrays, objects); what a
// single document is joined to.
//
// The error is a *CursorError, an *Error for what a query can only do wrong while it runs, a *MemoryError, a
// *TimeError, or what a source, a UDF or the context returned; the page is then as far as it got, without
// rows.
func (p *Plan) Run(ctx context.Context, sources []source.Source, env eval.Env, o exec.RunOptions) (exec.Page,
	error) {
	return exec.Run(ctx, p.Plan, sources, env, o)
}

// RunValues makes one page of a query over a list, as Run does over partition ranges. There is one
// difference: a page has a Cursor only where another row follows. The plan is best prepared for an Info that
// is Lenient and has no Index: all values are looked at, and any ORDER BY sorts. Errors are those of Run.
func (p *Plan) RunValues(ctx context.Context, list []exec.Value, env eval.Env, o exec.RunOptions) (exec.Page,
	error) {
	return exec.RunValues(ctx, p.Plan, list, env, o)
}

// Explain returns the plan as text with the figures of a run: how many documents or rows came out of each
// node and, where the run was traced, how long it took by itself. What goes into a node is what comes out of
// the one below it. What was chosen among several ways follows, with what was counted of those that were not,
// and last the composite index that would help, if there is one.
func (p *Plan) Explain(s exec.Stats) string { return exec.Explain(p.Plan, s) }

// Beginning returns the cursor of the first page over sources that cover the spans, in a scope.
func (p *Plan) Beginning(scope string, spans []cursor.Span) string {
	return exec.Beginning(p.Plan, scope, spans)
}

// Functions returns the names of all functions of the language, in upper case and in order.
func Functions() []string { return lang.Functions() }

// Begin returns the progress of a query over sources that cover the spans, before the first document.
func Begin(spans []Span) Progress { return cursor.Begin(spans) }

// ParseProgress reads a progress off the front of b and returns the bytes behind it. The progress holds
// slices of b. It is false where b is malformed.
func ParseProgress(b []byte) (p Progress, rest []byte, ok bool) { return cursor.ParseProgress(b) }

// OrderedBy returns what a row is ordered by that has the value.
func OrderedBy(v jsondoc.Value) OrderValue { return eval.OrderedBy(v) }

// OrderedByHash returns what a row is ordered by that has an array or an object, as the kind says, with the
// hash.
func OrderedByHash(k jsondoc.Kind, h jsondoc.Hash) OrderValue { return eval.OrderedByHash(k, h) }

// CheckComputed checks the definitions of a container's computed properties. As in Cosmos DB each is SELECT
// VALUE of an expression over one document, FROM the container alone and without any other clause, and the
// expression gives the same for the same document at any time: it has no subqueries, aggregates, parameters,
// user defined or spatial functions, nor functions of chance or of the present, and uses no other computed
// property. The error is an *Error whose message names the property.
func CheckComputed(list []Computed) error { return plan.CheckComputed(list) }

// NewComputed compiles computed properties to a function that evaluates them on the text of a document, for
// what indexes them. It is safe for concurrent use. The error is an *Error.
func NewComputed(list []Computed) (func(name string, body []byte) jsondoc.Value, error) {
	return plan.NewComputed(list)
}

// PrepareCondition parses and binds
//
//	FROM name [[AS] alias] [WHERE condition]
//
// The error is an *Error.
func PrepareCondition(text string, info Info) (*Condition, error) {
	return exec.PrepareCondition(text, info)
}

// Gateway makes the plan of the query for a client that merges the results of partition ranges. The error is
// an *Error where clients cannot merge them, or, where the client lacks a feature, an *UnsupportedError.
func (p *Plan) Gateway(o GatewayOptions) (*GatewayPlan, error) { return gateway.Of(p.Plan, o) }

// NewEnv returns the surroundings of a run by a clock, which gives the moment at which the run begins as
// well,
// with RAND by chance. elapsed is Env.Elapsed and may be nil. All other members are the caller's to set: the
// limits of time and memory, the functions of the container, and how the run shares the machine.
func NewEnv(clock func() time.Time, elapsed func() time.Duration) Env {
	return eval.NewEnv(clock, elapsed)
}

// Gateway makes the plan of a query for a client that merges the results of partition ranges. What is wrong
// with the query is found as by Prepare, except that no index is missed: that is told by the range that lacks
// it. The error is an *Error or, where the client lacks a feature, an *UnsupportedError.
func Gateway(text string, params []Parameter, info Info, o GatewayOptions) (*GatewayPlan, error) {
	return gateway.Prepare(text, params, info, o)
}
