package bind

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// enclosingClause says in which part of the query an expression stands.
type enclosingClause struct {
	block  *QueryBlock
	scope  *nameScope
	clause string       // WHERE, GROUP BY, SELECT, ORDER BY, RANK
	agg    *syntax.Call // the aggregate whose argument the expression is in
	rank   *syntax.Call // the call that is the whole of ORDER BY RANK
}

// expr resolves the names in an expression, checks its calls and binds its subqueries.
func (b *Binder) expr(e syntax.Expr, at *enclosingClause) {
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Ident:
			b.ident(n, at)
		case *syntax.Call:
			return b.call(n, at)
		case *syntax.IndexExpr:
			b.memberIndex(n)
		case *syntax.ObjectLiteral:
			b.uniqueKeys(n)
		case *syntax.Subquery:
			b.subquery(n, at)
			return false
		}
		return true
	})
}

// keyOfMany is the error message for a GROUP BY key that contains an aggregate or a subquery.
const keyOfMany = "Cannot use an aggregate or a subquery in an expression used for the group by list of a GROUP BY clause."

// subquery binds a subquery used as an expression. A scalar subquery, whose value is that of its row, is
// refused if it can have several rows.
func (b *Binder) subquery(sub *syntax.Subquery, at *enclosingClause) {
	var where syntax.Node = sub
	if sub.Kind == syntax.Scalar {
		where = sub.Query
	}
	if at.agg == nil && at.clause == "GROUP BY" {
		b.failCode(where, queryerror.CodeKeyOfMany, keyOfMany)
	}
	bl := b.Block(sub.Query, at.block, &nameScope{outer: at.scope, inner: true}, true)
	if sub.Kind == syntax.Scalar && bl.multiRow() {
		b.failCode(where, queryerror.CodeManyRows,
			"The cardinality of a scalar subquery result set cannot be greater than one.")
	}
}

// scoreOutsideRank refuses a FullTextScore outside ORDER BY RANK. Like Cosmos DB, it accepts one in SELECT
// and WHERE if the query has an ORDER BY RANK.
func (b *Binder) scoreOutsideRank(c *syntax.Call, at *enclosingClause) {
	if at.block.outer == nil && at.block.ranked && (at.clause == "SELECT" || at.clause == "WHERE") {
		b.failCode(c, queryerror.CodeScoreOutsideRank,
			"The FullTextScore function is only allowed in the ORDER BY RANK clause.")
		return
	}
	b.failCode(c, queryerror.CodeScoreWithoutRank,
		"The FullTextScore function is only allowed in the SELECT, WHERE and ORDER BY RANK clauses of a query that "+
			"has an ORDER BY RANK.")
}

// memberIndex refuses x[i] unless i is a number or string literal, or a parameter with such a value. It
// replaces a parameter by a literal, so that x[i] is a path.
func (b *Binder) memberIndex(x *syntax.IndexExpr) {
	i := x.I
	if minus, ok := i.(*syntax.Unary); ok && minus.Op == syntax.Neg {
		i = minus.X
	}
	var v jsondoc.Value
	switch i := i.(type) {
	case *syntax.Literal:
		v = i.Value
	case *syntax.Parameter:
		if v = b.PinnedValue(i.Name); x.I == i {
			x.I = &syntax.Literal{TextSpan: i.TextSpan, Value: v, Name: i.Name}
		}
	}
	if k := v.Kind(); k != jsondoc.Number && k != jsondoc.String {
		b.failCode(x, queryerror.CodeMemberIndex,
			"The specified query includes 'member indexer' which is currently not supported.")
	}
}

// uniqueKeys reports an error if an object literal has two properties of the same name.
func (b *Binder) uniqueKeys(o *syntax.ObjectLiteral) {
	seen := make(map[string]bool, len(o.Keys))
	for i, key := range o.Keys {
		if seen[key] {
			b.sameName(o.KeySpans[i], key)
		}
		seen[key] = true
	}
}

func (b *Binder) sameName(at syntax.TextSpan, name string) {
	b.fail(at, &queryerror.Error{Code: queryerror.CodeSameName,
		Message: fmt.Sprintf("Object creation error, property name '%s' specified more than once.", name)})
}

func (b *Binder) ident(id *syntax.Ident, at *enclosingClause) {
	if a := at.scope.find(id.Name); a != nil {
		b.Idents[id] = a
	} else if id.Name != "NaN" && id.Name != "Infinity" {
		b.failCode(id, queryerror.CodeUnresolved, "Identifier '%s' could not be resolved.", id.Name)
	}
}

// nested records an error for each aggregate inside an aggregate.
func (b *Binder) nested(outer *syntax.Call) {
	for _, e := range b.errs {
		if e.Code == queryerror.CodeNestedAggregate && e.Start == outer.Start {
			return
		}
	}
	b.failCode(outer, queryerror.CodeNestedAggregate,
		"Cannot perform an aggregate function on an expression containing an aggregate or a subquery.")
}

// call checks a call and reports whether the caller still has to bind its arguments.
func (b *Binder) call(c *syntax.Call, at *enclosingClause) bool {
	if c.UDF {
		if b.UDFs++; b.UDFs == MaxUDFs+1 {
			b.failCode(c, queryerror.CodeTooManyUDFs,
				"The query exceeds the maximum number of %d calls of user defined functions.", MaxUDFs)
		}
		return true
	}
	f, ok := lang.Lookup(c.Name)
	if !ok || f.Name == rankFusion && (at.clause != "RANK" || c != at.rank) {
		b.fail(c.NameSpan, &queryerror.Error{Code: queryerror.CodeUnknownFunction,
			Message: fmt.Sprintf("'%s' is not a recognized built-in function name.", c.Name)})
		return true
	}
	if !f.Accepts(len(c.Args)) {
		b.failCode(c, queryerror.CodeArguments, "The %s function requires %s argument(s).", c.Name, arity(f))
		return true
	}
	switch {
	case f.Class == lang.ClassAggregate:
		b.aggregate(c, f, at)
		return false
	case f.Class == lang.ClassRank && at.clause != "RANK":
		b.scoreOutsideRank(c, at)
	case f.Class == lang.ClassRank && f.Name == fullTextScore:
		b.scoreTerms(c)
	}
	if check := b.argumentChecks(f.Name); check != nil {
		check(c)
	}
	return true
}

func arity(f *lang.Builtin) string {
	switch {
	case f.Max < 0:
		return fmt.Sprintf("at least %d", f.Min)
	case f.Min == f.Max:
		return strconv.Itoa(f.Min)
	}
	return fmt.Sprintf("%d to %d", f.Min, f.Max)
}

// aggregate binds a call of an aggregate function.
func (b *Binder) aggregate(c *syntax.Call, f *lang.Builtin, at *enclosingClause) {
	switch {
	case at.agg != nil:
		b.nested(at.agg)
	case at.clause == "SELECT":
		id := len(b.Aggs)
		b.Aggs[c] = aggregateRef{id, at.block}
		at.block.Aggs = append(at.block.Aggs, AggregateCall{Id: id, Name: f.Name, Arg: c.Args[0]})
	case at.clause == "ORDER BY", at.clause == "RANK":
		b.unsortable(c)
		return
	case at.clause == "WHERE":
		b.failCode(c, queryerror.CodeAggregateInWhere, "Aggregates are not allowed in the WHERE clause.")
	default:
		b.failCode(c, queryerror.CodeKeyOfMany, keyOfMany)
	}
	inside := *at
	inside.agg = c
	for _, arg := range c.Args {
		b.expr(arg, &inside)
	}
}

// selection binds the SELECT clause. If the query has aggregates or GROUP BY, it checks that each row
// depends only on the group.
func (b *Binder) selection(bl *QueryBlock, s *nameScope, q *syntax.QueryTree) {
	sel := q.Select
	at := &enclosingClause{block: bl, scope: s, clause: "SELECT"}
	switch {
	case sel.Star != nil:
		b.checkStar(bl, q)
		bl.Star = true
		return
	case sel.Value != nil:
		bl.Value = sel.Value
		b.expr(sel.Value, at)
	default:
		b.selectList(bl, sel.Items, at)
	}
	bl.Grouped = bl.Grouped || len(bl.Aggs) > 0
	if !bl.Grouped || len(b.errs) > 0 { // checked only if the query has no other errors
		return
	}
	keys := keysOf(bl)
	if sel.Value != nil {
		b.ofGroup(bl, sel.Value, keys)
	}
	for _, item := range sel.Items {
		b.ofGroup(bl, item.X, keys)
	}
}

func (b *Binder) checkStar(bl *QueryBlock, q *syntax.QueryTree) {
	switch star := q.Select.Star; {
	case len(q.GroupBy) > 0:
		b.failCode(star, queryerror.CodeStarWithGroupBy, "'SELECT *' is not allowed with GROUP BY.")
	case len(q.From) == 0:
		b.failCode(star, queryerror.CodeStarWithoutFrom,
			"Syntax error, 'SELECT *' is not valid if FROM clause is omitted.")
	case len(q.From) > 1:
		b.failCode(star, queryerror.CodeStarWithJoin, "'SELECT *' is only valid with a single input set.")
	}
}

// selectList binds the items of a select list.
func (b *Binder) selectList(bl *QueryBlock, items []*syntax.SelectItem, at *enclosingClause) {
	unnamed := 0
	source := func(id *syntax.Ident) bool { return b.Idents[id] != nil }
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		b.expr(item.X, at)
		name := columnName(item, source, &unnamed)
		if seen[name] {
			b.sameName(nameSpan(item, name), name)
		}
		seen[name] = true
		bl.Items = append(bl.Items, SelectProperty{name, item.X})
	}
}

// nameSpan returns the position of the name of an item in a select list.
func nameSpan(item *syntax.SelectItem, name string) syntax.TextSpan {
	if item.HasAlias {
		return item.AliasSpan
	}
	at := item.TextSpan
	if _, ok := item.X.(*syntax.MemberExpr); ok {
		at.Start = at.End - utf8.RuneCountInString(name)
	}
	return at
}

// namedByParameter reports whether the last property name of a path is the value of a parameter.
func namedByParameter(e syntax.Expr) bool {
	at, ok := e.(*syntax.IndexExpr)
	if !ok {
		return false
	}
	l, ok := at.I.(*syntax.Literal)
	return ok && l.Name != ""
}

// Parameter returns the index of a parameter's value. ok is false if the expression is not a parameter or
// the parameter has no value.
func (b *Binder) Parameter(e syntax.Expr) (i int, ok bool) {
	if param, is := e.(*syntax.Parameter); is {
		i, ok = b.Params[param.Name]
	}
	return i, ok
}

// AllConstant reports whether all expressions of a list are literals.
func AllConstant(list []syntax.Expr) bool {
	return !slices.ContainsFunc(list, func(e syntax.Expr) bool {
		_, ok := e.(*syntax.Literal)
		return !ok
	})
}
