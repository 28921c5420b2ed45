package plan

import (
	"context"
	"math"
	"slices"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// foldExprs is the rule "fold": it replaces parameters and constant expressions by their values. The original
// tree does not change: changed nodes, and all nodes above them, are copied. The binder's tables of names, of
// GROUP BY keys and of aggregates refer to nodes that are never copied.
func foldExprs(p *Planner) {
	for _, bl := range p.Subs {
		p.open = true
		bl.Where = flatten(p.foldAll(bl.Where))
		p.open = false
		bl.GroupBy = p.foldAll(bl.GroupBy)
		if bl.Value != nil {
			bl.Value = p.fold(bl.Value)
		}
		for i := range bl.Items {
			bl.Items[i].X = p.fold(bl.Items[i].X)
		}
		for i := range bl.Aggs {
			bl.Aggs[i].Arg = p.fold(bl.Aggs[i].Arg)
		}
		for _, st := range bl.Steps {
			if st.X != nil {
				st.X = p.fold(st.X)
			}
		}
		for _, key := range bl.Order {
			key.X = p.fold(key.X)
		}
		for _, part := range bl.Rank {
			part.Text, part.Call = p.fold(part.Text), p.fold(part.Call)
			part.Terms = p.foldAll(part.Terms)
		}
	}
}

// flatten splits conditions at AND again, since replacing a parameter may have moved an AND to the top of a
// condition.
func flatten(conditions []syntax.Expr) []syntax.Expr {
	var flat []syntax.Expr
	for _, e := range conditions {
		flat = bind.Conjuncts(flat, e)
	}
	return flat
}

// foldAll folds each expression of a list. The list itself does not change.
func (p *Planner) foldAll(list []syntax.Expr) []syntax.Expr {
	folded := slices.Clone(list)
	for i, e := range folded {
		folded[i] = p.fold(e)
	}
	return folded
}

// fold returns the expression e with each part that is constant replaced by its value.
func (p *Planner) fold(e syntax.Expr) syntax.Expr {
	if _, ok := p.Keys[e]; ok { // it is replaced by the value of the key
		return e
	}
	switch e := e.(type) {
	case *syntax.Literal, *syntax.Subquery:
		return e
	case *syntax.Parameter:
		return &syntax.Literal{TextSpan: e.TextSpan, Value: p.PinnedValue(e.Name)}
	case *syntax.RewrittenQueryPlaceholder:
		return &syntax.Literal{TextSpan: e.TextSpan, Value: jsondoc.BoolValue(true)}
	case *syntax.Ident:
		if p.Idents[e] == nil && e.Name == "NaN" {
			return &syntax.Literal{TextSpan: e.TextSpan, Value: jsondoc.NumberValue(math.NaN())}
		} else if p.Idents[e] == nil && e.Name == "Infinity" {
			return &syntax.Literal{TextSpan: e.TextSpan, Value: jsondoc.NumberValue(math.Inf(1))}
		}
		return e
	case *syntax.Call:
		if _, ok := p.Aggs[e]; ok { // its argument is folded with the block's aggregates
			return e
		}
	}
	if e == nil {
		return nil
	}
	e, constant := p.foldOperands(e)
	switch e := e.(type) {
	case *syntax.Call:
		constant = constant && p.pure(e)
	case *syntax.Logical:
		if !constant {
			return p.foldLogical(e)
		}
	case *syntax.Coalesce, *syntax.Conditional:
		if !constant {
			return foldChoice(e)
		}
	}
	if constant {
		return p.constant(e)
	}
	return e
}

// foldOperands folds the operands of an expression, and reports whether all of them are constant. If
// takesParameters allows it, operands that are parameters stay parameters, unless all other operands are
// constant.
func (p *Planner) foldOperands(e syntax.Expr) (folded syntax.Expr, constant bool) {
	constant = true
	operand := func(x syntax.Expr) syntax.Expr {
		x = p.fold(x)
		_, literal := x.(*syntax.Literal)
		constant = constant && literal
		return x
	}
	if p.open && takesParameters(e) {
		e = syntax.Map(e, func(x syntax.Expr) syntax.Expr {
			if _, ok := p.Parameter(x); ok {
				return x
			}
			return operand(x)
		})
		if !constant {
			return e, false
		}
	}
	return syntax.Map(e, operand), constant
}

// takesParameters reports whether a condition may keep query parameters as operands when it is simplified, so
// that the result can be reused with other values. It is false for a long IN list: its parameters are
// replaced by their values, since a set of constants is faster.
func takesParameters(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Binary:
		return e.Op <= syntax.Ge
	case *syntax.InExpr:
		return len(e.List) < eval.ManyIn
	case *syntax.Between:
		return true
	case *syntax.Call:
		fn, ok := lang.Lookup(e.Name)
		if !ok || e.UDF {
			return false
		}
		switch fn.Name {
		case "STARTSWITH", "ENDSWITH", "CONTAINS", "STRINGEQUALS", "ARRAY_CONTAINS":
			return true
		}
	}
	return false
}

// foldChoice replaces c ? a : b by a or b if the condition c is constant, and a ?? b by a or b if a is
// constant. It returns any other expression unchanged.
func foldChoice(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.Coalesce:
		if l, ok := e.X.(*syntax.Literal); ok && l.Value.Kind() != jsondoc.Undefined {
			return l
		} else if ok {
			return e.Y
		}
	case *syntax.Conditional:
		if l, ok := e.If.(*syntax.Literal); ok && lang.IsTrue(l.Value) {
			return e.Then
		} else if ok {
			return e.Else
		}
	}
	return e
}

// foldLogical simplifies an AND or OR by its constant operands. An operand that decides the result, such as
// false in an AND, replaces the whole expression. An operand that has no effect, such as true in an AND, is
// dropped.
func (p *Planner) foldLogical(e *syntax.Logical) syntax.Expr {
	neutral := e.Op == syntax.And
	var left []syntax.Expr
	for _, term := range e.Terms {
		l, ok := term.(*syntax.Literal)
		switch {
		case !ok || l.Value.Kind() != jsondoc.Bool:
			left = append(left, term)
		case l.Value.Bool() != neutral:
			return l
		}
	}
	if len(left) == len(e.Terms) {
		return e
	}
	if len(left) == 1 && p.boolean(left[0]) {
		return left[0]
	}
	if len(left) == 1 {
		left = append(left, &syntax.Literal{Value: jsondoc.BoolValue(neutral)})
	}
	return &syntax.Logical{TextSpan: e.TextSpan, Op: e.Op, Terms: left}
}

// boolean reports whether the value of an expression is always true, false or undefined, so that AND true
// does not change it.
func (p *Planner) boolean(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Logical, *syntax.Between, *syntax.InExpr, *syntax.Like:
		return true
	case *syntax.Unary:
		return e.Op == syntax.Not
	case *syntax.Binary:
		return e.Op <= syntax.Ge
	case *syntax.Subquery:
		return e.Kind == syntax.Exists
	}
	return false
}

// pure reports whether a call always returns the same value.
func (p *Planner) pure(c *syntax.Call) bool {
	f, ok := lang.Lookup(c.Name)
	return !c.UDF && ok && !f.Volatile && f.Class == lang.ClassScalar && f.Fn != nil
}

// constant evaluates an expression without names. If that is too expensive before the query runs, it returns
// the expression unchanged: a run has its own time limit.
func (p *Planner) constant(e syntax.Expr) syntax.Expr {
	f := eval.NewFrame(eval.NewRun(context.Background(), eval.FrameSettings{Planar: p.Info.Geometry},
		eval.Env{}),
		eval.FrameSettings{})
	if p.folding.Looks == 0 {
		p.folding = lang.ResourceLimiter{Looks: lang.MaxFolding, Left: lang.LookEvery}
	}
	f.Run.ResourceLimiter = p.folding
	v := p.compiler().Value(e)(f).Clone()
	if p.folding = f.Run.ResourceLimiter; p.folding.Err != nil {
		p.folding.Looks, p.folding.Retained = 1, 0
		return e
	}
	return &syntax.Literal{TextSpan: e.Extent(), Value: v}
}

// FoldConstants returns an expression with its constant parts replaced by their values. The binder calls
// it while it still resolves the names of the query.
func FoldConstants(b *bind.Binder, e syntax.Expr) syntax.Expr {
	p := &Planner{Binder: b, Plan: &Plan{}}
	return p.fold(e)
}
