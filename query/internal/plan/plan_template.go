package plan

import (
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/syntax"
)

// planTemplate is the part of a plan that does not depend on the values of parameters: the query is parsed,
// bound and folded, and its expressions are compiled. Parameters stay open if they are operands of
// comparisons, BETWEEN, short IN lists or some functions of strings and arrays in a WHERE (see
// takesParameters). Compiled expressions read the values of open parameters from the run. ValueRules make a
// Plan from the template for each set of values.
//
// All other uses of a parameter's value go through Binder.PinnedValue, which records that the template is
// valid for these values only: a TOP or OFFSET, an operand of a constant expression, an expression in a
// select list, an ORDER BY or a GROUP BY, the pattern of a LIKE or of a regular expression, the terms of a
// score, a vector, a geometry. The template of a query with ORDER BY RANK is never valid for other values.
//
// A template does not change after its first plan is made.
type planTemplate struct {
	*bind.Binder
	bare     Plan // the plan after ShapeRules
	keys     []eval.ValueFunc
	computed map[string]eval.ValueFunc
	rank     []*bind.RankScore
	tests    map[syntax.Expr]*IndexTermTest       // tests of conditions; nil: the condition has no test
	paths    map[syntax.Expr]expressionAsItemPath // of operands
	// paging is the query text that is hashed, together with the parameters, for Plan.Hash; "" means the text
	// of the query.
	paging  string
	Names   []string
	written *bind.ResolvedQuery // before the rules
}

// shapeOf returns the part of a plan that does not depend on the values of parameters: it applies ShapeRules
// to the query and compiles its expressions.
func shapeOf(b *bind.ResolvedQuery) (*planTemplate, error) {
	s := &planTemplate{Binder: b.Binder, bare: Plan{Top: b.Top, Info: *b.Info}, rank: b.Top.Rank,
		tests: map[syntax.Expr]*IndexTermTest{}, paths: map[syntax.Expr]expressionAsItemPath{}, written: b.Written()}
	b.Info = &s.bare.Info
	p := &Planner{Binder: b.Binder, Plan: &s.bare}
	for _, r := range ShapeRules() {
		r.Apply(p)
	}
	if err := b.Err(); err != nil {
		return nil, err
	}
	c, err := p.compilerFor(b.Info.Computed)
	if err != nil {
		return nil, err
	}
	s.bare.Rows, s.computed = c.Rowset(b.Top), c.Computed
	for _, key := range b.Top.Order {
		s.keys = append(s.keys, c.Value(key.X))
	}
	s.bare.FrameSettings = eval.FrameSettings{Slots: c.Slots, Aggs: len(c.Aggs), Keys: c.Groups,
		Planar: b.Info.Geometry}
	if s.bare.Form == cursor.Sorting {
		// The cursor holds the key of the last row, so it stays valid if the WHERE changes. The SDK for
		// JavaScript relies on this: it resumes a query with the cursor of the previous page and a filter
		// that it makes from that row.
		unfiltered := *b.Q
		unfiltered.Where = nil
		s.paging = syntax.Print(&unfiltered)
	}
	s.Fixed = s.Fixed || len(s.rank) > 0 // its scores are compiled for each plan
	for _, one := range b.Asked {
		s.Names = append(s.Names, one.Name)
	}
	return s, nil
}

// first returns the plan for the parameter values with which the template was made. It is called once,
// before again.
func (s *planTemplate) first(params []bind.Parameter) (*Plan, error) {
	return s.plan(params, &Planner{Binder: s.Binder, tests: s.tests, paths: s.paths})
}

// again returns a plan for other values of the parameters than those with which the template was made.
func (s *planTemplate) again(params []bind.Parameter) (*Plan, error) {
	b := *s.Binder
	b.Values = bind.ValuesOf(params)
	return s.plan(params, &Planner{Binder: &b, tests: s.tests, paths: s.paths, again: true})
}

// plan completes the plan for the values of parameters in params. It applies the ValueRules, the planning
// rules that depend on these values, to the template.
func (s *planTemplate) plan(params []bind.Parameter, p *Planner) (*Plan, error) {
	plan := s.bare
	p.Plan = &plan
	plan.Shape, plan.Params = s, p.Values
	if o := plan.Order; o != nil {
		order := *o
		plan.Order = &order
	}
	for _, r := range ValueRules() {
		r.Apply(p)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	if plan.Order != nil {
		plan.Order.Keys = s.keys
	}
	if plan.compiles() || len(s.rank) > 0 {
		c := p.compiler()
		c.Computed = s.computed
		plan.compile(c)
		plan.Rank = compileRankers(c, p, s.rank)
	}
	plan.chain()
	plan.Asked = hashQuery(p.Text, params)
	plan.Hash = plan.Asked
	if plan.Form == cursor.Sorting {
		plan.Hash = hashQuery(s.paging, params)
	}
	return &plan, nil
}

// expressionAsItemPath says whether an expression is a path into the item, such as c.a.b, which path it is,
// and whether a range index covers it.
type expressionAsItemPath struct {
	value aliasPath // empty if the expression does not begin with a name
	// route is the path from the item, name is its text. entered says that it enters all elements of an
	// array. ok is false if the expression is not such a path.
	route       index.Path
	name        string
	entered, ok bool
	indexed     bool // there is a range index
}

// pathAt returns whether an expression is a path into the item, such as c.a.b, which path it is, and whether
// a range index covers it. This does not depend on the values of parameters, so it is computed once for all
// plans that are made from the same template.
func (p *Planner) pathAt(e syntax.Expr) (at expressionAsItemPath) {
	if at, ok := p.paths[e]; ok {
		return at
	}
	if root, _, ok := syntax.PathOf(e); ok && p.Idents[root] != nil {
		at.value = aliasPath{p.Idents[root], syntax.PrintExpr(e)}
	}
	if at.route, at.entered, at.ok = p.ItemRoute(e); at.ok {
		at.route, at.name = slices.Clip(at.route), at.route.String()
		at.indexed = p.Info.Index.RangeIndexed(at.route)
	}
	if p.paths != nil && !p.again {
		p.paths[e] = at
	}
	return at
}

// With returns the plan of the same query for other values of its parameters. It is cheaper than Prepare if
// the values affect only the access paths. The error is an *Error, as from Prepare.
func (p *Plan) With(params []bind.Parameter) (*Plan, error) {
	s := p.Shape
	same := func(name string, p bind.Parameter) bool { return name == p.Name }
	if s.Fixed || !slices.EqualFunc(s.Names, params, same) {
		return Prepare(s.Text, params, s.bare.Info)
	}
	return s.again(params)
}

// Written returns the bound query as it was before planning changed it, with the parameter values of this
// plan. The result shares its tree and tables with the plan, so only one caller may use it and must not
// change them.
func (p *Plan) Written() *bind.ResolvedQuery {
	q, b := *p.Shape.written, *p.Shape.Binder
	b.Values = p.Params
	q.Binder = &b
	return &q
}

// compiles reports whether a plan needs more compiled expressions than those that compute its rows: for
// aggregates computed from an index alone, or for text scores.
func (p *Plan) compiles() bool {
	return p.Counts != nil || p.IndexOnly != nil || p.Order != nil && p.Order.Texts != nil
}

func (p *Plan) compile(c *eval.Compiler) {
	if p.Order != nil && p.Order.Texts != nil {
		p.Order.Texts.Text = c.Value(p.Order.Texts.x)
	}
	if p.Counts != nil {
		p.Counts.compile(c)
	}
	if p.IndexOnly != nil {
		for i, a := range p.Top.Aggs {
			p.IndexOnly.Args[i].Value = c.Value(a.Arg)
		}
	}
}
