package syntax

import "slices"

// Replace calls fn for every expression in n, the parts of an expression before the expression itself, down
// into subqueries, and puts what fn returns in its place. The tree is changed. What stays is n itself, even
// where it is an expression, the call of ORDER BY RANK and the escape character of LIKE.
func Replace(n Node, fn func(Expr) Expr) {
	slots(n, func(e *Expr) {
		Replace(*e, fn)
		*e = fn(*e)
	})
	each(n, func(child Node) {
		switch child := child.(type) {
		case *Query, *Select, *SelectItem, *Source, *OrderBy, *SortItem:
			Replace(child, fn)
		}
	})
	if o, ok := n.(*OrderBy); ok && o.Rank != nil {
		Replace(o.Rank, fn)
	}
}

// slots calls fn for the places of the expressions directly below n.
func slots(n Node, fn func(*Expr)) {
	one := func(list ...*Expr) {
		for _, e := range list {
			if *e != nil {
				fn(e)
			}
		}
	}
	all := func(list []Expr) {
		for i := range list {
			fn(&list[i])
		}
	}
	switch n := n.(type) {
	case *Query:
		one(&n.Where)
		all(n.GroupBy)
	case *Select:
		one(&n.Value)
	case *SelectItem:
		one(&n.X)
	case *Source:
		one(&n.Path)
	case *SortItem:
		one(&n.X)
	case *Member:
		one(&n.X)
	case *Index:
		one(&n.X, &n.I)
	case *Unary:
		one(&n.X)
	case *Binary:
		one(&n.X, &n.Y)
	case *Logical:
		all(n.Terms)
	case *Coalesce:
		one(&n.X, &n.Y)
	case *Cond:
		one(&n.If, &n.Then, &n.Else)
	case *Between:
		one(&n.X, &n.Low, &n.High)
	case *In:
		one(&n.X)
		all(n.List)
	case *Like:
		one(&n.X, &n.Pattern)
	case *Call:
		all(n.Args)
	case *ArrayLit:
		all(n.Elems)
	case *ObjectLit:
		all(n.Values)
	}
}

// Map returns the expression whose direct operands are what fn makes of those of e: e itself where they are
// the same, else a copy of it. Nothing below a subquery is an operand.
func Map(e Expr, fn func(Expr) Expr) Expr {
	var room [4]Expr
	made, changed := room[:0], false
	slots(e, func(x *Expr) {
		y := fn(*x)
		made, changed = append(made, y), changed || y != *x
	})
	if !changed {
		return e
	}
	e = shallow(e)
	i := 0
	slots(e, func(x *Expr) {
		*x = made[i]
		i++
	})
	return e
}

// shallow copies a node with operands, and the list of them.
func shallow(e Expr) Expr {
	switch n := e.(type) {
	case *Member:
		c := *n
		return &c
	case *Index:
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
	case *Cond:
		c := *n
		return &c
	case *Between:
		c := *n
		return &c
	case *In:
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
	case *ArrayLit:
		c := *n
		c.Elems = slices.Clone(c.Elems)
		return &c
	case *ObjectLit:
		c := *n
		c.Values = slices.Clone(c.Values)
		return &c
	}
	return e
}
