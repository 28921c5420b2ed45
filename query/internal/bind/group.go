package bind

import (
	"reflect"

	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// ofGroup checks that an expression of a select list consists of GROUP BY keys, aggregates and constants, and
// records which parts of it are keys.
func (b *Binder) ofGroup(bl *QueryBlock, e syntax.Expr, keys groupByKeyFinder) {
	syntax.Walk(e, func(n syntax.Node) bool {
		if src, ok := n.(*syntax.FromSource); ok && src.Path != nil {
			b.sourceOfGroup(bl, src.Path, keys)
			return true
		}
		x, ok := n.(syntax.Expr)
		if !ok {
			return true
		}
		if i := keys.find(x); i >= 0 && !b.bindsBelow(bl, x) {
			b.Keys[x] = bl.FirstKey + i
			return false
		}
		if c, ok := x.(*syntax.Call); ok && b.Aggs[c].Block == bl {
			return false
		}
		if root, steps, ok := syntax.PathOf(x); ok {
			a := b.Idents[root]
			if bl.keepsFirstRID && a != nil && a.Block == bl && len(steps) == 1 && steps[0].Name == "_rid" {
				b.Keys[x], bl.FirstRID = bl.FirstKey+len(bl.GroupBy), x
				return false
			}
			if a != nil && a.Block == bl && !keys.isPrefixOf(x) {
				b.notGrouped(x)
				return false
			}
		}
		return true
	})
}

// sourceOfGroup checks path, from which a subquery in the select list of a block with GROUP BY reads. If a
// GROUP BY key is an alias alone, as in GROUP BY t, a path below the alias is an error: FROM x IN t.tags
// needs t.tags as a key, too.
func (b *Binder) sourceOfGroup(bl *QueryBlock, path syntax.Expr, keys groupByKeyFinder) {
	root, steps, _ := syntax.PathOf(path)
	if a := b.Idents[root]; a == nil || a.Block != bl || keys.find(root) < 0 {
		return
	}
	e := path
	for range steps {
		if keys.find(e) >= 0 {
			return
		}
		switch x := e.(type) {
		case *syntax.MemberExpr:
			e = x.X
		case *syntax.IndexExpr:
			e = x.X
		}
	}
	b.notGrouped(path)
}

func (b *Binder) notGrouped(e syntax.Expr) {
	b.failCode(e, queryerror.CodeNotGrouped,
		"Property reference '%s' is invalid in the select list because it is not contained in "+
			"either an aggregate function or the GROUP BY clause.", syntax.PrintExpr(e))
}

// bindsBelow reports whether an expression uses a name that is defined in a subquery of the SELECT bl, not
// in bl itself.
func (b *Binder) bindsBelow(bl *QueryBlock, e syntax.Expr) (below bool) {
	syntax.Walk(e, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok && b.Idents[id] != nil {
			for at := b.Idents[id].Block; at != nil && at != bl; at = at.outer {
				below = below || at.outer == bl
			}
		}
		return !below
	})
	return below
}

// groupByKeyFinder finds GROUP BY keys by their text.
type groupByKeyFinder struct {
	types   map[reflect.Type]bool // node types of the keys: nodes of other types need not be printed
	numbers map[string]int        // by the text of the key
}

func keysOf(bl *QueryBlock) groupByKeyFinder {
	keys := groupByKeyFinder{types: map[reflect.Type]bool{}, numbers: map[string]int{}}
	for i, key := range bl.GroupBy {
		keys.types[reflect.TypeOf(key)] = true
		keys.numbers[syntax.PrintExpr(key)] = i
	}
	return keys
}

// find returns the number of the key that an expression equals, or -1 if there is none.
func (k groupByKeyFinder) find(e syntax.Expr) int {
	if k.types[reflect.TypeOf(e)] {
		if i, ok := k.numbers[syntax.PrintExpr(e)]; ok {
			return i
		}
	}
	return -1
}

// isPrefixOf reports whether an expression is a path that continues a GROUP BY key. For example, c.a.b
// continues the key c.a.
func (k groupByKeyFinder) isPrefixOf(e syntax.Expr) bool {
	for {
		switch x := e.(type) {
		case *syntax.MemberExpr:
			e = x.X
		case *syntax.IndexExpr:
			e = x.X
		default:
			return false
		}
		if k.find(e) >= 0 {
			return true
		}
	}
}

// orderOfGroups checks an ORDER BY expression of a query with GROUP BY: it must be a GROUP BY expression, or
// a property path that continues one. orderOfGroups binds it to the key of the group.
func (b *Binder) orderOfGroups(bl *QueryBlock, e syntax.Expr) {
	keys := keysOf(bl)
	if keys.find(e) < 0 && !keys.isPrefixOf(e) {
		b.failCode(e, queryerror.CodeOrderNotGrouped,
			"Property reference '%s' is invalid in the ORDER BY clause because it is not contained in "+
				"either an aggregate function or the GROUP BY clause.", syntax.PrintExpr(e))
		return
	}
	b.ofGroup(bl, e, keys)
}

// ListsAggregates reports whether a select list has aggregates but the block has no GROUP BY, so that they
// are over all rows.
func ListsAggregates(t *QueryBlock) bool {
	return len(t.Aggs) > 0 && len(t.GroupBy) == 0 && t.Value == nil
}
