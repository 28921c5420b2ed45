package syntax

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
