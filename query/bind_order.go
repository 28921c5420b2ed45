package query

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/internal/fault"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// orderBy binds ORDER BY. Whether an index serves it is asked later.
func (b *binder) orderBy(bl *block, s *scope, q *syntax.Query) {
	switch {
	case q.OrderBy == nil:
		return
	case q.OrderBy.Rank != nil:
		b.orderByRank(bl, s, q)
		return
	}
	for _, item := range q.OrderBy.Items {
		b.expr(item.X, &place{block: bl, scope: s, clause: "ORDER BY"})
		key := b.orderKey(bl, item, len(q.OrderBy.Items) == 1)
		if key == nil {
			continue
		}
		if bl.order = append(bl.order, key); len(q.GroupBy) > 0 {
			b.orderOfGroups(bl, key.x)
		}
	}
}

// orderKey makes a key; single tells that it is the only one.
func (b *binder) orderKey(bl *block, item *syntax.SortItem, single bool) *orderKey {
	key := &orderKey{x: item.X, desc: item.Desc}
	if c, ok := item.X.(*syntax.Call); ok && !c.UDF {
		switch f, _ := lang.LookupBuiltin(c.Name); {
		case f == nil:
			return nil
		case f.Name == lang.VectorDistance && isVectorScore(c):
			key.distance, key.desc = true, item.Desc || !item.Asc && !b.euclidean(c)
			return key
		case f.Name == lang.VectorDistance && (item.Desc || item.Asc):
			b.failCode(item, fault.CodeVectorDirection,
				"Specifying a sorting order (ASC or DESC) with VectorDistance function is not supported. "+
					"VectorDistance will always sort in the order of most similar (first) to least similar (last).")
			return nil
		case f.Name == lang.VectorDistance && single:
			if !b.nearestTo(c) {
				b.unsortable(item.X)
				return nil
			}
			key.distance, key.desc = true, !b.euclidean(c)
			return key
		case f.Name == lang.TextScore:
			key.distance = true
			return key
		}
	}
	root, steps, ok := syntax.PathOf(item.X)
	if !ok {
		b.unsortable(item.X)
		return nil
	}
	a := b.idents[root]
	if len(bl.groupBy) > 0 { // the key is one of the groups
		return key
	}
	if sub := a.derived(); sub != nil {
		return b.derivedKey(key, a, sub, steps)
	}
	switch {
	case a == nil: // NaN, or an error that is noted already
		if root.Name == "NaN" || root.Name == "Infinity" {
			b.unsortable(item.X)
		}
	case !a.single:
		key.refused = correlated()
		return key
	case a.item && len(steps) == 0:
		b.unsortable(item.X)
	default:
		if route, _, ok := b.itemRoute(item.X); ok {
			key.route = route
		}
		return key
	}
	return nil
}

// isVectorScore tells of a VectorDistance that it is written as _VectorScore.
func isVectorScore(c *syntax.Call) bool { return strings.EqualFold(c.Name, lang.VectorScore) }

// unsortable refuses a key of ORDER BY of a query that has no other fault.
func (b *binder) unsortable(at syntax.Node) {
	if len(b.errs) > 0 {
		return
	}
	b.fail(at.Extent(), &fault.Error{Number: fault.NumberUnsupportedSort,
		Message: "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path."})
}

// derived returns the subquery in FROM whose rows a name stands for; nil where it stands for anything else.
func (a *alias) derived() *block {
	if a == nil || a.block == nil || a.level >= len(a.block.steps) {
		return nil
	}
	if st := a.block.steps[a.level]; st.kind == stepRows && st.alias == a {
		return st.sub
	}
	return nil
}

// correlated is the refusal of an ORDER BY over what FROM makes several of for an item. Cosmos DB's compiler
// makes a plan of it, and refuses the query itself.
func correlated() *fault.Error {
	return fault.Plain("Order-by over correlated collections is not supported.")
}

// nearestTo tells whether a VectorDistance is one between a path and a constant array of numbers.
func (b *binder) nearestTo(c *syntax.Call) bool {
	constant := func(e syntax.Expr) bool {
		l, ok := b.fold(b, e).(*syntax.Literal)
		ok = ok && l.Value.Kind() == doc.Array
		if ok {
			l.Value.Each(func(_ string, elem doc.Value) bool {
				ok = elem.Kind() == doc.Number
				return ok
			})
		}
		return ok
	}
	path := func(e syntax.Expr) bool {
		root, _, ok := syntax.PathOf(e)
		return ok && b.idents[root] != nil
	}
	return len(b.errs) > 0 || path(c.Args[0]) && constant(c.Args[1]) || constant(c.Args[0]) && path(c.Args[1])
}

// derivedKey makes a key of ORDER BY out of a path into the rows of a subquery in FROM: what the path is in
// the item.
func (b *binder) derivedKey(key *orderKey, a *alias, sub *block, steps []syntax.Step) *orderKey {
	x := b.inItem(sub, steps)
	switch {
	case a.level > 0 || slices.ContainsFunc(sub.steps,
		func(st *step) bool { return st.alias != nil && !st.alias.single }):
		if x == nil || !sub.container || sub.grouped || sub.distinct {
			key.refused = correlated()
			return key
		}
	case x == nil || !sub.container || sub.grouped || sub.distinct:
		b.unsortable(key.x)
		return nil
	}
	key.x = x
	if route, _, ok := b.itemRoute(x); ok {
		key.route = route
	}
	return key
}

// inItem follows a path into the rows of a block down to the item, and returns it as one from there; nil
// where the value is no part of the item, or one of several.
func (b *binder) inItem(bl *block, steps []syntax.Step) syntax.Expr {
	var x syntax.Expr
	switch {
	case bl.star:
		return b.inItemFrom(bl.steps[len(bl.steps)-1].alias, steps)
	case bl.value != nil:
		x = bl.value
	case len(steps) == 0:
		return nil
	default:
		for _, item := range bl.items {
			if item.name == steps[0].Name && !steps[0].IsIndex {
				x = item.x
			}
		}
		steps = steps[1:]
	}
	for len(steps) > 0 {
		o, ok := x.(*syntax.ObjectLit)
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
	return b.inItemFrom(b.idents[root], append(before, steps...))
}

// inItemFrom is inItem for a path from a name.
func (b *binder) inItemFrom(a *alias, steps []syntax.Step) syntax.Expr {
	if sub := a.derived(); sub != nil {
		return b.inItem(sub, steps)
	}
	if a == nil || !a.single || !a.known {
		return nil
	}
	if !a.item {
		way := make([]syntax.Step, len(a.route), len(a.route)+len(steps))
		for i, segment := range a.route {
			way[i].Name = segment.Name
		}
		a, steps = a.block.steps[0].alias, append(way, steps...)
	}
	if !a.item || len(steps) == 0 {
		return nil
	}
	root := &syntax.Ident{Name: a.name}
	b.idents[root] = a
	var x syntax.Expr = root
	for _, st := range steps {
		if st.IsIndex {
			x = &syntax.Index{X: x, I: number(int64(st.Index))}
		} else {
			x = &syntax.Member{X: x, Name: st.Name}
		}
	}
	return x
}

func number(n int64) *syntax.Literal { return &syntax.Literal{Value: lang.IntegerValue(n)} }
