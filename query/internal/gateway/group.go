package gateway

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// refusedComposition is the error message for a query whose aggregates a client cannot merge.
const refusedComposition = "Compositions of aggregates and other expressions are not allowed."

// groupPlan makes the plan for aggregates and GROUP BY. Each range returns partial results of all its
// groups, since the client knows only after merging them which groups make a row.
func (g *planBuilder) groupPlan() error {
	q := *g.q
	q.Offset, q.Limit = nil, nil
	switch {
	case g.top.Limit >= 0:
		g.takeLimit()
	case g.top.Top >= 0:
		g.takeTop()
	}
	if g.q.Select.Distinct {
		g.need(featureDistinct)
		g.info.DistinctType = "Unordered"
	}
	payload, err := g.partialPayload()
	if err != nil {
		return err
	}
	s := &syntax.SelectClause{Distinct: g.q.Select.Distinct}
	switch {
	case len(q.GroupBy) > 0 && q.OrderBy != nil && len(g.top.Aggs) == 0:
		g.orderedGroups(s, &q, payload)
	case len(q.GroupBy) > 0:
		s.Items = []*syntax.SelectItem{as(g.groupByItems(), "groupByItems"), as(payload, "payload")}
	case g.info.HasSelectValue:
		s.Value = payload
	default:
		s.Items = []*syntax.SelectItem{as(payload, "payload")}
	}
	q.Select = s
	g.rewritten(&q)
	return nil
}

// groupByItems returns the expression by which each range returns the values of the GROUP BY keys: an array
// with one element, {"item": value}, for each key. It also adds the texts of the keys to the plan and
// requires that the client supports GROUP BY.
func (g *planBuilder) groupByItems() syntax.Expr {
	g.need(featureGroupBy)
	var keys []syntax.Expr
	for _, key := range g.q.GroupBy {
		g.info.GroupByExpressions = append(g.info.GroupByExpressions, syntax.PrintExpr(key))
		keys = append(keys, item(key))
	}
	return &syntax.ArrayLiteral{Elems: keys}
}

// orderedGroups makes the plan for ordered groups without aggregates, which clients merge like the rows of
// any ORDER BY. It is not for queries with aggregates: there each range returns its groups in order, and
// clients collect them in the order in which they arrive.
func (g *planBuilder) orderedGroups(s *syntax.SelectClause, q *syntax.QueryTree, payload syntax.Expr) {
	s.Distinct = false
	var defined []syntax.Expr
	if path, _ := g.enterItem(); path != nil {
		defined = append(defined, callOf("IS_DEFINED", path))
	}
	*q = syntax.QueryTree{From: g.q.From, Where: g.resumable(g.q.Where, defined), GroupBy: g.q.GroupBy,
		OrderBy: g.q.OrderBy}
	s.Items = g.ordered(g.orderItems(), object(bind.SelectProperty{Name: "groupByItems", X: g.groupByItems()},
		bind.SelectProperty{Name: "payload", X: g.inItem(payload)}))
}

// partialPayload returns the row of a group, with partial aggregates in place of their values.
func (g *planBuilder) partialPayload() (syntax.Expr, error) {
	switch n := len(g.top.Aggs); {
	case n > 1:
		g.need(featureNonValue, featureMultipleAggregates)
	case n == 1 && g.top.Value != nil:
		g.need(featureAggregate)
	case n == 1:
		g.need(featureNonValue)
	}
	if v := g.top.Value; v != nil {
		if !g.aggregated(v) {
			return v, nil
		}
		name, parts, err := g.partsOf(v)
		if err != nil {
			return nil, err
		}
		g.info.Aggregates = []string{name}
		return &syntax.ArrayLiteral{Elems: []syntax.Expr{parts}}, nil
	}
	var row []bind.SelectProperty
	for _, it := range g.top.Items {
		g.info.GroupByAliases = append(g.info.GroupByAliases, it.Name)
		g.info.GroupByAliasToAggregateType[it.Name] = nil
		x := it.X
		if g.aggregated(x) {
			name, parts, err := g.partsOf(x)
			if err != nil {
				return nil, err
			}
			g.info.GroupByAliasToAggregateType[it.Name], x = &name, parts
		}
		row = append(row, bind.SelectProperty{Name: it.Name, X: x})
	}
	return object(row...), nil
}

// aggregated reports whether an expression contains an aggregate over the rows of the query itself, not of a
// subquery.
func (g *planBuilder) aggregated(e syntax.Expr) (found bool) {
	syntax.Walk(e, func(n syntax.Node) bool {
		c, ok := n.(*syntax.Call)
		found = found || ok && g.Aggs[c].Block == g.of
		return !found
	})
	return found
}

// partsOf returns the partial result of an aggregate, from which a client computes the result over all
// ranges. name is the aggregate's name in plans.
func (g *planBuilder) partsOf(e syntax.Expr) (name string, parts syntax.Expr, err error) {
	c, ok := e.(*syntax.Call)
	if !ok || g.Aggs[c].Block != g.of {
		return "", nil, queryerror.Plain(refusedComposition)
	}
	arg := c.Args[0]
	counted := callOf("COUNT", arg)
	f, _ := lang.Lookup(c.Name)
	switch f.Name {
	case "AVG":
		return "Average", item(object(bind.SelectProperty{Name: "sum", X: callOf("SUM", arg)},
			bind.SelectProperty{Name: "count", X: counted})), nil
	case "MIN":
		return "Min", twoItems(c, object(bind.SelectProperty{Name: "min", X: c},
			bind.SelectProperty{Name: "count",
				X: counted})), nil
	case "MAX":
		return "Max", twoItems(c, object(bind.SelectProperty{Name: "max", X: c},
			bind.SelectProperty{Name: "count",
				X: counted})), nil
	case "SUM":
		name = "Sum"
	case "COUNT":
		name = "Count"
	case "COUNTIF":
		g.need(featureCountIf)
		name = "CountIf"
	case "MAKELIST":
		g.need(featureListAndSet)
		name = "MakeList"
	case "MAKESET":
		g.need(featureListAndSet)
		name = "MakeSet"
	}
	return name, item(c), nil
}

func twoItems(x, y syntax.Expr) syntax.Expr {
	return object(bind.SelectProperty{Name: "item", X: x}, bind.SelectProperty{Name: "item2", X: y})
}

// countDistinct makes the plan for SELECT COUNT(1) FROM (SELECT DISTINCT ...), in which clients count the
// distinct rows. It returns false for all other queries.
func (g *planBuilder) countDistinct() bool {
	inner := g.top.Derived()
	if inner == nil || !inner.Distinct || inner.Grouped || inner.Derived() != nil || g.q.Select.Distinct {
		return false
	}
	alias, ok := g.countsAll()
	if !ok {
		return false
	}
	g.need(featureDistinct, featureDCount)
	g.info.DistinctType = "Unordered"
	g.info.DCountInfo = &dcountInfo{Alias: alias}
	g.rewritten(g.q.From[0].Sub)
	return true
}

// countsAll reports whether the query has one source and only counts its rows. alias is the alias of the
// count.
func (g *planBuilder) countsAll() (alias string, ok bool) {
	x := g.top.Value
	if x == nil {
		if len(g.top.Items) != 1 {
			return "", false
		}
		alias, x = g.top.Items[0].Name, g.top.Items[0].X
	}
	c, _ := x.(*syntax.Call)
	if c == nil || g.Aggs[c].Block != g.of || g.top.Aggs[0].Name != "COUNT" || len(g.top.Steps) != 1 ||
		g.q.From[0].In {
		return "", false
	}
	if g.q.Where != nil || len(g.q.GroupBy) > 0 || g.top.Top >= 0 || g.top.Limit >= 0 {
		return "", false
	}
	switch arg := c.Args[0].(type) {
	case *syntax.Literal:
		return alias, arg.Value.Kind() != jsondoc.Undefined
	case *syntax.Ident: // a row is never undefined
		return alias, g.Idents[arg] == g.top.Steps[0].Alias
	}
	return "", false
}
