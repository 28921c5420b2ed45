package query

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/syntax"
)

// place is where an expression stands.
type place struct {
	block  *block
	scope  *scope
	clause string       // WHERE, GROUP BY, SELECT, ORDER BY, RANK
	agg    *syntax.Call // the aggregate that it is the argument of
}

// expr resolves the names in an expression, checks its calls and binds its subqueries.
func (b *binder) expr(e syntax.Expr, at *place) {
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Ident:
			b.ident(n, at)
		case *syntax.Call:
			return b.call(n, at)
		case *syntax.Query:
			if at.agg != nil {
				b.nested(at.agg)
			} else if at.clause == "GROUP BY" {
				b.failPlain(n, "Subqueries are not allowed in the GROUP BY clause.")
			}
			b.block(n, at.block, at.scope, true)
			return false
		}
		return true
	})
}

func (b *binder) ident(id *syntax.Ident, at *place) {
	if a := at.scope.find(id.Name); a != nil {
		b.idents[id] = a
	} else if id.Name != "NaN" && id.Name != "Infinity" {
		b.failCode(id, CodeUnresolved, "Identifier '%s' could not be resolved.", id.Name)
	}
}

// nested notes the error of an aggregate in an aggregate, once for each of them.
func (b *binder) nested(outer *syntax.Call) {
	for _, e := range b.errs {
		if e.Code == CodeNestedAggregate && e.Start == outer.Start {
			return
		}
	}
	b.failCode(outer, CodeNestedAggregate,
		"Cannot perform an aggregate function on an expression containing an aggregate or a subquery.")
}

// call checks a call and tells whether its arguments have still to be looked at.
func (b *binder) call(c *syntax.Call, at *place) bool {
	if c.UDF {
		if b.calls = append(b.calls, c); len(b.calls) == maxUDFs+1 {
			b.failCode(c, CodeTooManyUDFs, "The query exceeds the maximum number of %d calls of user defined functions.", maxUDFs)
		}
		if b.info.Functions != nil && !b.info.Functions(c.Name) {
			b.fail(c.NameSpan, &Error{Message: fmt.Sprintf("The user defined function '%s' does not exist.", c.Name)})
		}
		return true
	}
	f, ok := lookupBuiltin(c.Name)
	if !ok || f.name == "RRF" && at.clause != "RANK" {
		b.fail(c.NameSpan, &Error{Code: CodeUnknownFunction,
			Message: fmt.Sprintf("'%s' is not a recognized built-in function name.", c.Name)})
		return true
	}
	if !f.accepts(len(c.Args)) {
		b.failCode(c, CodeArguments, "The %s function requires %s argument(s).", f.name, arity(f))
		return true
	}
	switch {
	case f.class == classAggregate:
		b.aggregate(c, f, at)
		return false
	case f.class == classRank && at.clause != "RANK":
		b.failCode(c, CodeScoreOutsideRank, "The FullTextScore function is only allowed in the ORDER BY RANK clause.")
	case f.name == vectorDistance:
		b.vector(c)
	}
	return true
}

func arity(f *builtin) string {
	switch {
	case f.max < 0:
		return fmt.Sprintf("at least %d", f.min)
	case f.min == f.max:
		return strconv.Itoa(f.min)
	}
	return fmt.Sprintf("%d to %d", f.min, f.max)
}

// aggregate binds a call of an aggregate function.
func (b *binder) aggregate(c *syntax.Call, f *builtin, at *place) {
	switch {
	case at.agg != nil:
		b.nested(at.agg)
	case at.clause == "SELECT":
		id := len(b.aggs)
		b.aggs[c] = aggRef{id, at.block}
		at.block.aggs = append(at.block.aggs, aggCall{id: id, name: f.name, arg: c.Args[0]})
	case at.clause == "ORDER BY", at.clause == "RANK":
		b.unsortable(c)
		return
	default:
		b.failPlain(c, fmt.Sprintf("The aggregate function %s is not allowed in the %s clause.", f.name, at.clause))
	}
	inside := *at
	inside.agg = c
	for _, arg := range c.Args {
		b.expr(arg, &inside)
	}
}

const vectorDistance = "VECTORDISTANCE"

// vector checks the options of VectorDistance that are constant.
func (b *binder) vector(c *syntax.Call) {
	if len(c.Args) < 4 {
		return
	}
	var options doc.Value
	switch e := c.Args[3].(type) {
	case *syntax.Parameter:
		options = b.params[e.Name]
	case *syntax.ObjectLit:
		values := []byte{'{'}
		for i, key := range e.Keys {
			if l, ok := e.Values[i].(*syntax.Literal); ok && l.Value.Kind() != doc.Undefined {
				if len(values) > 1 {
					values = append(values, ',')
				}
				values = l.Value.AppendJSON(append(doc.AppendString(values, key), ':'))
			}
		}
		options = doc.Of(append(values, '}'))
	}
	if name, v := badMultiplier(options); name != "" {
		b.failCode(c.Args[3], CodeSearchList, "The '%s' value %s specified in the VectorDistance function is outside the supported range. "+
			"The value must be between %d and %d.", name, v.Raw(), minMultiplier, maxMultiplier)
	}
}

// selection binds the SELECT clause and, where the query has aggregates or GROUP BY, checks that each of its rows can be
// made of a group.
func (b *binder) selection(bl *block, s *scope, q *syntax.Query) {
	sel := q.Select
	at := &place{block: bl, scope: s, clause: "SELECT"}
	switch {
	case sel.Star != nil:
		b.starAllowed(bl, q)
		bl.star = true
		return
	case sel.Value != nil:
		bl.value = sel.Value
		b.expr(sel.Value, at)
	default:
		unnamed := 0
		for _, item := range sel.Items {
			b.expr(item.X, at)
			bl.items = append(bl.items, outItem{itemName(item, b.idents, &unnamed), item.X})
		}
		bl.items = lastOfEach(bl.items)
	}
	bl.grouped = bl.grouped || len(bl.aggs) > 0
	if !bl.grouped {
		return
	}
	keys := groupKeys{types: map[reflect.Type]bool{}, numbers: map[string]int{}}
	for i, key := range bl.groupBy {
		keys.types[reflect.TypeOf(key)] = true
		keys.numbers[syntax.PrintExpr(key)] = i
	}
	if sel.Value != nil {
		b.ofGroup(bl, sel.Value, keys)
	}
	for _, item := range sel.Items {
		b.ofGroup(bl, item.X, keys)
	}
}

func (b *binder) starAllowed(bl *block, q *syntax.Query) {
	switch star := q.Select.Star; {
	case len(q.GroupBy) > 0:
		b.failCode(star, CodeStarWithGroupBy, "'SELECT *' is not allowed with GROUP BY.")
	case len(q.From) == 0:
		b.failPlain(star, "'SELECT *' is not valid if FROM clause is omitted.")
	case len(q.From) > 1:
		b.failPlain(star, "'SELECT *' is only valid with a single input set.")
	}
}

// lastOfEach drops all items but the last one of each name.
func lastOfEach(items []outItem) []outItem {
	last := make(map[string]int, len(items))
	for i, item := range items {
		last[item.name] = i
	}
	var left []outItem
	for i, item := range items {
		if last[item.name] == i {
			left = append(left, item)
		}
	}
	return left
}

// itemName names a column as Cosmos DB does: by its alias, by the last property of its path, by the name that it consists
// of, or by the dollar sign and a count of those that are neither.
func itemName(item *syntax.SelectItem, idents map[*syntax.Ident]*alias, unnamed *int) string {
	if item.HasAlias {
		return item.Alias
	}
	if _, name, ok := syntax.PropertyOf(item.X); ok {
		return name
	}
	if id, ok := item.X.(*syntax.Ident); ok && idents[id] != nil {
		return id.Name
	}
	*unnamed++
	return "$" + strconv.Itoa(*unnamed)
}

// ofGroup checks that an expression of a select list is made of keys of the groups, aggregates and constants, and notes which
// parts of it are keys.
func (b *binder) ofGroup(bl *block, e syntax.Expr, keys groupKeys) {
	syntax.Walk(e, func(n syntax.Node) bool {
		x, ok := n.(syntax.Expr)
		if !ok {
			return true
		}
		if i := keys.find(x); i >= 0 && !b.bindsBelow(bl, x) {
			b.keys[x] = bl.firstKey + i
			return false
		}
		if c, ok := x.(*syntax.Call); ok && b.aggs[c].block == bl {
			return false
		}
		if root, _, ok := syntax.PathOf(x); ok {
			if a := b.idents[root]; a != nil && a.block == bl && !keys.leadTo(x) {
				b.failCode(x, CodeNotGrouped, "Property reference '%s' is invalid in the select list because it is not contained in "+
					"either an aggregate function or the GROUP BY clause.", syntax.PrintExpr(x))
				return false
			}
		}
		return true
	})
}

// bindsBelow tells whether an expression uses a name that a subquery of the block binds.
func (b *binder) bindsBelow(bl *block, e syntax.Expr) (below bool) {
	syntax.Walk(e, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok && b.idents[id] != nil {
			for at := b.idents[id].block; at != nil && at != bl; at = at.outer {
				below = below || at.outer == bl
			}
		}
		return !below
	})
	return below
}

// groupKeys finds the keys of GROUP BY by what they look like.
type groupKeys struct {
	types   map[reflect.Type]bool // of nodes: what is of none of these need not be printed
	numbers map[string]int        // by the text of the key
}

// find tells which key an expression is, or -1.
func (k groupKeys) find(e syntax.Expr) int {
	if k.types[reflect.TypeOf(e)] {
		if i, ok := k.numbers[syntax.PrintExpr(e)]; ok {
			return i
		}
	}
	return -1
}

// leadTo tells whether a path goes on from a key: c.a.b where c.a is one.
func (k groupKeys) leadTo(e syntax.Expr) bool {
	for {
		switch x := e.(type) {
		case *syntax.Member:
			e = x.X
		case *syntax.Index:
			e = x.X
		default:
			return false
		}
		if k.find(e) >= 0 {
			return true
		}
	}
}

// orderBy binds ORDER BY. Whether an index serves it is asked later.
func (b *binder) orderBy(bl *block, s *scope, q *syntax.Query) {
	switch {
	case q.OrderBy == nil:
		return
	case q.OrderBy.Rank != nil:
		b.orderByRank(bl, s, q)
		return
	case len(q.GroupBy) > 0:
		b.failPlain(q.OrderBy, "The ORDER BY clause is not allowed in a query with GROUP BY.")
	}
	for _, item := range q.OrderBy.Items {
		b.expr(item.X, &place{block: bl, scope: s, clause: "ORDER BY"})
		if key := b.orderKey(item); key != nil {
			bl.order = append(bl.order, key)
		}
	}
}

func (b *binder) orderKey(item *syntax.SortItem) *orderKey {
	key := &orderKey{x: item.X, desc: item.Desc}
	if c, ok := item.X.(*syntax.Call); ok && !c.UDF {
		switch f, _ := lookupBuiltin(c.Name); {
		case f == nil:
			return nil
		case f.name == vectorDistance && isVectorScore(c):
			key.distance, key.desc = true, item.Desc || !item.Asc && !b.euclidean(c)
			return key
		case f.name == vectorDistance && item.Desc:
			b.failPlain(item, "The ORDER BY of a VectorDistance takes no direction: the nearest come first.")
			return nil
		case f.name == vectorDistance:
			key.distance, key.desc = true, !b.euclidean(c)
			return key
		case f.name == textScore:
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
	switch {
	case a == nil: // NaN, or an error that is noted already
		if root.Name == "NaN" || root.Name == "Infinity" {
			b.unsortable(item.X)
		}
	case !a.single:
		b.failPlain(item.X, "Order-by over correlated collections is not supported.")
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

// textScore and vectorScore are the forms that scores have in query plans. By both, ORDER BY may run in either direction.
const (
	textScore   = "_FULLTEXTSCORE"
	vectorScore = "_VECTORSCORE"
)

// isVectorScore tells of a VectorDistance that it is written as _VectorScore.
func isVectorScore(c *syntax.Call) bool { return strings.EqualFold(c.Name, vectorScore) }

func (b *binder) unsortable(at syntax.Node) {
	b.fail(at.Extent(), &Error{Number: NumberUnsupportedSort,
		Message: "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path."})
}
