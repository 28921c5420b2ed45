package plan

import (
	"slices"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Some conditions can never hold: c.a = 1 AND c.a = 2, c.a > 5 AND c.a < 3, UPPER(c.a) = 1, c.a = undefined.
// The rule "never" detects such conditions from the types of expressions, and from several conditions on one
// value. It need not detect all such conditions: if it misses one, documents are read that no row comes from,
// but the result is the same. The rule "pin", which finds the partition keys, runs before it, so that what a
// gateway returns to a client does not depend on this rule.

// findContradictions is the planning rule "never". It decides for each SELECT block whether its conditions
// contradict each other, so that it has no rows, and whether the whole query therefore has none.
func findContradictions(p *Planner) {
	none := make(map[*bind.QueryBlock]bool, len(p.Subs))
	var empty func(bl *bind.QueryBlock) bool
	empty = func(bl *bind.QueryBlock) bool {
		known, done := none[bl]
		if done {
			return known
		}
		l := valueConstraints{p: p, work: maxContradictions}
		none[bl] = l.contradict(bl.Where)
		for _, st := range bl.Steps {
			if sub := st.Sub; sub != nil && (!sub.Grouped || len(sub.GroupBy) > 0) && empty(sub) {
				none[bl] = true
			}
		}
		return none[bl]
	}
	for bl := p.Plan.Top; bl != nil; bl = bl.Derived() {
		p.Plan.Never = p.Plan.Never || empty(bl)
	}
}

// maxContradictions bounds the number of conditions that are checked for a contradiction.
const maxContradictions = 2000

// valueConstraints records, for each value of a row that a path names, which values the conditions of a query
// still allow.
type valueConstraints struct {
	p    *Planner
	work int
	of   map[aliasPath]*possibleExpressionValues
}

// aliasPath is a path from an alias. It identifies a value that is the same throughout a row.
type aliasPath struct {
	from *bind.FromAlias
	path string
}

// possibleExpressionValues is the set of values that an expression can have if the conditions considered so
// far hold.
type possibleExpressionValues struct {
	kinds eval.ValueKindSet
	among []jsondoc.Value // the only possible values; nil: all values of the kinds
	tests []func(jsondoc.Value) bool
	low   *intervalEndpoint // bounds of numbers or of strings, according to kinds
	high  *intervalEndpoint
}

// intervalEndpoint is the lower or upper end of an interval of values. If open is set, v itself is not in the
// interval.
type intervalEndpoint struct {
	v    jsondoc.Value
	open bool
}

// contradict reports whether no row can match all of the conditions.
func (l *valueConstraints) contradict(list []syntax.Expr) bool {
	if l.work -= len(list); l.work < 0 || len(list) == 0 {
		return false
	}
	inner := valueConstraints{p: l.p, of: map[aliasPath]*possibleExpressionValues{}}
	for _, e := range list {
		if !inner.note(e) {
			return true
		}
	}
	for i, e := range list {
		or, ok := e.(*syntax.Logical)
		if !ok || or.Op != syntax.Or {
			continue
		}
		others := slices.Delete(slices.Clone(list), i, i+1)
		if !slices.ContainsFunc(or.Terms, func(term syntax.Expr) bool {
			return !l.contradict(bind.Conjuncts(slices.Clip(others), term))
		}) {
			return true
		}
	}
	return false
}

// note records that a condition is true. It returns false if no row can satisfy it and the conditions
// recorded before.
func (l *valueConstraints) note(e syntax.Expr) bool {
	if !kindsOf(l.p.Binder, e).Has(jsondoc.Bool) {
		return false
	}
	switch e := e.(type) {
	case *syntax.Literal:
		return lang.IsTrue(e.Value)
	case *syntax.Binary:
		if e.Op == syntax.Ne {
			return l.differs(e.X, e.Y) && l.differs(e.Y, e.X)
		} else if e.Op <= syntax.Ge {
			return l.compared(e.X, e.Op, e.Y) && l.compared(e.Y, mirrored(e.Op), e.X)
		}
	case *syntax.Between:
		return e.Not || l.compared(e.X, syntax.Ge, e.Low) && l.compared(e.X, syntax.Le, e.High)
	case *syntax.InExpr:
		return e.Not || l.oneOf(e.X, e.List)
	case *syntax.Like:
		return e.Not || l.has(e.X, eval.Kinds(jsondoc.String))
	case *syntax.Unary:
		return e.Op != syntax.Not || l.negated(e.X)
	case *syntax.Call:
		return l.called(e)
	case *syntax.MemberExpr, *syntax.Ident:
		return l.isAmong(e, []jsondoc.Value{jsondoc.BoolValue(true)})
	}
	return true
}

// limitOf returns the set of values that an expression can still have. It returns nil if the expression is
// not a path, since only paths are tracked.
func (l *valueConstraints) limitOf(e syntax.Expr) *possibleExpressionValues {
	name := l.p.pathAt(e).value
	if name.from == nil {
		return nil
	}
	if l.of[name] == nil {
		l.of[name] = &possibleExpressionValues{kinds: ^eval.ValueKindSet(0)}
	}
	return l.of[name]
}

// hasValues reports whether the expression can still have any value. If not, the conditions contradict
// each other.
func (d *possibleExpressionValues) hasValues() bool {
	if d.among == nil {
		return d.kinds != 0 && !d.isEmpty()
	}
	return slices.ContainsFunc(d.among, func(v jsondoc.Value) bool {
		return d.kinds.Has(v.Kind()) &&
			!slices.ContainsFunc(d.tests, func(test func(jsondoc.Value) bool) bool { return !test(v) })
	})
}

// isEmpty reports whether no value lies between the two ends of the interval: the upper end is below the
// lower one, the ends are of different types, or both are the same value and one is open.
func (d *possibleExpressionValues) isEmpty() bool {
	if d.low == nil || d.high == nil {
		return false
	}
	if !lang.Orderable(d.low.v, d.high.v) {
		return true // no value is between two values of different types
	}
	c := jsondoc.Compare(d.low.v, d.high.v)
	return c > 0 || c == 0 && (d.low.open || d.high.open)
}

// compared records the condition x op y, if y is a constant. It returns false if no row can satisfy this
// condition together with the conditions recorded before.
func (l *valueConstraints) compared(x syntax.Expr, op syntax.BinaryOperator, y syntax.Expr) bool {
	if shared := kindsOf(l.p.Binder, x) & kindsOf(l.p.Binder, y) &^ eval.Kinds(jsondoc.Undefined); shared == 0 {
		return false
	}
	v, ok := l.p.ConstOf(y)
	if !ok {
		return true
	}
	if op != syntax.Eq && !lang.IsPrimitive(v) {
		return false
	}
	d := l.limitOf(x)
	if d == nil {
		return true
	}
	d.kinds &= eval.Kinds(v.Kind())
	low, high := -1, 1
	switch op {
	case syntax.Eq:
		d.tests = append(d.tests, func(w jsondoc.Value) bool { return lang.Equal(v, w) })
		return l.isAmong(x, []jsondoc.Value{v})
	case syntax.Lt, syntax.Le:
		if high = 0; op == syntax.Lt {
			high = -1
		}
		d.high = narrower(d.high, &intervalEndpoint{v, op == syntax.Lt}, -1)
	default:
		if low = 0; op == syntax.Gt {
			low = 1
		}
		d.low = narrower(d.low, &intervalEndpoint{v, op == syntax.Gt}, 1)
	}
	d.tests = append(d.tests, func(w jsondoc.Value) bool { return lang.IsTrue(lang.OpOrder(w, v, low, high)) })
	return d.hasValues()
}

// differs records that x != y is true, if y is a constant. It returns false if no row can satisfy it and the
// conditions recorded before.
func (l *valueConstraints) differs(x, y syntax.Expr) bool {
	v, ok := l.p.ConstOf(y)
	if ok && v.Kind() == jsondoc.Undefined {
		return false
	}
	d := l.limitOf(x)
	if !ok || d == nil {
		return true
	}
	d.tests = append(d.tests, func(w jsondoc.Value) bool { return !lang.Equal(v, w) })
	return d.hasValues()
}

// narrower returns the endpoint that makes an interval smaller: the greater of two lower endpoints (side is
// 1) or the smaller of two upper ones (side is -1). If a is nil, it is b. For endpoints of different types
// the choice does not matter, because no value can satisfy both conditions.
func narrower(a, b *intervalEndpoint, side int) *intervalEndpoint {
	if a == nil || !lang.Orderable(a.v, b.v) {
		return b
	}
	if c := side * jsondoc.Compare(a.v, b.v); c > 0 || c == 0 && a.open {
		return a
	}
	return b
}

// oneOf records that x IN (list) is true. It returns false if no row can satisfy it and the conditions
// recorded before.
func (l *valueConstraints) oneOf(x syntax.Expr, list []syntax.Expr) bool {
	values, ok := l.p.Constants(list)
	if !ok || len(list) > maxPins {
		return true
	}
	values = slices.DeleteFunc(values, func(v jsondoc.Value) bool { return !lang.Equal(v, v) }) // NaN
	return l.isAmong(x, values)
}

// isAmong records that the value of x is one of the given values; undefined never is. It returns false if x
// cannot have any of them.
func (l *valueConstraints) isAmong(x syntax.Expr, values []jsondoc.Value) bool {
	values = slices.DeleteFunc(values, func(v jsondoc.Value) bool { return v.Kind() == jsondoc.Undefined })
	d := l.limitOf(x)
	if d == nil {
		return len(values) > 0
	}
	if d.among != nil {
		values = slices.DeleteFunc(values, func(v jsondoc.Value) bool {
			return !slices.ContainsFunc(d.among, func(w jsondoc.Value) bool { return lang.Equal(v, w) })
		})
	}
	d.among = append([]jsondoc.Value{}, values...)
	return d.hasValues()
}

// has records that the value of x has one of some kinds (types). It returns false if x cannot have such a
// value.
func (l *valueConstraints) has(x syntax.Expr, set eval.ValueKindSet) bool {
	if kindsOf(l.p.Binder, x)&set == 0 {
		return false
	}
	d := l.limitOf(x)
	if d == nil {
		return true
	}
	d.kinds &= set
	return d.hasValues()
}

// negated records that NOT x is true. It returns false if no row can satisfy it and the conditions recorded
// before.
func (l *valueConstraints) negated(x syntax.Expr) bool {
	if call, ok := x.(*syntax.Call); ok && !call.UDF {
		if f, ok := lang.Lookup(call.Name); ok && len(call.Args) == 1 {
			if set, ok := eval.TypeTests()[f.Name]; ok {
				return l.has(call.Args[0], ^set)
			}
		}
		return true
	}
	if _, _, ok := syntax.PathOf(x); ok {
		return l.isAmong(x, []jsondoc.Value{jsondoc.BoolValue(false)})
	}
	return true
}

// called records that a function call is true, which limits the type of its argument. It returns false if no
// row can satisfy it and the conditions recorded before.
func (l *valueConstraints) called(e *syntax.Call) bool {
	f, ok := lang.Lookup(e.Name)
	if e.UDF || !ok || len(e.Args) == 0 {
		return true
	}
	switch f.Name {
	case "IS_INTEGER", "IS_FINITE_NUMBER":
		return l.has(e.Args[0], eval.Kinds(jsondoc.Number))
	case "IS_DATETIME", "STARTSWITH", "ENDSWITH", "CONTAINS", "STRINGEQUALS", "REGEXMATCH":
		return l.has(e.Args[0], eval.Kinds(jsondoc.String))
	case "ARRAY_CONTAINS", "ARRAY_CONTAINS_ANY", "ARRAY_CONTAINS_ALL":
		return l.has(e.Args[0], eval.Kinds(jsondoc.Array))
	}
	if set, ok := eval.TypeTests()[f.Name]; ok {
		return l.has(e.Args[0], set)
	}
	return true
}

// kindsOf returns the kinds of values that an expression can have.
func kindsOf(b *bind.Binder, e syntax.Expr) eval.ValueKindSet {
	boolean, number := eval.Kinds(jsondoc.Bool, jsondoc.Undefined), eval.Kinds(jsondoc.Number, jsondoc.Undefined)
	switch e := e.(type) {
	case *syntax.Literal:
		return eval.Kinds(e.Value.Kind())
	case *syntax.Parameter:
		v, _ := b.ConstOf(e)
		return eval.Kinds(v.Kind())
	case *syntax.Logical, *syntax.Between, *syntax.InExpr, *syntax.Like:
		return boolean
	case *syntax.Binary:
		switch {
		case e.Op <= syntax.Ge:
			return boolean
		case e.Op == syntax.Concat:
			return eval.Kinds(jsondoc.String, jsondoc.Undefined)
		}
		return number
	case *syntax.Unary:
		if e.Op == syntax.Not {
			return boolean
		}
		return number
	case *syntax.Coalesce:
		return kindsOf(b, e.X) | kindsOf(b, e.Y)
	case *syntax.Conditional:
		return kindsOf(b, e.Then) | kindsOf(b, e.Else)
	case *syntax.ArrayLiteral:
		return eval.Kinds(jsondoc.Array)
	case *syntax.ObjectLiteral:
		return eval.Kinds(jsondoc.Object)
	case *syntax.Call:
		if f, ok := lang.Lookup(e.Name); ok && !e.UDF {
			return eval.Kinds(jsondoc.Undefined) | kindsMade(f.Name)
		}
	}
	return ^eval.ValueKindSet(0)
}

// kindsMade returns the kinds of values that a function can return, besides undefined.
func kindsMade(name string) eval.ValueKindSet {
	switch name {
	case "LOWER", "UPPER", "TRIM", "LTRIM", "RTRIM", "CONCAT", "SUBSTRING", "REPLACE", "REPLICATE", "LEFT",
		"RIGHT", "REVERSE", "TOSTRING":
		return eval.Kinds(jsondoc.String)
	case "LENGTH", "INDEX_OF", "ARRAY_LENGTH", "ABS", "CEILING", "FLOOR", "ROUND", "SQRT", "SQUARE", "POWER",
		"SIGN", "EXP", "LOG", "LOG10", "SIN", "COS", "TAN":
		return eval.Kinds(jsondoc.Number)
	case "CONTAINS", "STARTSWITH", "ENDSWITH", "STRINGEQUALS", "REGEXMATCH", "ARRAY_CONTAINS":
		return eval.Kinds(jsondoc.Bool)
	}
	if _, ok := eval.TypeTests()[name]; ok {
		return eval.Kinds(jsondoc.Bool)
	}
	return ^eval.ValueKindSet(0)
}
