package syntax

import "slices"

// RewriteQuery returns a copy of a query in which each expression is replaced by the result of fn. fn is
// called for the operands of an expression before the expression itself, and also inside subqueries. The
// call of ORDER BY RANK and the escape character of LIKE are not replaced. The query itself is not changed.
// The copy shares with it the expressions in which nothing was replaced.
func RewriteQuery(q *QueryTree, fn func(Expr) Expr) *QueryTree {
	c := *q
	if q.Select != nil {
		c.Select = q.Select.rewrite(fn)
	}
	c.From = make([]*FromSource, len(q.From))
	for i, src := range q.From {
		made := *src
		if made.Path = RewriteExpr(src.Path, fn); src.Sub != nil {
			made.Sub = RewriteQuery(src.Sub, fn)
		}
		c.From[i] = &made
	}
	c.Where = RewriteExpr(q.Where, fn)
	c.GroupBy = slices.Clone(q.GroupBy)
	for i, key := range q.GroupBy {
		c.GroupBy[i] = RewriteExpr(key, fn)
	}
	if q.OrderBy != nil {
		c.OrderBy = q.OrderBy.rewrite(fn)
	}
	return &c
}

func (s *SelectClause) rewrite(fn func(Expr) Expr) *SelectClause {
	c := *s
	c.Value, c.Items = RewriteExpr(s.Value, fn), slices.Clone(s.Items)
	for i, item := range s.Items {
		made := *item
		made.X = RewriteExpr(item.X, fn)
		c.Items[i] = &made
	}
	return &c
}

func (o *OrderBy) rewrite(fn func(Expr) Expr) *OrderBy {
	c := *o
	c.Items = slices.Clone(o.Items)
	for i, item := range o.Items {
		made := *item
		made.X = RewriteExpr(item.X, fn)
		c.Items[i] = &made
	}
	if o.Rank != nil {
		c.Rank = Map(o.Rank, func(e Expr) Expr { return RewriteExpr(e, fn) }).(*Call)
	}
	return &c
}

// RewriteExpr returns an expression in which each expression is replaced by the result of fn, the operands of
// an expression before the expression itself. e is not changed. RewriteExpr returns e itself if nothing was
// replaced, and nil for nil.
func RewriteExpr(e Expr, fn func(Expr) Expr) Expr {
	switch n := e.(type) {
	case nil:
		return nil
	case *Subquery:
		c := *n
		c.Query = RewriteQuery(n.Query, fn)
		e = &c
	default:
		e = Map(e, func(x Expr) Expr { return RewriteExpr(x, fn) })
	}
	return fn(e)
}

// eachOperandPointer calls fn with a pointer to each operand of an expression.
func eachOperandPointer(e Expr, fn func(*Expr)) {
	one := func(list ...*Expr) {
		for _, e := range list {
			fn(e)
		}
	}
	all := func(list []Expr) {
		for i := range list {
			fn(&list[i])
		}
	}
	switch n := e.(type) {
	case *MemberExpr:
		one(&n.X)
	case *IndexExpr:
		one(&n.X, &n.I)
	case *Unary:
		one(&n.X)
	case *Binary:
		one(&n.X, &n.Y)
	case *Logical:
		all(n.Terms)
	case *Coalesce:
		one(&n.X, &n.Y)
	case *Conditional:
		one(&n.If, &n.Then, &n.Else)
	case *Between:
		one(&n.X, &n.Low, &n.High)
	case *InExpr:
		one(&n.X)
		all(n.List)
	case *Like:
		one(&n.X, &n.Pattern)
	case *Call:
		all(n.Args)
	case *ArrayLiteral:
		all(n.Elems)
	case *ObjectLiteral:
		all(n.Values)
	}
}

// Map returns an expression whose direct operands are the results of fn for those of e. It returns e itself
// if they are the same, and otherwise a copy. Expressions inside a subquery are not operands.
func Map(e Expr, fn func(Expr) Expr) Expr {
	var room [4]Expr
	made, changed := room[:0], false
	eachOperandPointer(e, func(x *Expr) {
		y := fn(*x)
		made, changed = append(made, y), changed || y != *x
	})
	if !changed {
		return e
	}
	e = shallowCopy(e)
	i := 0
	eachOperandPointer(e, func(x *Expr) {
		*x = made[i]
		i++
	})
	return e
}

// shallowCopy copies a node and its list of operands.
func shallowCopy(e Expr) Expr {
	switch n := e.(type) {
	case *MemberExpr:
		c := *n
		return &c
	case *IndexExpr:
		c := *n
		return &c
	case *Unary:
		c := *n
		return &c
	case *Binary:
		c := *n
		return &c
	case *Logical:
		c := *n
		c.Terms = slices.Clone(c.Terms)
		return &c
	case *Coalesce:
		c := *n
		return &c
	case *Conditional:
		c := *n
		return &c
	case *Between:
		c := *n
		return &c
	case *InExpr:
		c := *n
		c.List = slices.Clone(c.List)
		return &c
	case *Like:
		c := *n
		return &c
	case *Call:
		c := *n
		c.Args = slices.Clone(c.Args)
		return &c
	case *ArrayLiteral:
		c := *n
		c.Elems = slices.Clone(c.Elems)
		return &c
	case *ObjectLiteral:
		c := *n
		c.Values = slices.Clone(c.Values)
		return &c
	}
	return e
}
