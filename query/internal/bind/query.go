package bind

import (
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Parameter is a parameter of a query, such as @user, with its value.
type Parameter struct {
	Name  string // including its @
	Value jsondoc.Value
}

// ComputedProperty is a computed property of a container: a name and a query of the form SELECT VALUE
// expression FROM c. Queries use a computed property like a property of the document. It hides a document's
// property of the same name.
type ComputedProperty = index.ComputedProperty

// ContainerInfo describes the container for the planning of a query.
type ContainerInfo struct {
	Index          *index.Indexer // nil: nothing is indexed
	PartitionPaths []jsondoc.Path // of the partition key, one for each level
	Computed       []ComputedProperty
	// Lenient makes a query sort the items if no index serves its ORDER BY. If it is not set, such a query
	// is refused, as in Cosmos DB.
	Lenient  bool
	Superset bool // texts are parsed by syntax.ParseLenient
	Geometry bool // geometries are in a plane, not on the globe
	// Vectors maps each path of the vector policy, as printed by jsondoc.Path, to its distance function.
	Vectors map[string]string
}

// parse parses the text of a query. If Superset is set, it accepts the lenient syntax, otherwise only that of
// Cosmos DB.
func (i *ContainerInfo) parse(text string) (*syntax.QueryTree, error) {
	if i.Superset {
		return syntax.ParseLenient(text)
	}
	return syntax.Parse(text)
}

// ResolvedQuery is a query as it was written, with resolved names. Planning changes the blocks, but not the
// tree.
type ResolvedQuery struct {
	*Binder
	Q     *syntax.QueryTree
	Top   *QueryBlock
	Asked []Parameter
}

// Written returns a copy of the query that keeps the form in which it was written: planning changes the
// top block of q, but not that of the copy. All other parts are shared.
func (q *ResolvedQuery) Written() *ResolvedQuery {
	w, top := *q, *q.Top
	top.Items, top.Aggs = slices.Clone(top.Items), slices.Clone(top.Aggs)
	top.Order, top.Rank = copies(top.Order), copies(top.Rank)
	w.Top = &top
	return &w
}

func copies[T any](list []*T) []*T {
	made := slices.Clone(list)
	for i, one := range list {
		c := *one
		made[i] = &c
	}
	return made
}

// Text parses a query and resolves its names.
func Text(text string, params []Parameter, info *ContainerInfo,
	fold ConstantFoldingFunc) (*ResolvedQuery, error) {
	q, err := info.parse(text)
	if err != nil {
		return nil, queryerror.SyntaxError(err)
	}
	return Tree(q, text, params, info, fold)
}

// Tree resolves the names of a query that has already been parsed. text is the text of the query, for the
// positions of errors.
func Tree(q *syntax.QueryTree, text string, params []Parameter, info *ContainerInfo,
	fold ConstantFoldingFunc) (*ResolvedQuery, error) {
	b, err := NewBinder(text, params, info, fold)
	if err != nil {
		return nil, err
	}
	top := b.Block(q, nil, nil, false)
	if err := b.Err(); err != nil {
		return nil, err
	}
	return &ResolvedQuery{b, q, top, params}, nil
}

// Derived returns the subquery in FROM if its rows are made from all items together, as with GROUP BY or
// DISTINCT. It returns nil if there is no subquery, or if its rows are made from single items.
func (bl *QueryBlock) Derived() *QueryBlock {
	if len(bl.Steps) == 0 || bl.Steps[0].Sub == nil || !bl.Container {
		return nil
	}
	sub := bl.Steps[0].Sub
	if sub.Grouped || sub.Distinct || sub.Derived() != nil {
		return sub
	}
	return nil
}

// LeadingKeys returns n if the select list consists of the first n ORDER BY keys, in any order, and 0
// otherwise. If the result is not 0, equal rows are adjacent, so DISTINCT needs to remember only the
// previous row.
func (bl *QueryBlock) LeadingKeys() int {
	if bl.Star {
		return 0
	}
	exprs := []syntax.Expr{bl.Value}
	if bl.Value == nil {
		exprs = nil
		for _, item := range bl.Items {
			exprs = append(exprs, item.X)
		}
	}
	shown := make(map[string]bool, len(bl.Order))
	for _, e := range exprs {
		if shown[syntax.PrintExpr(e)] = true; len(shown) > len(bl.Order) {
			return 0
		}
	}
	for _, key := range bl.Order[:len(shown)] {
		if !shown[syntax.PrintExpr(key.X)] {
			return 0
		}
	}
	return len(shown)
}

// DocumentPath splits a path of property names, such as c.a["b"] or c alone, into the alias that it begins
// with and the names. It returns false if the expression is not such a path.
func (b *Binder) DocumentPath(e syntax.Expr) (*FromAlias, []string, bool) {
	root, steps, ok := syntax.PathOf(e)
	if !ok {
		return nil, nil, false
	}
	a := b.Idents[root]
	if a == nil {
		return nil, nil, false
	}
	names := make([]string, len(steps))
	for i, st := range steps {
		if st.IsIndex {
			return nil, nil, false
		}
		names[i] = st.Name
	}
	return a, names, true
}

// ItemRoute returns the path from the item to the value of an expression, in the form that indexing policies
// use. entered reports whether the path enters all elements of an array. ok is false if the value is not a
// part of the item, or if the expression selects one element of an array, as in c.a[0].
func (b *Binder) ItemRoute(e syntax.Expr) (route index.Path, entered, ok bool) {
	a, names, ok := b.DocumentPath(e)
	if !ok || !a.known || a.Item && len(names) == 0 {
		return nil, false, false
	}
	route = slices.Clone(a.route)
	for _, name := range names {
		route = append(route, index.PathSegment{Name: name})
	}
	return route, a.entersArray, true
}
