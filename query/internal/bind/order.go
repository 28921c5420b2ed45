package bind

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// orderBy binds ORDER BY. It does not check whether an index provides the order.
func (b *Binder) orderBy(bl *QueryBlock, s *nameScope, q *syntax.QueryTree) {
	switch {
	case q.OrderBy == nil:
		return
	case q.OrderBy.Rank != nil:
		b.orderByRank(bl, s, q)
		return
	}
	for _, item := range q.OrderBy.Items {
		b.expr(item.X, &enclosingClause{block: bl, scope: s, clause: "ORDER BY"})
		key := b.orderKey(bl, item, len(q.OrderBy.Items) == 1)
		if key == nil {
			continue
		}
		if bl.Order = append(bl.Order, key); len(q.GroupBy) > 0 {
			b.orderOfGroups(bl, key.X)
		}
	}
}

// orderKey binds one ORDER BY key. single reports whether it is the only key.
func (b *Binder) orderKey(bl *QueryBlock, item *syntax.SortItem, single bool) *OrderKey {
	key := &OrderKey{X: item.X, Desc: item.Desc}
	if c, ok := item.X.(*syntax.Call); ok && !c.UDF {
		switch f, _ := lang.Lookup(c.Name); {
		case f == nil:
			return nil
		case f.Name == lang.VectorDistance && isVectorScore(c):
			key.Distance, key.Desc = true, item.Desc || !item.Asc && !b.Euclidean(c)
			return key
		case f.Name == lang.VectorDistance && (item.Desc || item.Asc):
			b.failCode(item, queryerror.CodeVectorDirection,
				"Specifying a sorting order (ASC or DESC) with VectorDistance function is not supported. "+
					"VectorDistance will always sort in the order of most similar (first) to least similar (last).")
			return nil
		case f.Name == lang.VectorDistance && single:
			if !b.nearestTo(c) {
				b.unsortable(item.X)
				return nil
			}
			key.Distance, key.Desc = true, !b.Euclidean(c)
			return key
		case f.Name == lang.TextScore:
			key.Distance = true
			return key
		}
	}
	root, steps, ok := syntax.PathOf(item.X)
	if !ok {
		b.unsortable(item.X)
		return nil
	}
	a := b.Idents[root]
	if len(bl.GroupBy) > 0 { // each ORDER BY key must be a GROUP BY key
		return key
	}
	if sub := a.Derived(); sub != nil {
		return b.derivedKey(key, a, sub, steps)
	}
	switch {
	case a == nil: // NaN, or an error that has been recorded
		if root.Name == "NaN" || root.Name == "Infinity" {
			b.unsortable(item.X)
		}
	case !a.single:
		key.Refused = correlated()
		return key
	case a.Item && len(steps) == 0:
		b.unsortable(item.X)
	default:
		if route, _, ok := b.ItemRoute(item.X); ok {
			key.Route = route
		}
		return key
	}
	return nil
}

// isVectorScore reports whether a call of VectorDistance is written as _VectorScore.
func isVectorScore(c *syntax.Call) bool { return strings.EqualFold(c.Name, lang.VectorScore) }

// unsortable refuses an ORDER BY key, unless the query has other errors.
func (b *Binder) unsortable(at syntax.Node) {
	if len(b.errs) > 0 {
		return
	}
	b.fail(at.Extent(), &queryerror.Error{Number: queryerror.NumberUnsupportedSort,
		Message: "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path."})
}

// Derived returns the subquery in FROM whose rows a name is bound to, or nil if the name is bound to
// anything else.
func (a *FromAlias) Derived() *QueryBlock {
	if a == nil || a.Block == nil || a.Level >= len(a.Block.Steps) {
		return nil
	}
	if st := a.Block.Steps[a.Level]; st.Kind == stepRows && st.Alias == a {
		return st.Sub
	}
	return nil
}

// correlated returns the error for an ORDER BY over a source of FROM that has several values for one item.
// Cosmos DB makes a plan for such a query, but refuses to run it.
func correlated() *queryerror.Error {
	return queryerror.Plain("Order-by over correlated collections is not supported.")
}

// nearestTo reports whether a VectorDistance is between a path and a constant array of numbers.
func (b *Binder) nearestTo(c *syntax.Call) bool {
	constant := func(e syntax.Expr) bool {
		l, ok := b.fold(b, e).(*syntax.Literal)
		ok = ok && l.Value.Kind() == jsondoc.Array
		if ok {
			l.Value.Each(func(_ string, elem jsondoc.Value) bool {
				ok = elem.Kind() == jsondoc.Number
				return ok
			})
		}
		return ok
	}
	path := func(e syntax.Expr) bool {
		root, _, ok := syntax.PathOf(e)
		return ok && b.Idents[root] != nil
	}
	return len(b.errs) > 0 || path(c.Args[0]) && constant(c.Args[1]) || constant(c.Args[0]) && path(c.Args[1])
}

// derivedKey makes an ORDER BY key from a path into the rows of a subquery in FROM. The key is the
// corresponding path in the item: in SELECT * FROM (SELECT VALUE c.a FROM c) x ORDER BY x.b it is c.a.b.
func (b *Binder) derivedKey(key *OrderKey, a *FromAlias, sub *QueryBlock, steps []syntax.PathStep) *OrderKey {
	x := b.inItem(sub, steps)
	switch {
	case a.Level > 0 || slices.ContainsFunc(sub.Steps,
		func(st *FromSource) bool { return st.Alias != nil && !st.Alias.single }):
		if x == nil || !sub.Container || sub.Grouped || sub.Distinct {
			key.Refused = correlated()
			return key
		}
	case x == nil || !sub.Container || sub.Grouped || sub.Distinct:
		b.unsortable(key.X)
		return nil
	}
	key.X = x
	if route, _, ok := b.ItemRoute(x); ok {
		key.Route = route
	}
	return key
}

// inItem returns, for a path into the rows that the block bl makes, the path by which the same value is
// reached from the stored item. It returns nil if the value is not a part of the item, or if the item can
// have several such values.
func (b *Binder) inItem(bl *QueryBlock, steps []syntax.PathStep) syntax.Expr {
	var x syntax.Expr
	switch {
	case bl.Star:
		return b.inItemFrom(bl.Steps[len(bl.Steps)-1].Alias, steps)
	case bl.Value != nil:
		x = bl.Value
	case len(steps) == 0:
		return nil
	default:
		for _, item := range bl.Items {
			if item.Name == steps[0].Name && !steps[0].IsIndex {
				x = item.X
			}
		}
		steps = steps[1:]
	}
	for len(steps) > 0 {
		o, ok := x.(*syntax.ObjectLiteral)
		if !ok {
			break
		}
		x = nil
		for i, name := range o.Keys {
			if name == steps[0].Name && !steps[0].IsIndex {
				x = o.Values[i]
			}
		}
		steps = steps[1:]
	}
	if x == nil {
		return nil
	}
	root, before, ok := syntax.PathOf(x)
	if !ok {
		return nil
	}
	return b.inItemFrom(b.Idents[root], append(before, steps...))
}

// inItemFrom translates a path that begins with a name of FROM to a path from the item, so that it can be
// evaluated on the item. a is the name, steps are the steps after it. It returns nil if the value is not a
// part of the item, or if the item can have several such values.
func (b *Binder) inItemFrom(a *FromAlias, steps []syntax.PathStep) syntax.Expr {
	if sub := a.Derived(); sub != nil {
		return b.inItem(sub, steps)
	}
	if a == nil || !a.single || !a.known {
		return nil
	}
	if !a.Item {
		way := make([]syntax.PathStep, len(a.route), len(a.route)+len(steps))
		for i, segment := range a.route {
			way[i].Name = segment.Name
		}
		a, steps = a.Block.Steps[0].Alias, append(way, steps...)
	}
	if !a.Item || len(steps) == 0 {
		return nil
	}
	root := &syntax.Ident{Name: a.Name}
	b.Idents[root] = a
	var x syntax.Expr = root
	for _, st := range steps {
		if st.IsIndex {
			x = &syntax.IndexExpr{X: x, I: Number(int64(st.Index))}
		} else {
			x = &syntax.MemberExpr{X: x, Name: st.Name}
		}
	}
	return x
}

// Number returns an integer as a literal.
func Number(n int64) *syntax.Literal { return &syntax.Literal{Value: lang.IntegerValue(n)} }
