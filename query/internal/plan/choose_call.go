package plan

import (
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// The constraints of functions and of LIKE.

// likeConstraint returns the constraint of a condition such as x LIKE 'abc%': the strings that begin with
// the part of the pattern before its first wildcard.
func (p *Planner) likeConstraint(e *syntax.Like) *Constraint {
	pattern, ok := e.Pattern.(*syntax.Literal)
	if e.Not || !ok {
		return nil
	}
	var escape jsondoc.Value
	if e.Escape != nil {
		escape = e.Escape.Value
	}
	like := lang.LikeOf(pattern.Value, escape)
	if like == nil {
		return nil
	}
	start, exact := like.Prefix()
	if exact {
		return p.compared(e.X, syntax.Eq, jsondoc.StringValue(start))
	}
	l := p.begins(e.X, start)
	if l != nil && !like.Begins() {
		l.Superset = true // strings with the prefix may not match the rest of the pattern
	}
	return l
}

// begins returns the index constraint for the condition that the value of x begins with start: the interval
// of the index keys of such values. It returns nil if x is no indexed path.
func (p *Planner) begins(x syntax.Expr, start string) *Constraint {
	l := p.constraintAt(x)
	if l == nil {
		return nil
	}
	lo, hi, exact := p.Info.Index.Prefix(l.path, start)
	l.addSpan(lo, hi)
	l.Superset = !exact
	if l.selectivity = closed; start == "" {
		l.selectivity, l.testOnly = kindsOnly, true
	}
	l.text += " begins with " + clip(jsondoc.StringValue(start))
	return l
}

// called returns the constraint (a set of index keys) of a condition that is a function call, such as
// STARTSWITH(c.a, "x"). It returns nil if no index can answer the call.
func (p *Planner) called(e *syntax.Call) *Constraint {
	fn, ok := lang.Lookup(e.Name)
	if e.UDF || !ok {
		return nil
	}
	constant := func(i int) jsondoc.Value {
		if i < len(e.Args) {
			v, _ := p.ConstOf(e.Args[i])
			return v
		}
		return lang.Undefined
	}
	second := constant(1)
	if len(e.Args) == 3 && !jsondoc.Equal(constant(2), jsondoc.BoolValue(false)) { // ignores case or partial
		second = lang.Undefined
	}
	switch fn.Name {
	case "STARTSWITH":
		if second.Kind() == jsondoc.String {
			return p.begins(e.Args[0], second.Str())
		}
	case "STRINGEQUALS":
		if second.Kind() == jsondoc.String {
			return p.compared(e.Args[0], syntax.Eq, second)
		}
	case "ARRAY_CONTAINS":
		return p.contains(e, second)
	default:
		if set, ok := eval.TypeTests()[fn.Name]; ok {
			return p.typeConstraint(e.Args[0], set)
		}
	}
	return nil
}

// contains returns the index constraint of a call of ARRAY_CONTAINS, or nil if no index serves it. For
// ARRAY_CONTAINS(path, v) it is that an element of the array at path equals v. For
// ARRAY_CONTAINS([constants], path) it is that the value at path is one of the constants.
func (p *Planner) contains(e *syntax.Call, v jsondoc.Value) *Constraint {
	list, _ := p.ConstOf(e.Args[0])
	if v.Kind() == jsondoc.Undefined && len(e.Args) == 2 && list.Kind() == jsondoc.Array {
		var values []jsondoc.Value
		list.Each(func(_ string, elem jsondoc.Value) bool {
			values = append(values, elem)
			return true
		})
		return p.oneOf(e.Args[1], values)
	}
	route, _, ok := p.ItemRoute(e.Args[0])
	if !ok || v.Kind() == jsondoc.Undefined {
		return nil
	}
	route = route.Element()
	indexed := p.Info.Index.RangeIndexed(route)
	p.noteSingle(route, indexed)
	if !indexed {
		return nil
	}
	l := &Constraint{path: route, name: route.String(), entered: true, text: route.String() + " = " + clip(v)}
	l.addPoint(p.Info.Index, v)
	return l
}

// typeConstraint returns the constraint of a type test, such as IS_NUMBER(c.a): the index keys of values
// at the path that have one of the types in set.
func (p *Planner) typeConstraint(x syntax.Expr, set eval.ValueKindSet) *Constraint {
	l := p.constraintAt(x)
	if l == nil {
		return nil
	}
	var names []string
	for k := jsondoc.Null; k <= jsondoc.Object; k++ {
		if set.Has(k) {
			lo, hi := p.Info.Index.TypeRange(l.path, k)
			l.addSpan(lo, hi)
			names = append(names, k.String())
		}
	}
	l.Spans = merged(l.Spans)
	l.selectivity = kindsOnly
	if l.text += " is " + strings.Join(names, " or "); len(names) == int(jsondoc.Object) {
		l.text = l.path.String() + " is defined"
	}
	return l
}

// negated returns the constraint of NOT x, where x is a property (which must be false) or a test whether a
// property is defined (which must not be).
func (p *Planner) negated(e *syntax.Unary) *Constraint {
	if e.Op != syntax.Not {
		return nil
	}
	c, ok := e.X.(*syntax.Call)
	if !ok {
		return p.compared(e.X, syntax.Eq, jsondoc.BoolValue(false))
	}
	if fn, ok := lang.Lookup(c.Name); c.UDF || !ok || fn.Name != "IS_DEFINED" {
		return nil
	}
	l := p.constraintAt(c.Args[0])
	if l == nil || l.entered {
		return nil
	}
	l.undefined = true
	l.text += " is undefined"
	return l
}
