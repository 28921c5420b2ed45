package query

import (
	"context"

	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// Plan is a query that was prepared for one container. It is immutable: it may be kept and run by many
// goroutines at once.
type Plan struct{ *planned }

// Prepare parses, binds and plans a query. All that is wrong with it by itself is found here, before any
// document is read. The error is an *Error.
func Prepare(text string, params []Parameter, info Info) (*Plan, error) {
	p, err := preparePlan(text, params, info)
	if err != nil {
		return nil, err
	}
	return &Plan{p}, nil
}

// With returns the plan of the same query for other values of its parameters. It takes less than Prepare
// where nothing depends on the values but where the documents are found. The error is as that of Prepare.
func (p *Plan) With(params []Parameter) (*Plan, error) {
	q, err := p.with(params)
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
func (p *Plan) Run(ctx context.Context, sources []source.Source, env Env, o RunOptions) (Page, error) {
	return runPlanned(ctx, p.planned, sources, env, o)
}

// RunValues makes one page of a query over a list, as Run does over partition ranges. There is one
// difference: a page has a Cursor only where another row follows. The plan is best prepared for an Info that
// is Lenient and has no Index: all values are looked at, and any ORDER BY sorts. Errors are those of Run.
func (p *Plan) RunValues(ctx context.Context, list []Value, env Env, o RunOptions) (Page, error) {
	return runValueList(ctx, p.planned, list, env, o)
}

// Explain returns the plan as text with the figures of a run: how many documents or rows came out of each
// node and, where the run was traced, how long it took by itself. What goes into a node is what comes out of
// the one below it. What was chosen among several ways follows, with what was counted of those that were not,
// and last the composite index that would help, if there is one.
func (p *Plan) Explain(s Stats) string { return explain(p.planned, s) }

// Beginning returns the cursor of the first page over sources that cover the spans, in a scope.
func (p *Plan) Beginning(scope string, spans []Span) string {
	return beginning(p.planned, scope, spans)
}

// Functions returns the names of all functions of the language, in upper case and in order.
func Functions() []string { return lang.Functions() }
