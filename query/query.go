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

// Plan is a query prepared for one container. It is immutable and safe for concurrent use.
type Plan struct{ *plan.Plan }

// Prepare parses, binds and plans a query. It reports every error that does not depend on the documents. The
// error is an *Error.
func Prepare(text string, params []bind.Parameter, info bind.ContainerInfo) (*Plan, error) {
	p, err := plan.Prepare(text, params, info)
	if err != nil {
		return nil, err
	}
	return &Plan{p}, nil
}

// With returns the plan of the same query for other values of its parameters. It is cheaper than Prepare if
// the values affect only the access paths. The error is an *Error, as from Prepare.
func (p *Plan) With(params []bind.Parameter) (*Plan, error) {
	q, err := p.Plan.With(params)
	if err != nil {
		return nil, err
	}
	return &Plan{q}, nil
}

// Run makes one page. There is one source for each partition range, in the order of the ranges. When Run
// returns, it no longer uses the sources or anything that they have returned.
//
// A page ends between two documents when its Budget of time is over, even if it has no rows. Its continuation
// token is then after everything that was read: dead documents, documents that do not match, entries of an
// index. Some kinds of work cannot be divided into pages, so only Env.Limit ends them. These are aggregates,
// GROUP BY, ranks and other queries that make all rows before the first is returned; ORDER BY without an
// index, or over index entries that do not hold the whole value (long texts, arrays, objects); and the joins
// of a single document.
//
// The error is a *CursorError, an *Error of a kind that only occurs during a run, a *MemoryError, a
// *TimeLimitError, or an error of a source, a UDF or the context. The returned page then holds what was found
// up to the error, without rows.
func (p *Plan) Run(ctx context.Context, sources []source.DocumentSource, env eval.Env,
	o exec.RunOptions) (exec.Page, error) {
	return exec.Run(ctx, p.Plan, sources, env, o)
}

// RunValues makes one page of a query over a list of values in memory. A page has a Cursor only if another
// row follows. The plan should be prepared with a ContainerInfo that is Lenient and has no Index, since all
// values are read and every ORDER BY sorts. The errors are those of Run, which runs a plan over partition
// ranges.
func (p *Plan) RunValues(ctx context.Context, list []exec.CallerProvidedObject, env eval.Env,
	o exec.RunOptions) (exec.Page, error) {
	return exec.RunValues(ctx, p.Plan, list, env, o)
}

// Explain returns the plan as text, one node a line, with the statistics of a run: how many documents or
// rows each node returned and, if the run was traced, how long the node itself took. The input of a node is
// the output of the node below it. The lines after the nodes show the chosen access path, the rejected
// access paths with the number of entries that were read of each, and the composite index that would make
// the query faster, if there is one.
func (p *Plan) Explain(s exec.Stats) string { return exec.Explain(p.Plan, s) }

// Beginning returns the continuation token (cursor) with which the first page begins. scope names the part
// of the container that is queried; the sources of the query cover the spans.
func (p *Plan) Beginning(scope string, spans []cursor.SourceKeyRange) string {
	return exec.Beginning(p.Plan, scope, spans)
}

// Functions returns the sorted names of all functions of the language, in upper case.
func Functions() []string { return lang.Functions() }

// Begin returns the MultiSourceReadProgress at which a query begins: its position in several sources that it
// reads one after the other. spans are the ranges of partition keys of the sources.
func Begin(spans []SourceKeyRange) MultiSourceReadProgress { return cursor.Begin(spans) }

// ParseProgress decodes a MultiSourceReadProgress, the position of a query in its sources, from the front of
// b, and returns the bytes that follow it. ok is false if b is malformed. The result refers to parts of b.
func ParseProgress(b []byte) (p MultiSourceReadProgress, rest []byte, ok bool) {
	return cursor.ParseProgress(b)
}

// OrderedBy returns the OrderByValue of a row whose ORDER BY key is v.
func OrderedBy(v jsondoc.Value) OrderByValue { return eval.OrderedBy(v) }

// OrderedByHash returns the OrderByValue of a row whose ORDER BY key is an array or an object (k is its
// kind) with the hash h.
func OrderedByHash(k jsondoc.Kind, h jsondoc.MurmurHash128) OrderByValue {
	return eval.OrderedByHash(k, h)
}

// CheckComputed checks the definitions of a container's computed properties. As in Cosmos DB each is SELECT
// VALUE of an expression over one document, FROM the container alone and without any other clause. The
// expression must always have the same result for the same document: it has no subqueries, aggregates,
// parameters, user defined or spatial functions, no functions of random numbers or of the current time, and
// uses no other computed property. The error is an *Error whose message names the property.
func CheckComputed(list []ComputedProperty) error { return plan.CheckComputed(list) }

// NewComputedProperty compiles computed properties to a function that evaluates them on the text of a
// document, for use by indexes. The function is safe for concurrent use. The error is an *Error.
func NewComputedProperty(list []ComputedProperty) (func(name string, body []byte) jsondoc.Value, error) {
	return plan.NewComputed(list)
}

// PrepareCondition prepares the condition under which a patch is applied. Its text has the form
//
//	FROM name [[AS] alias] [WHERE condition]
//
// The error is an *Error.
func PrepareCondition(text string, info ContainerInfo) (*PatchCondition, error) {
	return exec.PrepareCondition(text, info)
}

// Gateway makes the plan of the query for a client that merges the results of partition ranges. The error is
// an *Error if clients cannot merge them, or an *MissingClientFeaturesError if the client lacks a feature.
func (p *Plan) Gateway(o GatewayOptions) (*GatewayPlan, error) { return gateway.Of(p.Plan, o) }

// NewEnv returns the environment of a run. The first call of clock gives the time at which the run begins.
// RAND is random. elapsed becomes Env.Elapsed and may be nil. The caller sets all other members: the limits
// of time and memory, the functions of the container, and how the run shares the machine with others.
func NewEnv(clock func() time.Time, elapsed func() time.Duration) Env {
	return eval.NewEnv(clock, elapsed)
}

// Gateway makes the plan of a query for a client that merges the results of partition ranges. It reports the
// same errors as Prepare, except for a missing index, which the partition range reports. The error is an
// *Error or, if the client lacks a feature, an *MissingClientFeaturesError.
func Gateway(text string, params []Parameter, info ContainerInfo, o GatewayOptions) (*GatewayPlan, error) {
	return gateway.Prepare(text, params, info, o)
}
