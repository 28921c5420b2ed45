package exec

import (
	"context"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/internal/source"
	"github.com/mayflydb/mayfly/query/syntax"
)

// PatchCondition is a condition on one document, as conditional patches use it. It is immutable.
type PatchCondition struct {
	plan *plan.Plan
}

// PrepareCondition parses the condition of a conditional patch and resolves its names:
//
//	FROM name [[AS] alias] [WHERE condition]
//
// An invalid condition is a *queryerror.Error.
func PrepareCondition(text string, info bind.ContainerInfo) (*PatchCondition, error) {
	q, err := syntax.ParseCondition(text)
	if err != nil {
		return nil, queryerror.SyntaxError(err)
	}
	q.Select = &syntax.SelectClause{Value: &syntax.Literal{Value: jsondoc.BoolValue(true)}}
	b, err := bind.Tree(q, text, nil, &info, plan.FoldConstants)
	if err != nil {
		return nil, err
	}
	p, err := plan.Of(b)
	if err != nil {
		return nil, err
	}
	return &PatchCondition{p}, nil
}

// Match reports whether the condition holds for a document. It returns an error if a subquery or a UDF
// fails, or if ctx ends.
func (c *PatchCondition) Match(ctx context.Context, d source.Document, env eval.Env) (bool, error) {
	r := eval.NewRun(ctx, c.plan.FrameSettings, env)
	f := eval.NewFrame(r, c.plan.FrameSettings)
	f.Enter(d)
	holds := false
	if c.plan.Rows.Admits(f) {
		c.plan.Rows.Each(f, 0, func() bool {
			holds = true
			return false
		})
	}
	return holds && r.Err == nil, r.Err
}
