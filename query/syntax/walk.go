package syntax

import (
	"slices"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Walk calls fn for n and then, if fn returns true, for the parts of n, in the order of the text, including
// subqueries.
func Walk(n Node, fn func(Node) bool) {
	if !fn(n) {
		return
	}
	each(n, func(child Node) { Walk(child, fn) })
}

// each calls fn for the nodes directly below n, in the order of the text.
func each(n Node, fn func(Node)) {
	switch n := n.(type) {
	case *QueryTree:
		n.each(fn)
	case *SelectClause:
		n.each(fn)
	case *SelectItem:
		fn(n.X)
	case *FromSource:
		if n.Sub != nil {
			fn(n.Sub)
		} else {
			fn(n.Path)
		}
	case *OrderBy:
		eachOf(n.Items, fn)
		if n.Rank != nil {
			fn(n.Rank)
		}
	case *SortItem:
		fn(n.X)
	case Expr:
		eachOperand(n, fn)
	}
}

func (q *QueryTree) each(fn func(Node)) {
	if q.Select != nil {
		fn(q.Select)
	}
	eachOf(q.From, fn)
	if q.Where != nil {
		fn(q.Where)
	}
	eachOf(q.GroupBy, fn)
	if q.OrderBy != nil {
		fn(q.OrderBy)
	}
	if q.Offset != nil {
		fn(q.Offset)
	}
	if q.Limit != nil {
		fn(q.Limit)
	}
}

func (s *SelectClause) each(fn func(Node)) {
	if s.Top != nil {
		fn(s.Top)
	}
	if s.Star != nil {
		fn(s.Star)
	}
	if s.Value != nil {
		fn(s.Value)
	}
	eachOf(s.Items, fn)
}

func eachOperand(e Expr, fn func(Node)) {
	switch e := e.(type) {
	case *MemberExpr:
		fn(e.X)
	case *IndexExpr:
		fn(e.X)
		fn(e.I)
	case *Unary:
		fn(e.X)
	case *Binary:
		fn(e.X)
		fn(e.Y)
	case *Logical:
		eachOf(e.Terms, fn)
	case *Coalesce:
		fn(e.X)
		fn(e.Y)
	case *Conditional:
		fn(e.If)
		fn(e.Then)
		fn(e.Else)
	case *Between:
		fn(e.X)
		fn(e.Low)
		fn(e.High)
	case *InExpr:
		fn(e.X)
		eachOf(e.List, fn)
	case *Like:
		fn(e.X)
		fn(e.Pattern)
		if e.Escape != nil {
			fn(e.Escape)
		}
	case *Call:
		eachOf(e.Args, fn)
	case *ArrayLiteral:
		eachOf(e.Elems, fn)
	case *ObjectLiteral:
		eachOf(e.Values, fn)
	case *Subquery:
		fn(e.Query)
	}
}

func eachOf[N Node](list []N, fn func(Node)) {
	for _, n := range list {
		fn(n)
	}
}

// PropertyOf splits x.name and x["name"], which have the same meaning, into x and the name.
func PropertyOf(e Expr) (x Expr, name string, ok bool) {
	switch e := e.(type) {
	case *MemberExpr:
		return e.X, e.Name, true
	case *IndexExpr:
		if i, isLiteral := e.I.(*Literal); isLiteral && i.Value.Kind() == jsondoc.String {
			return e.X, i.Value.Str(), true
		}
	}
	return nil, "", false
}

// PathStep is one step of a path: a property or, if IsIndex is set, an element of an array.
type PathStep struct {
	Name    string
	Index   int // from 0
	IsIndex bool
}

// PathOf splits an expression such as c.a["b"][0] into a name and its steps, each with a constant property
// name or a constant index. A single name has no steps. ok is false for all other expressions.
func PathOf(e Expr) (root *Ident, steps []PathStep, ok bool) {
	for {
		if id, ok := e.(*Ident); ok {
			slices.Reverse(steps)
			return id, steps, true
		}
		x, name, ok := PropertyOf(e)
		step := PathStep{Name: name}
		if !ok {
			if x, step, ok = elementOf(e); !ok {
				return nil, nil, false
			}
		}
		steps = append(steps, step)
		e = x
	}
}

// elementOf splits x[n] with a constant n. The result is false for any other expression.
func elementOf(e Expr) (Expr, PathStep, bool) {
	at, ok := e.(*IndexExpr)
	if !ok {
		return nil, PathStep{}, false
	}
	i, ok := at.I.(*Literal)
	if !ok || i.Value.Kind() != jsondoc.Number {
		return nil, PathStep{}, false
	}
	// No array has elements beyond 2^31, and an int may be too small for the number.
	n := i.Value.Num()
	if index := int(n); n >= 0 && n <= 1<<31-1 && float64(index) == n {
		return at.X, PathStep{Index: index, IsIndex: true}, true
	}
	return nil, PathStep{}, false
}
