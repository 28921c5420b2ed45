package gateway

import (
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// streamPlan makes the plan for a query whose rows a client returns in the order in which the ranges return
// them, without sorting, grouping or aggregating them.
func (g *planBuilder) streamPlan() {
	q, s := *g.q, *g.q.Select
	q.Select = &s
	changed := false
	if s.Distinct {
		g.need(featureDistinct)
		g.info.DistinctType = "Unordered"
	}
	switch {
	case g.top.Limit >= 0 && (!g.one || s.Distinct):
		changed = true
		g.limit(&q)
	case g.top.Top >= 0:
		g.takeTop()
		if changed = s.Distinct; changed {
			s.Top = nil
		}
	}
	if changed {
		g.rewritten(&q)
	}
}

func (g *planBuilder) takeTop() {
	g.need(featureTop)
	g.info.Top = &g.top.Top
}

// takeLimit sets OFFSET and LIMIT. If the query also has a TOP, it is merged into the LIMIT, since clients
// apply TOP and LIMIT in different orders.
func (g *planBuilder) takeLimit() {
	g.need(featureOffsetLimit)
	taken := g.top.Limit
	if g.top.Top >= 0 {
		taken = min(taken, g.top.Top)
	}
	g.info.Offset, g.info.Limit = &g.top.Offset, &taken
}

// limit sets OFFSET and LIMIT of the client, and limits each range to OFFSET+LIMIT rows, which suffice
// even if all rows come from one range. It does not limit the ranges of a DISTINCT query, since a client
// drops duplicates of different ranges, or if the number is too large.
func (g *planBuilder) limit(q *syntax.QueryTree) {
	g.takeLimit()
	q.Select.Top = nil
	most := *g.info.Offset + *g.info.Limit
	if q.Select.Distinct || most > bind.MaxCount {
		q.Offset, q.Limit = nil, nil
		return
	}
	q.Offset, q.Limit = count(0), count(most)
}

func count(n int64) *syntax.RowCountOperand {
	return &syntax.RowCountOperand{Value: lang.IntegerValue(n)}
}

// orderPlan makes the plan for ORDER BY: rows come with their ORDER BY values.
func (g *planBuilder) orderPlan() {
	payload, defined := g.payload()
	q, s := *g.q, *g.q.Select
	q.Select = &s
	if s.Distinct {
		g.need(featureDistinct)
		g.info.DistinctType = "Unordered"
		// Cosmos DB lets a client keep only the last row if the only selected value is the only key.
		if q.Select.Value != nil && len(g.top.Order) == 1 && g.top.LeadingKeys() == 1 {
			g.info.DistinctType = "Ordered"
		}
	}
	switch {
	case g.top.Limit >= 0 && (!g.one || s.Distinct):
		g.limit(&q)
	case g.top.Top >= 0:
		g.takeTop()
	}
	top := s.Top
	if s.Distinct {
		top = nil // not every row of a range becomes a row of the result
	}
	s = syntax.SelectClause{Top: top, Items: g.ordered(g.orderItems(), payload)}
	q.Where = g.resumable(q.Where, defined)
	g.rewritten(&q)
}

// orderItems records the ORDER BY keys and returns them in the form in which ranges return them.
func (g *planBuilder) orderItems() (items []syntax.Expr) {
	if len(g.top.Order) == 1 {
		g.need(featureOrderBy)
	} else {
		g.need(featureMultipleOrderBy)
	}
	for i, key := range g.q.OrderBy.Items {
		direction := "Ascending"
		if g.top.Order[i].Desc {
			direction = "Descending"
		}
		if g.top.Order[i].Distance {
			g.need(featureNonStreaming)
			g.info.HasNonStreamingOrderBy = true
		}
		g.info.OrderBy = append(g.info.OrderBy, direction)
		g.info.OrderByExpressions = append(g.info.OrderByExpressions, syntax.PrintExpr(key.X))
		items = append(items, item(key.X))
	}
	return items
}

// ordered returns the select list for an ORDER BY query whose rows the client merges: the _rid, the ORDER BY
// values (items) as orderByItems, and the row itself as payload.
func (g *planBuilder) ordered(items []syntax.Expr, payload syntax.Expr) []*syntax.SelectItem {
	return []*syntax.SelectItem{g.itemRID(), as(&syntax.ArrayLiteral{Elems: items}, "orderByItems"),
		as(payload, "payload")}
}

// itemRID returns the _rid of the item, which is the first source.
func (g *planBuilder) itemRID() *syntax.SelectItem {
	first := g.q.From[0]
	x := first.Path
	if first.Alias != "" {
		x = &syntax.Ident{Name: first.Alias}
	}
	return &syntax.SelectItem{X: &syntax.MemberExpr{X: x, Name: "_rid"}}
}

// resumable joins by AND a condition (which may be nil), the placeholder of the filter by which a client
// resumes the query, and the conditions in defined.
func (g *planBuilder) resumable(where syntax.Expr, defined []syntax.Expr) syntax.Expr {
	return conjunction(where, append([]syntax.Expr{&syntax.RewrittenQueryPlaceholder{Name: syntax.OrderByFilter}},
		defined...))
}

// conjunction joins a condition, which may be nil, and more conditions by AND. It returns nil if there are
// none.
func conjunction(where syntax.Expr, more []syntax.Expr) syntax.Expr {
	var terms []syntax.Expr
	if where != nil {
		terms = append(terms, where)
	}
	switch terms = append(terms, more...); len(terms) {
	case 0:
		return nil
	case 1:
		return terms[0]
	}
	return &syntax.Logical{Op: syntax.And, Terms: terms}
}

// payload returns the expression that a rewritten query returns as the result of each row, and the
// expressions that must be defined for the row to exist. It changes the FROM of the query so that its
// first source is the item itself.
func (g *planBuilder) payload() (payload syntax.Expr, defined []syntax.Expr) {
	sel := g.q.Select
	alias := g.top.Steps[len(g.top.Steps)-1].Alias
	star := &syntax.Ident{Name: alias.Name} // the expression that SELECT * stands for
	switch {
	case sel.Value != nil:
		payload = sel.Value
	case sel.Star == nil:
		payload = object(g.top.Items...)
	default:
		payload = star
	}
	if path, was := g.enterItem(); path != nil {
		defined = append(defined, callOf("IS_DEFINED", path))
		if payload == star && alias == was {
			payload = path
		} else {
			payload = g.inItem(payload)
		}
	}
	if sel.Value != nil {
		defined = append(defined, callOf("IS_DEFINED", payload))
	}
	return payload, defined
}

// enterItem replaces a first source that is a part of the item, as in FROM c.a x, by the item itself, since
// rows are merged by the _rid of the item. The name of the part is replaced by the path to the part: in the
// query by enterItem, in other expressions by inItem. enterItem returns that path and the alias that the
// name had. The path is nil if the first source is already the item, or consists of elements of an array,
// which cannot be ordered by.
func (g *planBuilder) enterItem() (path syntax.Expr, was *bind.FromAlias) {
	root, steps, _ := syntax.PathOf(g.q.From[0].Path)
	if len(steps) == 0 || g.q.From[0].In {
		return nil, nil
	}
	was = g.top.Steps[1].Alias // the part of the item; the item itself has no name yet
	name := root.Name
	for g.binds(name, was) {
		name += "_"
	}
	path = syntax.RewriteExpr(g.q.From[0].Path, func(e syntax.Expr) syntax.Expr {
		if e == syntax.Expr(root) {
			return &syntax.Ident{TextSpan: root.TextSpan, Name: name}
		}
		return e
	})
	g.part = func(e syntax.Expr) syntax.Expr {
		if id, ok := e.(*syntax.Ident); ok && g.Idents[id] == was {
			return path
		}
		return e
	}
	g.q = syntax.RewriteQuery(g.q, g.part)
	g.q.From[0] = &syntax.FromSource{Path: &syntax.Ident{Name: name}}
	return path, was
}

// inItem replaces in an expression the name of the first source by its path from the item, if enterItem has
// done so in the query: for FROM c.a x it turns x.b into c.a.b.
func (g *planBuilder) inItem(e syntax.Expr) syntax.Expr {
	if g.part == nil {
		return e
	}
	return syntax.RewriteExpr(e, g.part)
}

// binds reports whether a source of the query has the name. It ignores the source that is passed as but.
func (g *planBuilder) binds(name string, but *bind.FromAlias) bool {
	for _, bl := range g.Subs {
		for _, st := range bl.Steps {
			if st.Alias != nil && st.Alias != but && st.Alias.Name == name {
				return true
			}
		}
	}
	return false
}

// Constructors of the parts of rewritten queries.

func as(x syntax.Expr, alias string) *syntax.SelectItem {
	return &syntax.SelectItem{X: x, Alias: alias, HasAlias: true}
}

func callOf(name string, args ...syntax.Expr) *syntax.Call {
	return &syntax.Call{Name: name, Args: args}
}

func object(fields ...bind.SelectProperty) *syntax.ObjectLiteral {
	o := &syntax.ObjectLiteral{}
	for _, f := range fields {
		o.Keys, o.Values = append(o.Keys, f.Name), append(o.Values, f.X)
	}
	return o
}

// item returns {"item": x}, the form of all values that are merged.
func item(x syntax.Expr) syntax.Expr { return object(bind.SelectProperty{Name: "item", X: x}) }
