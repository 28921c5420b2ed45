package query

import (
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/syntax"
)

// shapeOf is a query that is planned as far as the values of its parameters do not matter: it is parsed, bound,
// folded, and its expressions are compiled. Parameters stay open that are operands of comparisons, BETWEEN,
// short IN lists and some functions of strings and arrays in a WHERE (see takesParameters). Compiled
// expressions take their values from the run; the rules that look at them are those of valueRules, which make
// a Plan of the shape for each set of values.
//
// Everything else that looks at the value of a parameter does so by binder.given, which notes that the shape
// is good for these values alone: a TOP or OFFSET, an operand of a constant expression, what a select list,
// an ORDER BY or a GROUP BY shows, the pattern of a LIKE or of a regular expression, the terms of a score, a
// vector, a geometry. A query with ORDER BY RANK is never good for others.
//
// A shape does not change once its first plan is made.
type shape struct {
	*binder
	bare     planned // as the rules have left it that look at no values
	keys     []valuer
	computed map[string]valuer
	rank     []*rankPart
	tests    map[syntax.Expr]*termTest // of conditions; nil: there is none
	paths    map[syntax.Expr]pathFacts // of operands
	// text of which the cursor's hash is made, where that is not the query's
	paging string
	names  []string
}

// shapeOf runs the rules that look at no values, and compiles the query.
func shapeOf(b *boundQuery) (*shape, error) {
	s := &shape{binder: b.binder, bare: planned{top: b.top, info: *b.info}, rank: b.top.rank,
		tests: map[syntax.Expr]*termTest{}, paths: map[syntax.Expr]pathFacts{}}
	b.info = &s.bare.info
	p := &planner{binder: b.binder, plan: &s.bare}
	for _, r := range shapeRules() {
		r.apply(p)
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	c, err := p.compilerFor(b.info.Computed)
	if err != nil {
		return nil, err
	}
	s.bare.rows, s.computed = c.rowset(b.top), c.computed
	for _, key := range b.top.order {
		s.keys = append(s.keys, c.value(key.x))
	}
	s.bare.layout = layout{slots: c.slots, aggs: len(c.aggs), keys: c.groups, planar: b.info.Geometry}
	if s.bare.form == sorting {
		// A cursor holds the last row's key, which says where to go on whatever the WHERE is. The SDK for
		// JavaScript relies on it: it takes up a query with the cursor of the page before and a filter of its
		// own, made of that row.
		unfiltered := *b.q
		unfiltered.Where = nil
		s.paging = syntax.Print(&unfiltered)
	}
	s.fixed = s.fixed || len(s.rank) > 0 // its scores are compiled for each plan
	for _, one := range b.asked {
		s.names = append(s.names, one.Name)
	}
	return s, nil
}

// first is the plan for the values that the shape was made with.
func (s *shape) first(params []Parameter) (*planned, error) {
	return s.plan(params, &planner{binder: s.binder, tests: s.tests, paths: s.paths})
}

// again is a plan for other values.
func (s *shape) again(params []Parameter) (*planned, error) {
	b := *s.binder
	b.values = valuesOf(params)
	return s.plan(params, &planner{binder: &b, tests: s.tests, paths: s.paths, again: true})
}

// planOf runs the rules that look at values.
func (s *shape) plan(params []Parameter, p *planner) (*planned, error) {
	plan := s.bare
	p.plan = &plan
	plan.shape, plan.given = s, p.values
	if o := plan.order; o != nil {
		order := *o
		plan.order = &order
	}
	for _, r := range valueRules() {
		r.apply(p)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	if plan.order != nil {
		plan.order.keys = s.keys
	}
	if plan.compiles() || len(s.rank) > 0 {
		c := p.compiler()
		c.computed = s.computed
		plan.compile(c)
		plan.rank = compileRankers(c, p, s.rank)
	}
	plan.chain()
	plan.asked = hashQuery(p.text, params)
	plan.hash = plan.asked
	if plan.form == sorting {
		plan.hash = hashQuery(s.paging, params)
	}
	return &plan, nil
}

// pathFacts is what is known of an expression that may be a path.
type pathFacts struct {
	value valueName // none, where no name begins it
	// of a path from the item
	route       index.Path
	name        string
	entered, ok bool
	indexed     bool // there is a range index
}

// pathAt looks at an expression once for all plans of a shape.
func (p *planner) pathAt(e syntax.Expr) (at pathFacts) {
	if at, ok := p.paths[e]; ok {
		return at
	}
	if root, _, ok := syntax.PathOf(e); ok && p.idents[root] != nil {
		at.value = valueName{p.idents[root], syntax.PrintExpr(e)}
	}
	if at.route, at.entered, at.ok = p.itemRoute(e); at.ok {
		at.route, at.name = slices.Clip(at.route), at.route.String()
		at.indexed = p.info.Index.RangeIndexed(at.route)
	}
	if p.paths != nil && !p.again {
		p.paths[e] = at
	}
	return at
}

// with returns the plan of the same query for other values of its parameters. It takes less than Prepare
// where nothing depends on the values but where the documents are found. The error is as that of Prepare.
func (p *planned) with(params []Parameter) (*planned, error) {
	s := p.shape
	same := func(name string, p Parameter) bool { return name == p.Name }
	if s.fixed || !slices.EqualFunc(s.names, params, same) {
		return preparePlan(s.text, params, s.bare.info)
	}
	return s.again(params)
}

// compiles tells whether there are expressions in a plan that are not in its rows.
func (p *planned) compiles() bool {
	return p.counts != nil || p.only != nil || p.order != nil && p.order.texts != nil
}

func (p *planned) compile(c *compiler) {
	if p.order != nil && p.order.texts != nil {
		p.order.texts.text = c.value(p.order.texts.x)
	}
	if p.counts != nil {
		p.counts.compile(c)
	}
	if p.only != nil {
		for i, a := range p.top.aggs {
			p.only.args[i].value = c.value(a.arg)
		}
	}
}
